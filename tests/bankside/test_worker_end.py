"""The end of a worker of pytest-xdist."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: A test that leaves garbage. Collecting the garbage takes longer than execnet waits for a worker to end.
LEAVES_GARBAGE = """
import gc, pathlib, time

class Slow:
    def __del__(self):
        time.sleep(8)
        pathlib.Path("collected").touch()

def test_leaves_garbage():
    gc.disable()  # nothing is collected before the end
    garbage = Slow()
    garbage.itself = garbage
"""


def test_a_worker_with_much_garbage_ends_without_an_interrupt(tmp_path):
    """Without the plugin, execnet interrupts the finaliser after 5 s, and pytest prints the traceback."""
    (tmp_path / "test_it.py").write_text(LEAVES_GARBAGE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "tests.worker_end", "-p", "no:hypothesispytest"]
    done = subprocess.run(
        [*command, f"--rootdir={tmp_path}", "test_it.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
    assert "KeyboardInterrupt" not in done.stdout + done.stderr
    assert (tmp_path / "collected").exists()
