# shellcheck shell=bash
# How a step speaks to the runner: annotations, outputs, the step summary. Sourced by the steps. The bash of macOS (3.2) will do.

# Python beside these files: finds its neighbours, leaves nothing in the action's folder, writes UTF-8 on Windows too.
export PYTHONUTF8=1 PYTHONDONTWRITEBYTECODE=1
unset PYTHONSAFEPATH

# GitHub drops a step's whole summary when it is longer than so many bytes.
readonly SUMMARY_BYTES=1048576

# Neither a line break nor a percent sign may end a workflow command early; nor, in its title, a colon or comma.
annotate() { # KIND TITLE MESSAGE
  local title=$2 message=$3
  message=${message//'%'/%25} message=${message//$'\r'/%0D} message=${message//$'\n'/%0A}
  title=${title//'%'/%25} title=${title//$'\r'/%0D} title=${title//$'\n'/%0A} title=${title//:/%3A} title=${title//,/%2C}
  printf '::%s title=%s::%s\n' "$1" "$title" "$message"
}

output() { # NAME VALUE, of one line
  printf '%s=%s\n' "$1" "${2//[$'\r\n']/ }" >>"$GITHUB_OUTPUT"
}

summarise() { # TEXT: appends it as a paragraph; false, and nothing written, where it does not fit
  local used=0 text=$1 size
  if [ -s "$GITHUB_STEP_SUMMARY" ]; then
    used=$(wc -c <"$GITHUB_STEP_SUMMARY")
    text=$'\n\n'$text
  fi
  size=$(printf '%s\n' "$text" | wc -c)
  [ $((used + size)) -le "$SUMMARY_BYTES" ] || return 1
  printf '%s\n' "$text" >>"$GITHUB_STEP_SUMMARY"
}

# A name may hold what Markdown acts on: links, images, emphasis, code. As entities they are text for Markdown and HTML
# alike; an address is no longer one without its colon or dot.
escaped() { # standard input as text of Markdown and HTML
  local lone='s/\(^\|[^A-Za-z0-9]\)_/\1\&#95;/g' # one within a word does nothing; twice, as matches do not overlap
  LC_ALL=C sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/>/\&gt;/g' -e 's/\\/\&#92;/g' -e 's/`/\&#96;/g' \
    -e 's/\*/\&#42;/g' -e "$lone" -e "$lone" -e 's/~/\&#126;/g' -e 's/\[/\&#91;/g' -e 's/\]/\&#93;/g' -e 's/!/\&#33;/g' \
    -e 's/|/\&#124;/g' -e 's/\$/\&#36;/g' -e 's/@/\&#64;<wbr>/g' -e 's/:\/\//\&#58;<wbr>\/\//g' \
    -e 's/[wW][wW][wW]\./&<wbr>/g'
}

fail() { # CODE MESSAGE [FILE]: says why in the log and in the summary, with the end of what FILE holds, and ends the step
  local said='' most=10000
  output exit-code "$1"
  annotate error 'nsysparse failed' "$2"
  if [ -n "${3-}" ] && [ -s "$3" ]; then
    said=$'\n\n<pre>\n'"$(tail -c "$most" "$3" | tr -d '\000' | escaped)"$'\n</pre>'
  fi
  summarise "**nsysparse failed**: $(printf '%s' "$2" | escaped)$said" || echo 'The summary has no room left for this.'
  exit "$1"
}
