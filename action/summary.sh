#!/usr/bin/env bash
# Puts the report into the step summary: all of it, else its verdict, else a line that says so.
set -euo pipefail
# shellcheck source=action/runner.sh
source "$(dirname "${BASH_SOURCE[0]}")/runner.sh"

where='It is in the Markdown and HTML that the job wrote.'
link=''
if [ -n "$ARTIFACT_URL" ]; then
  where="It is in the artifact: $ARTIFACT_URL"
  link=$'\n\n'"[The whole report]($ARTIFACT_URL)"
fi

summarise "$(cat "$MARKDOWN")$link" && exit 0
annotate warning 'nsysparse: summary cut' "The report does not fit into what is left of the step summary. $where"
verdict=$(grep -v -m 1 -e '^<!--' -e '^[[:space:]]*$' "$MARKDOWN" || true)
summarise "$verdict"$'\n\n'"The rest does not fit into what is left of this summary. $where" && exit 0
summarise "nsysparse: not even the verdict fits here. $where" || echo 'Not even a line fits into the step summary.'
