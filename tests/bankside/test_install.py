"""The set-up gets packages from the places that pip is set to, and only those that the lock names."""

from pathlib import Path

import pytest

from tools.install import passed_on, settings_of_pip, uv_requirement

ROOT = Path(__file__).resolve().parents[2]

LISTED = """\
:env:.default-timeout='180'
:env:.find-links='/wheels'
download.index-url='https://elsewhere/simple'
global.cert='/etc/ssl/ca.pem'
global.extra-index-url='https://a/simple\\nhttps://b/simple'
global.find-links='/wheels /more'
global.index-url='https://company/simple'
install.trusted-host='company'
"""


def test_settings_of_pip_are_passed_on():
    options, variables = passed_on(settings_of_pip(LISTED))
    assert options == [
        "--index-strategy",
        "unsafe-best-match",
        "--default-index",
        "https://company/simple",
        "--index",
        "https://a/simple",
        "--index",
        "https://b/simple",
        "--find-links",
        "/wheels",
        "--find-links",
        "/more",
        "--allow-insecure-host",
        "company",
    ]
    assert variables == {"SSL_CERT_FILE": "/etc/ssl/ca.pem"}


@pytest.mark.parametrize(("value", "given"), [("true", True), ("1", True), ("false", False)])
def test_no_index(value, given):
    assert ("--no-index" in passed_on(settings_of_pip(f"global.no-index='{value}'\n"))[0]) is given


def test_pip_without_settings():
    assert passed_on(settings_of_pip("")) == (["--index-strategy", "unsafe-best-match"], {})


def test_uv_is_pinned():
    lines = uv_requirement((ROOT / "requirements.lock").read_text()).splitlines()
    assert lines[0].startswith("uv==") and len(lines) > 2
    assert all(line.lstrip().startswith("--hash=sha256:") for line in lines[1:])
    assert not lines[-1].endswith("\\")


def test_lock_without_uv():
    with pytest.raises(SystemExit, match="make lock"):
        uv_requirement("numpy==2.5.5 \\\n    --hash=sha256:00\n")
