#!/bin/sh
# What the two hooks share: `sh briefing.sh CLIENT`. POSIX sh and awk; curl where there is no `wikimcp`.
# With the command `wikimcp` it hands over to `wikimcp hook CLIENT`; without, it asks the server at
# WIKIMCP_BASE_URL. Whatever fails: `{}`, the reason on stderr, exit code 0.
client=$1
unread=yes

give_up() {
  [ -z "$unread" ] || cat >/dev/null
  [ -z "$1" ] || printf 'wikimcp hook: %s\n' "$1" >&2
  printf '{}\n'
  exit 0
}

if command -v wikimcp >/dev/null 2>&1; then
  wikimcp hook "$client" || printf '{}\n'
  exit 0
fi

base=${WIKIMCP_BASE_URL:-${WIKANTIK_BASE_URL:-}}
[ -n "$base" ] || give_up "there is neither the command wikimcp nor WIKIMCP_BASE_URL"
case $base in
  http://* | https://*) ;;
  *) give_up "WIKIMCP_BASE_URL does not begin with http:// or https://" ;;
esac
command -v curl >/dev/null 2>&1 || give_up "there is neither the command wikimcp nor curl"

umask 077
folder=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/wikimcp-briefing
mkdir -p "$folder" 2>/dev/null
work=$(mktemp -d "$folder/work.XXXXXX" 2>/dev/null) || give_up "no state can be kept"
held=
# shellcheck disable=SC2329  # the trap calls it
clean() {
  rm -rf "$work"
  [ -z "$held" ] || rmdir "$held" 2>/dev/null
}
trap clean EXIT
trap 'give_up "stopped"' HUP INT TERM

# More than a mebibyte is not searched for its fields, but read, so that the client can write it.
head -c 1048577 >"$work/input"
[ "$(wc -c <"$work/input")" -le 1048576 ] || give_up "the input is over 1 MiB"
unread=

# A field that holds a text, still escaped as in JSON. Within texts quotes are escaped, so that
# `"name":` is found nowhere but at a key.
field() {
  awk -v name="\"$1\"" '
    { text = text $0 " " }
    END {
      while ((at = index(text, name)) > 0) {
        before = substr(text, at - 1, 1)
        text = substr(text, at + length(name))
        if (before == "\\" || text !~ /^[ \t\r]*:[ \t\r]*"/) continue
        sub(/^[ \t\r]*:[ \t\r]*"/, "", text)
        for (i = 1; i <= length(text); i++) {
          c = substr(text, i, 1)
          if (c == "\\") i++
          else if (c == "\"") { print substr(text, 1, i - 1); exit }
        }
        exit
      }
    }' "$work/input"
}

# A list by commas, or a JSON list, as a JSON list.
list() {
  case $1 in
    \[*) printf '%s' "$1" ;;
    *) printf '%s' "$1" | awk -F, '
         { for (i = 1; i <= NF; i++) {
             gsub(/^[ \t]+|[ \t]+$/, "", $i)
             if ($i == "") continue
             out = ""
             for (k = 1; k <= length($i); k++) {
               c = substr($i, k, 1)
               out = out ((c == "\"" || c == "\\") ? "\\" c : c)
             }
             printf "%s\"%s\"", (n++ ? ", " : "["), out
           } }
         END { printf "%s", n ? "]" : "[]" }' ;;
  esac
}

event=UserPromptSubmit
again=
if [ "$client" = claude-code ]; then
  session=$(field session_id)
  event=$(field hook_event_name)
  case ${event:=UserPromptSubmit} in
    UserPromptSubmit) ;;
    SessionStart)
      case $(field source) in
        compact | clear) again=yes ;;
        *) give_up "" ;;
      esac ;;
    *) give_up "" ;;
  esac
else
  session=$(field transcriptPath)
  [ -n "$session" ] || session=$(field transcript_path)
  [ -n "$session" ] || session=$(field conversationId)
fi
[ -n "$session" ] || give_up "the input names no session"

digest() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum; else shasum -a 256; fi | cut -c 1-32
}
state=$folder/$(printf '%s:%s' "$client" "$session" | digest)
find "$folder" -maxdepth 1 -type f \( -name '*.done' -o -name '*.tries' \) -mtime +7 -exec rm -f {} + 2>/dev/null
find "$folder" -maxdepth 1 -type d \( -name '*.busy' -o -name 'work.*' \) -mmin +2 -exec rm -rf {} + 2>/dev/null

mkdir "$state.busy" 2>/dev/null || give_up "another hook is briefing this session"
held=$state.busy
[ -z "$again" ] || rm -f "$state.done" "$state.tries"
[ ! -e "$state.done" ] || give_up "this session has been briefed"
tries=$(cat "$state.tries" 2>/dev/null)
case $tries in '' | *[!0-9]*) tries=0 ;; esac
[ "$tries" -lt 3 ] || give_up "briefing this session failed 3 times"

# Cut to 20,000 bytes, with neither half an escape nor half a character at the end.
prompt=$(field prompt | LC_ALL=C awk '
  {
    text = substr($0, 1, 20000)
    if (length($0) > 20000) {
      for (k = 0; k < 3 && (c = substr(text, length(text), 1)) >= "\200" && c < "\300"; k++)
        text = substr(text, 1, length(text) - 1)
      if (substr(text, length(text), 1) >= "\300") text = substr(text, 1, length(text) - 1)
      n = length(text)
      while (n > 0 && substr(text, n, 1) ~ /[0-9a-fA-F]/ && length(text) - n < 4) n--
      if (substr(text, n - 1, 2) == "\\u") text = substr(text, 1, n - 2)
      back = 0
      while (back < length(text) && substr(text, length(text) - back, 1) == "\\") back++
      if (back % 2) text = substr(text, 1, length(text) - 1)
    }
    print text
  }')
pins=$(list "${WIKIMCP_BRIEFING_PINS:-${WIKANTIK_BRIEFING_PINS:-}}")
clusters=$(list "${WIKIMCP_BRIEFING_CLUSTERS:-${WIKANTIK_BRIEFING_CLUSTERS:-}}")
budget=${WIKIMCP_BRIEFING_BUDGET:-${WIKANTIK_BRIEFING_BUDGET:-6000}}
case $budget in '' | *[!0-9]*) budget=6000 ;; esac
note=
if [ "$client" = claude-code ] && [ "$budget" -gt 2350 ]; then
  wanted=$(printf '%s' "$budget" | sed 's/\([0-9]\)\([0-9]\{3\}\)$/\1,\2/')
  note="(Briefing budget: 2,350 tokens instead of $wanted, for this client takes under 10,000 characters from a hook."
  note="$note Call get_briefing for more.)"
  budget=2350
fi
mode=${WIKIMCP_BRIEFING_SCOPE_MODE:-${WIKANTIK_BRIEFING_SCOPE_MODE:-prefer}}
case $mode in prefer | strict) ;; *) mode=prefer ;; esac

asked="\"budget\": $budget, \"scope_mode\": \"$mode\""
[ "$pins" = "[]" ] || asked="$asked, \"pins\": $pins"
[ "$clusters" = "[]" ] || asked="$asked, \"clusters\": $clusters"
[ -z "$prompt" ] || asked="$asked, \"prompt\": \"$prompt\""
[ "$pins$clusters$prompt" != "[][]" ] || give_up ""
printf '{%s}' "$asked" >"$work/body"

# The key goes to curl by a file of our own: the list of processes is for everybody to read.
key=${WIKIMCP_API_KEY:-${WIKANTIK_API_KEY:-}}
basic=${WIKIMCP_BASIC_AUTH:-${WIKANTIK_BASIC_AUTH:-}}
quoted() { printf '%s' "$1" | sed 's/[\\"]/\\&/g'; }
: >"$work/auth"
if [ -n "$key" ]; then
  printf 'header = "Authorization: Bearer %s"\n' "$(quoted "$key")" >"$work/auth"
elif [ -n "$basic" ]; then
  printf 'user = "%s"\n' "$(quoted "$basic")" >"$work/auth"
fi

printf '%s' "$((tries + 1))" >"$state.tries"
status=$(curl --silent --max-time 9 --max-filesize 1048576 --config "$work/auth" --request POST \
  --header 'Content-Type: application/json' --header 'Accept: text/markdown' \
  --data-binary "@$work/body" --output "$work/answer" --write-out '%{http_code}' "${base%/}/api/briefing")
[ "$status" = 200 ] || give_up "the server answered ${status:-nothing}"
grep -q '[^[:space:]]' "$work/answer" || give_up "the wiki has nothing to say to this"

most=0
[ "$client" = antigravity ] || most=9800
text=$({ [ -z "$note" ] || printf '%s\n\n' "$note"; cat "$work/answer"; } | LC_ALL=C awk -v most="$most" '
  # The client counts UTF-16 units: what goes on with a character counts nothing, what begins a wide one two.
  BEGIN {
    for (i = 1; i < 32; i++) control[sprintf("%c", i)] = sprintf("\\u%04x", i)
    for (i = 128; i < 192; i++) units[sprintf("%c", i)] = 0
    for (i = 240; i < 248; i++) units[sprintf("%c", i)] = 2
  }
  {
    size++
    out = ""
    for (i = 1; i <= length($0); i++) {
      c = substr($0, i, 1)
      size += (c in units) ? units[c] : 1
      out = out ((c == "\"" || c == "\\") ? "\\" c : (c in control) ? control[c] : c)
    }
    if (most && size > most - 80) { printf "\\n(The briefing was cut here: the client takes no more.)\\n"; exit }
    printf "%s\\n", out
  }')

if [ "$client" = claude-code ]; then
  printf '{"hookSpecificOutput": {"hookEventName": "%s", "additionalContext": "%s"}}\n' "$event" "$text"
else
  printf '{"injectSteps": [{"ephemeralMessage": "%s"}], "additionalContext": "%s"}\n' "$text" "$text"
fi
: >"$state.done"
rm -f "$state.tries"
exit 0
