"""Bankside: hardware that sits beside memory for LLM decoding, generated, proven, measured and put into a server."""

from pathlib import Path as _Path

__version__ = "0.1.0"

# In a checkout the parts (gen, models, ...) are top-level folders beside this package; make them importable under this
# name without an installation. An installed wheel holds them inside the package and finds nothing to add here.
_checkout = _Path(__file__).resolve().parent.parent
if (_checkout / "constraints" / "__init__.py").exists():
    __path__.append(str(_checkout))
