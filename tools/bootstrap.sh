#!/bin/sh
# Usage: bootstrap.sh VENV REQUIREMENT. Makes the virtual environment and installs this project in it, with
# uv where it can be had (three times faster) and with pip otherwise.
set -eu
venv=$1
requirement=$2
python=${PYTHON:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "hubbub needs Python 3.11 or newer; '$python' is $("$python" -V 2>&1). Set PYTHON=/path/to/python3.11." >&2
  exit 2
}
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
if [ ! -x "$venv/bin/uv" ]; then
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check uv 2>/dev/null || true
fi
echo "Installing $requirement into $venv ..."
if [ -x "$venv/bin/uv" ] && VIRTUAL_ENV="$venv" "$venv/bin/uv" pip install --quiet --editable "$requirement"; then
  exit 0
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$requirement"
