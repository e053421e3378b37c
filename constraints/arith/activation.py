"""Tables of activation functions with linear interpolation, shared by the generator and the functional model."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import index

from ..core.errors import ConfigError, nearest
from ..core.formats import FloatFormat

__all__ = ["ACTIVATIONS", "TableInterpolation"]


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _gelu_tanh(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


#: The function of each name, then its substitutes below and above the table's range: ``"end"`` is the table's first or
#: last value, ``"operand"`` the operand itself, a number is that number.
ACTIVATIONS: dict[str, tuple[Callable[[float], float], str | int, str | int]] = {
    "exp": (math.exp, "end", "end"),
    "sigmoid": (_sigmoid, 0, 1),
    "tanh": (math.tanh, -1, 1),
    "gelu": (lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2)), 0, "operand"),
    "gelu_tanh": (_gelu_tanh, 0, "operand"),
    "silu": (lambda x: x * _sigmoid(x), 0, "operand"),
}


@dataclass(frozen=True)
class TableInterpolation:
    """An activation function as a table of equidistant points and the chords between them.

    The operand is cut (towards zero) to fixed point with ``position_bits`` behind the point. Its upper bits choose the
    chord i, and ``low`` is the number in the other ``low_bits`` bits::

        value = points[i] + ((points[i + 1] - points[i]) * low + half >> low_bits)

    The value is in units of ``2**-value_bits``, and ``half`` is ``2**(low_bits - 1)``, or 0 without low bits. The value
    is then rounded once to the format, to nearest even.

    The error is absolute, so small results have fewer good bits. A chord of width h is off by about h**2 / 8 times the
    second derivative. The fixed-point numbers add one unit each: ``2**-value_bits``, and ``2**-position_bits`` times
    the slope.

    AiM keeps such a table in its DRAM banks and interpolates in the processing unit; neither size nor format of its
    tables is published.

    Attributes
    ----------
    function : str
        A key of :data:`ACTIVATIONS`: exp, sigmoid, tanh, gelu (by the error function), gelu_tanh (the approximation by a
        hyperbolic tangent), silu.
    fmt : :class:`FloatFormat`
        Format of operand and result.
    entries : int
        Chords, a power of two.
    limit : int
        The table covers -limit <= x < limit; a power of two. Outside this range, exp keeps the table's first or last
        value. Sigmoid is 0 below and 1 above, and tanh is -1 and 1. Gelu and silu are 0 below and the operand itself
        above.

    Raises
    ------
    :exc:`ConfigError`
        If the function is unknown, or ``entries`` or ``limit`` is no power of two. If a chord would be narrower than
        ``2**-precision``, or the format has too few exponent bits for the table.
    """

    function: str
    fmt: FloatFormat
    entries: int = 128
    limit: int = 8

    def __post_init__(self) -> None:
        if self.function not in ACTIVATIONS:
            raise ConfigError(nearest("function", self.function, ACTIVATIONS))
        for name in ("entries", "limit"):
            value = index(getattr(self, name))
            if value < 1 or value & (value - 1):
                raise ConfigError(f"{name} must be a power of two, not {value}")
        if self.low_bits < 0 or self.entries < 2:
            raise ConfigError(f"entries must be from 2 to {2 * self.limit << self.fmt.precision}, not {self.entries}")
        if self.value_bits < 1 or self.limit.bit_length() + 1 > self.fmt.bias:
            raise ConfigError(f"format must have more exponent bits than {self.fmt.name}")
        if max(abs(point) for point in self.points) >> self.value_bits >> self.fmt.bias:
            raise ConfigError(f"limit must keep {self.function} in the range of {self.fmt.name}, not be {self.limit}")

    @property
    def position_bits(self) -> int:
        """Fraction bits of the fixed point: operands from 1 up are not cut."""
        return self.fmt.precision

    @property
    def limit_bits(self) -> int:
        """Bits of the fixed point before the point, without sign."""
        return self.limit.bit_length() - 1

    @property
    def low_bits(self) -> int:
        """Bits of the fixed point within a chord."""
        return self.position_bits + self.limit_bits + 2 - self.entries.bit_length()

    @property
    def value_bits(self) -> int:
        """Fraction bits of points and values; so few that no value but 0 is below the normal range."""
        return min(self.fmt.precision + 2, self.fmt.bias - 1)

    @functools.cached_property
    def points(self) -> tuple[int, ...]:
        """The function at the ends of all chords, from -limit to limit."""
        function = ACTIVATIONS[self.function][0]
        width = 2 * self.limit / self.entries
        return tuple(round(function(-self.limit + n * width) * 2.0**self.value_bits) for n in range(self.entries + 1))

    @property
    def below(self) -> int | None:
        """Value below the range, in the table's units; None: the operand itself."""
        return self._beyond(ACTIVATIONS[self.function][1], self.points[0])

    @property
    def above(self) -> int | None:
        """Value from ``limit`` on."""
        return self._beyond(ACTIVATIONS[self.function][2], self.points[-1])

    def _beyond(self, rule: str | int, end: int) -> int | None:
        if rule == "operand":
            return None
        return end if rule == "end" else int(rule) << self.value_bits
