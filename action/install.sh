#!/usr/bin/env bash
# Installs nsysparse into a folder of its own, so that the job's Python stays as it is.
set -euo pipefail
# shellcheck source=action/runner.sh
source "$(dirname "${BASH_SOURCE[0]}")/runner.sh"

readonly UNUSABLE=2

python=${PYTHON:-$(command -v python3 || command -v python || true)}
[ -n "$python" ] || fail "$UNUSABLE" 'There is no Python on PATH. Set python-version.'

if [ "$INPUT_VERSION" = installed ]; then
  tool=$(command -v nsysparse) || fail "$UNUSABLE" 'version is "installed", but there is no nsysparse on PATH.'
  output tool "$tool"
  output python "$python"
  exit 0
fi

place=$(mktemp -d "$RUNNER_TEMP/nsysparse-XXXXXX")
"$python" -m venv "$place" || fail 1 'No environment for nsysparse could be made; the log says why.'
programs=$place/bin
[ -d "$programs" ] || programs=$place/Scripts # Windows
pip() {
  "$programs/python" -m pip install --quiet --disable-pip-version-check "$@" ||
    fail 1 'pip could not install nsysparse; the log says why.'
}
if [ -n "$INPUT_VERSION" ]; then
  pip -- "$INPUT_VERSION"
else
  pip --require-hashes --no-deps -r "$GITHUB_ACTION_PATH/requirements.lock"
  pip --no-deps --no-build-isolation "$GITHUB_ACTION_PATH"
fi
output tool "$programs/nsysparse"
output python "$programs/python"
