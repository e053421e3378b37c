#!/bin/sh
# Set up the virtual environment $1; with `full` as $2 also what only `make test-full` needs, with `docs` only the packages
# that build the documentation site. Missing system packages are installed when this runs as root on Debian or Ubuntu;
# otherwise the line that installs them is printed and nothing else happens.
set -eu
venv=$1
lock=requirements.lock
if [ "${2:-}" = docs ]; then lock=requirements-docs.lock; fi
python=${PYTHON:-python3}
packages=""
need() { command -v "$1" >/dev/null 2>&1 || packages="$packages $2"; }
if [ "${2:-}" != docs ]; then
  need g++ g++
  need make make
  need perl perl
fi
if [ "${2:-}" = full ]; then need sta opensta; fi
need "$python" python3
if command -v "$python" >/dev/null 2>&1; then
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "bankside needs Python 3.11 or newer, not $("$python" --version 2>&1); set PYTHON=..." >&2; exit 3; }
  "$python" -c 'import venv, ensurepip' 2>/dev/null || packages="$packages python3-venv"
  # cocotb starts Python inside the simulator: it needs the shared library.
  [ "${2:-}" = docs ] || "$python" - <<'PY' || packages="$packages libpython$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
import pathlib, sys, sysconfig
name = "libpython%d.%d" % sys.version_info[:2]
folders = [sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("LIBPL") or "", "/usr/lib", "/usr/local/lib",
           "/usr/lib/" + (sysconfig.get_config_var("MULTIARCH") or "")]
sys.exit(not any(list(pathlib.Path(f).glob(name + "*.so*")) + list(pathlib.Path(f).glob(name + "*.dylib")) for f in folders if f))
PY
fi
if [ -n "$packages" ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing$packages" >&2
    apt-get update -q >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q $packages >/dev/null
  else
    echo "missing system packages; this installs them:" >&2
    echo "    sudo apt-get install$packages" >&2
    exit 3
  fi
fi
echo "setting up $venv (packages from $lock)" >&2
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" tools/install.py "$lock"
[ "${2:-}" = docs ] || "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
