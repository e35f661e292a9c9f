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
# An environment without a pip of its own is made at once; pip is put into it only where nothing else is at hand.
[ -x "$venv/bin/python" ] || "$python" -m venv --without-pip "$venv"
own_pip() {
  "$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$venv/bin/python" -m ensurepip >/dev/null
}
uv=$(command -v uv || echo "$venv/bin/uv")
if [ ! -x "$uv" ]; then
  quietly="--quiet --disable-pip-version-check"
  "$python" -m pip --python "$venv/bin/python" install $quietly uv 2>/dev/null ||
    { own_pip && "$venv/bin/python" -m pip install $quietly uv 2>/dev/null; } || true
fi
echo "Installing $requirement into $venv ..."
if [ -x "$uv" ] && VIRTUAL_ENV="$venv" "$uv" pip install --quiet --editable "$requirement"; then
  exit 0
fi
own_pip
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$requirement"
