"""Install the packages of a lock file into the environment of the Python that runs this: `install.py LOCK`.

Packages are loaded and unpacked side by side by uv, so a new environment takes seconds. The lock file requirements.lock
pins uv too, and pip installs it. As uv does not read the settings of pip, it gets those that say where packages come from.
If there is no uv for this machine, or if it fails, pip installs the packages.
"""

import ast
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PIP = [sys.executable, "-m", "pip"]
INSTALL = [*PIP, "install", "-q", "--disable-pip-version-check"]


def uv_requirement(lock: str) -> str:
    """The lines of a lock file that pin uv, with its hashes."""
    found = re.search(r"^uv==.*\\\n(?: +--hash=.*\n)+", lock, re.MULTILINE)
    if found is None:
        raise SystemExit("requirements.lock does not pin uv: make lock")
    return found[0]


def settings_of_pip(listed: str) -> dict[str, list[str]]:
    """Settings of ``pip config list`` that hold for ``pip install``: name, and its values from all sources."""
    found: dict[str, list[str]] = {}
    for name, text in re.findall(r"^(?:global|install|:env:)\.([\w-]+)=(.*)$", listed, re.MULTILINE):
        values = str(ast.literal_eval(text)).split()
        found[name] = list(dict.fromkeys([*found.get(name, []), *values]))
    return found


def passed_on(settings: dict[str, list[str]]) -> tuple[list[str], dict[str, str]]:
    """Options and environment variables that give uv the same sources of packages."""
    options = ["--index-strategy", "unsafe-best-match"]  # as pip does; the hashes of the lock say what may come
    for name, option in (
        ("index-url", "--default-index"),
        ("extra-index-url", "--index"),
        ("find-links", "--find-links"),
        ("trusted-host", "--allow-insecure-host"),
    ):
        values = settings.get(name, [])
        for value in values[-1:] if name == "index-url" else values:
            options += [option, value]
    if settings.get("no-index", [""])[-1].lower() in ("1", "true", "yes", "on"):
        options.append("--no-index")
    variables = {"SSL_CERT_FILE": "cert", "ALL_PROXY": "proxy"}
    return options, {variable: settings[name][-1] for variable, name in variables.items() if name in settings}


def by_uv(lock: str) -> bool:
    """Install the packages of ``lock`` with uv. Return whether that worked."""
    with tempfile.TemporaryDirectory() as folder:
        pin = Path(folder) / "uv.lock"
        pin.write_text(uv_requirement(Path("requirements.lock").read_text()))
        if subprocess.run([*INSTALL, "--require-hashes", "--only-binary=:all:", "-r", pin]).returncode:
            return False
    listed = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True).stdout
    options, variables = passed_on(settings_of_pip(listed))
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "install",
        "-q",
        "--python",
        sys.executable,
        *options,
        "--require-hashes",
        "-r",
        lock,
    ]
    return subprocess.run(command, env={**os.environ, **variables}).returncode == 0


def main(lock: str) -> int:
    if by_uv(lock):
        return 0
    print("uv could not install the packages; pip installs them", file=sys.stderr)
    return subprocess.run([*INSTALL, "--require-hashes", "-r", lock]).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
