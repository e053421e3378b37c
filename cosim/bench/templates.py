"""Texts from the templates beside the benches: Verilog around units, and C++ of programs that drive them."""

from __future__ import annotations

import functools
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2

__all__ = ["rendered"]


@functools.cache
def _template(package: str, name: str) -> jinja2.Template:
    import jinja2

    return jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    ).from_string(resources.files(package).joinpath(name).read_text())


def rendered(package: str | None, name: str, /, **values: Any) -> str:
    """The text of the template ``name`` in the folder of a package, with its values.

    Raises
    ------
    :exc:`jinja2.UndefinedError`
        If a value is missing.
    """
    assert package is not None
    return _template(package, name).render(values)
