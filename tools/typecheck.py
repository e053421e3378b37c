"""Run mypy over the whole package.

The parts are top-level folders of one package; a folder of links shows them to the type checker as they are imported.
"""

import subprocess
import sys
from pathlib import Path

root = Path(__file__).resolve().parent.parent
tree = root / "build" / "typecheck" / "bankside"
tree.mkdir(parents=True, exist_ok=True)
parts = ["constraints", "gen", "models", "cosim", "rtl"]
wanted = {p.name: p for p in (root / "bankside").iterdir() if p.name != "__pycache__"}
wanted |= {name: root / name for name in parts}
for link in tree.iterdir():
    if link.is_symlink() and (link.name not in wanted or link.resolve() != wanted[link.name]):
        link.unlink()
for name, target in wanted.items():
    if not (tree / name).exists():
        (tree / name).symlink_to(target)
sys.exit(subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(root / "pyproject.toml"), "--cache-dir",
                         str(root / ".mypy_cache"), "-p", "bankside"], cwd=tree.parent).returncode)
