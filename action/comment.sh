#!/usr/bin/env bash
# Creates or updates the pull request's one comment. Where that is not allowed the job goes on: the verdict does not hang on it.
set -euo pipefail
# shellcheck source=action/runner.sh
source "$(dirname "${BASH_SOURCE[0]}")/runner.sh"

code=0
said=$("$PYTHON" "$(dirname "${BASH_SOURCE[0]}")/comment.py" "$MARKDOWN") || code=$?
reason=${said#* }
case ${said%% *} in
  posted)
    output comment-url "$reason"
    echo "The comment: $reason"
    ;;
  skipped) annotate notice 'nsysparse: no comment' "$reason" ;;
  refused)
    annotate warning 'nsysparse: no comment' "$reason The report is in the step summary."
    summarise "**No comment was left**: $(printf '%s' "$reason" | escaped) The report is in this job's summary." ||
      echo 'The summary has no room left for this.'
    ;;
  *)
    annotate error 'nsysparse: no comment' "${reason:-comment.py ended with code $code.} The report is in the step summary."
    exit 1
    ;;
esac
