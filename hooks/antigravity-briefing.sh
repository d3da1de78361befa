#!/bin/sh
# Briefs a session of Antigravity from the project's wiki
# (hook PreInvocation).
# Reads the hook's input on stdin, prints its output, leaves with 0 whatever happens.
shared=$(dirname "$0")/briefing.sh
if [ -r "$shared" ]; then
  sh "$shared" antigravity
else
  printf 'wikimcp hook: briefing.sh is missing beside this script\n' >&2
  printf '{}\n'
fi
exit 0
