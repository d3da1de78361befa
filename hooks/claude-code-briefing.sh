#!/bin/sh
# Briefs a session of Claude Code from the project's wiki
# (hooks UserPromptSubmit, and SessionStart with the matcher compact|clear).
# Reads the hook's input on stdin, prints its output, leaves with 0 whatever happens.
shared=$(dirname "$0")/briefing.sh
if [ -r "$shared" ]; then
  sh "$shared" claude-code
else
  printf 'wikimcp hook: briefing.sh is missing beside this script\n' >&2
  printf '{}\n'
fi
exit 0
