#!/usr/bin/env bash
# Analyses each run once, and writes JSON, Markdown and HTML from what that saved. A gate's exit code (3, 4) is kept for the
# last step, so that everything is published first; any other failure ends the job here.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=action/runner.sh
source "$here/runner.sh"

readonly UNUSABLE=2 FAILED=3 UNANSWERED=4
readonly COMMENT_BYTES=60000 # a comment holds 65,536 characters; the rest is for what the action adds

work=$(mktemp -d "$RUNNER_TEMP/nsysparse-XXXXXX")
stop=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

lined() { # TEXT: its lines that are not blank, each one argument, in `lines`
  local line
  lines=()
  while IFS= read -r line; do
    line=${line%$'\r'}
    [ -z "${line//[[:space:]]/}" ] || lines+=("$line")
  done <<<"$1"
}

# Names in a trace are a stranger's: no line that nsysparse prints may be a workflow command.
tool() { # ARGUMENTS
  local code=0
  echo "::stop-commands::$stop"
  "$TOOL" "$@" 2>"$work/said.txt" || code=$?
  cat "$work/said.txt"
  printf '\n::%s::\n' "$stop"
  return "$code"
}

gave_up() { # CODE COMMAND
  local first
  first=$(head -c 300 "$work/said.txt" | head -n 1)
  fail "$1" "$2 ended with code $1.${first:+ $first}" "$work/said.txt"
}

must() { # ARGUMENTS
  local code=0
  tool "$@" || code=$?
  [ "$code" -eq 0 ] || gave_up "$code" "nsysparse $1"
}

gated() { # ARGUMENTS: like must, but a gate may fail; its code is left in `gate`
  gate=0
  tool "$@" || gate=$?
  case $gate in
    0 | "$FAILED" | "$UNANSWERED") ;;
    *) gave_up "$gate" "nsysparse $1" ;;
  esac
}

is_saved() { # NAME: an analysis, or a folder or pattern of several
  [ "$("$PYTHON" "$here/saved_runs.py" "$1")" = saved ]
}

without_use() { # warns where options are given that no run takes
  [ ${#options[@]} -eq 0 ] ||
    annotate warning 'nsysparse: options without use' 'link, model and args are for traces; all runs are saved analyses.'
}

lined "$INPUT_CANDIDATE" && candidate=(${lines[@]+"${lines[@]}"})
lined "$INPUT_BASE" && bases=(${lines[@]+"${lines[@]}"})
lined "$INPUT_ARGS" && options=(${lines[@]+"${lines[@]}"})
lined "$INPUT_DIFF_ARGS" && comparing=(${lines[@]+"${lines[@]}"})
lined "$INPUT_FAIL_ON" && gates=(${lines[@]+"${lines[@]}"})
config=() because=''
[ -z "$INPUT_CONFIG" ] || config=("--config=$INPUT_CONFIG")
[ -z "$INPUT_LINK" ] || options+=("--link=$INPUT_LINK")
[ -z "$INPUT_MODEL" ] || options+=("--model=$INPUT_MODEL")

[ ${#candidate[@]} -gt 0 ] || fail "$UNUSABLE" 'candidate names no run.'
page=${INPUT_ARTIFACT:-nsysparse}
[[ $page =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$ ]] ||
  fail "$UNUSABLE" 'artifact: a name of letters, digits, _, . and -, at most 64, that begins with none of the last two.'
html=$work/$page.html markdown=$work/comment.md

analyse() { # WHERE FILES
  local where=$1
  shift
  must report ${config[@]+"${config[@]}"} ${options[@]+"${options[@]}"} -f json -o "$where" -- "$@"
}

if [ ${#bases[@]} -eq 0 ]; then
  json=$work/report.json analysis=$json over=()
  [ "$INPUT_FAIL_OVER_THRESHOLD" != true ] || over=(--fail-over-threshold)
  if [ ${#candidate[@]} -eq 1 ] && is_saved "${candidate[0]}"; then
    without_use
    options=() # which report would refuse, as diff does not get them either
  fi
  gated report ${config[@]+"${config[@]}"} ${options[@]+"${options[@]}"} ${over[@]+"${over[@]}"} \
    -f json -o "$json" -- "${candidate[@]}"
  # The analysis holds its settings; a config file is of no use to what is drawn from it.
  must report --no-config -q -f markdown "--max-bytes=$COMMENT_BYTES" -o "$markdown" -- "$json"
  must report --no-config -q -f html -o "$html" -- "$json"
  if [ ${#gates[@]} -gt 0 ]; then
    if [ "$gate" -eq 0 ]; then
      gate=$UNANSWERED because='fail-on needs a base, and there is none.'
    fi
    printf '\n\n**Not answered, for want of a base**: %s\n' \
      "$(printf '%s\n' "${gates[@]}" | escaped | sed -e 's/^/<code>/' -e 's/$/<\/code>/' | tr '\n' ' ')" >>"$markdown"
  elif [ "${GITHUB_EVENT_NAME-}" = pull_request ]; then
    # A green job must not pass for one whose gates held.
    annotate warning 'nsysparse: no base' 'There is nothing to compare with: this is a report of one run, and no gate was asked.'
    printf '\n\n**No base to compare with**: this is a report of one run, and no gate was asked.\n' >>"$markdown"
  fi
else
  analysed=0 runs=() more=()
  for run in "${bases[@]}"; do
    if is_saved "$run"; then
      runs+=("$run")
    else
      runs+=("$work/base-${#runs[@]}.json")
      analyse "${runs[${#runs[@]} - 1]}" "$run"
      analysed=1
    fi
  done
  if [ ${#candidate[@]} -eq 1 ] && is_saved "${candidate[0]}"; then
    analysis=${candidate[0]}
  else
    analysis=$work/candidate.json
    analyse "$analysis" "${candidate[@]}"
    analysed=1
  fi
  [ "$analysed" -eq 1 ] || without_use
  [ "$INPUT_FAIL_OVER_THRESHOLD" != true ] ||
    fail "$UNUSABLE" 'fail-over-threshold is for a report without a base. With one, use fail-on: kv_gap_share.p50>0.20'
  for run in "${runs[@]:1}"; do more+=("--base=$run"); done
  for condition in ${gates[@]+"${gates[@]}"}; do more+=("--fail-on=$condition"); done
  compare() { # OPTIONS OF THE OUTPUT
    gated diff ${config[@]+"${config[@]}"} ${comparing[@]+"${comparing[@]}"} ${more[@]+"${more[@]}"} "$@" \
      -- "${runs[0]}" "$analysis"
  }
  json=$work/diff.json
  compare -f json -o "$json"
  compare -q -f markdown "--max-bytes=$COMMENT_BYTES" -o "$markdown"
  compare -q -f html -o "$html"
fi

for file in "$json" "$markdown" "$html"; do
  [ -s "$file" ] || fail 1 "nsysparse ended with code $gate, but wrote no ${file##*/}."
done
"$PYTHON" "$here/outcome.py" "$json" "$gate" "$because" >>"$GITHUB_OUTPUT"
output exit-code "$gate"
output json "$json"
output markdown "$markdown"
output html "$html"
[ ! -f "$analysis" ] || output analysis "$analysis" # else a folder or a pattern
