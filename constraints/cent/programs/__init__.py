"""Programs of CENT's RISC-V cores: C sources, and their compiled words with the addresses of entries and parameters.

``tools/cent_programs.py`` compiles the C files of this folder to ``programs.json``. Users need no compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ...core.document import parse_json, read_text
from ...core.errors import ConfigError, nearest
from ...core.workspace import kept

__all__ = ["IMAGE", "SLOT_ELEMENTS", "Image", "image_for", "load_image"]

#: Elements of a slot of CENT's shared buffer, BF16.
SLOT_ELEMENTS = 16

#: The compiled programs of this folder, for such slots.
IMAGE = Path(__file__).parent / "programs.json"


@dataclass(frozen=True)
class Image:
    """The memory of a core before a program begins.

    Attributes
    ----------
    words : tuple of :class:`int`
        Instructions and data from address 0 on.
    entries : mapping of name to byte address
        Functions that a start may name.
    parameters : mapping of name to byte address
        Words that the host sets.
    """

    words: tuple[int, ...]
    entries: Mapping[str, int]
    parameters: Mapping[str, int]

    def __hash__(self) -> int:
        return hash(self.words)

    def entry(self, name: str) -> int:
        """Word address of a program; :exc:`ConfigError` if there is no such program."""
        if name not in self.entries:
            raise ConfigError(nearest("program", name, self.entries))
        return self.entries[name] // 4

    def with_parameters(self, **values: int) -> Image:
        """The image with other values of parameters (32 bits); :exc:`ConfigError` for an unknown name."""
        words = list(self.words)
        for name, value in values.items():
            if name not in self.parameters:
                raise ConfigError(nearest("parameter of the programs", name, self.parameters))
            words[self.parameters[name] // 4] = value & 0xFFFF_FFFF
        return replace(self, words=tuple(words))

    def check_fits(self, memory_bytes: int) -> None:
        """:exc:`ConfigError` if a core's memory is too small."""
        if 4 * len(self.words) > memory_bytes:
            raise ConfigError(
                f"a program of {4 * len(self.words)} bytes does not fit into a core's memory, which has "
                f"room for {memory_bytes}"
            )


def image_for(elements: int) -> Image:
    """The compiled programs for slots of so many elements; :exc:`ConfigError` if the package has none."""
    if elements == SLOT_ELEMENTS:
        return load_image()
    path = IMAGE.with_name(f"programs-{elements}.json")
    if not path.is_file():
        raise ConfigError(
            f"there are no compiled programs for slots of {elements} elements; tools/cent_programs.py makes them"
        )
    return load_image(str(path))


@kept
def load_image(file: str | None = None) -> Image:
    """The image in a file that ``tools/cent_programs.py`` wrote; None: the programs of this folder.

    Raises
    ------
    :exc:`ConfigError`
        If the file can't be read or is no image.
    """
    path = IMAGE if file is None else Path(file)
    found = parse_json(read_text(path, "an image of programs"), str(path))
    try:
        words = tuple(int(word, 16) for word in found["words"])
        entries, parameters = (
            {str(name): int(at) for name, at in found[key].items()} for key in ("entries", "parameters")
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ConfigError(
            f"{path}: no image of programs: it needs words (hexadecimal), entries and parameters"
        ) from None
    for name, at in (*entries.items(), *parameters.items()):
        if at % 4 or not 0 <= at < 4 * len(words):
            raise ConfigError(f"{path}: {name}: address {at} is not in the image's {4 * len(words)} bytes")
    return Image(words, entries, parameters)
