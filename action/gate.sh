#!/usr/bin/env bash
# Fails the job by the gates, after everything is published. Other failures have ended it before, and said why.
set -euo pipefail
# shellcheck source=action/runner.sh
source "$(dirname "${BASH_SOURCE[0]}")/runner.sh"

case $CODE in
  3) annotate error 'nsysparse: a gate failed' "${WHY:-See the step summary.}" ;;
  4) annotate error 'nsysparse: a gate could not be answered' "${WHY:-See the step summary.}" ;;
  *) exit 0 ;;
esac
exit "$CODE"
