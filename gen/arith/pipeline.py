"""Pipelines of any depth from one description: it marks places for registers, and a parameter gives their number."""

import functools
import inspect
import itertools
from collections import Counter
from typing import Any

from amaranth import *

__all__ = ["FABRICS", "Pipeline", "operator", "partition"]

#: Fabrics for which datapaths are written. ``asic``: adders and compressor trees of gates. ``xilinx``: ``*`` for DSP
#: blocks, with registers at their inputs, products and outputs, and ``+`` for carry chains. The bits are the same.
FABRICS = ("asic", "xilinx")


class Pipeline:
    """Named values in a datapath, with registers at cuts of the pipeline.

    A datapath is written once, in the order of its computation. It keeps every value in an attribute (or item) of the
    pipeline. It marks the places where registers may go with :meth:`cut`::

        p.sum = p.a + p.b
        p.cut(8)
        p.result = p.sum >> p.shift

    A value read behind cuts with registers is the registered value, however many such cuts lie in between. A register
    is created when a value is first read behind its cut. So unused values are not delayed, and values that belong
    together stay together. Only a value that a Python variable carries over a cut is not delayed. Without registers,
    the same description is combinational.

    Every value becomes a signal with the name of the attribute. A register has this name and the number of its stage.

    Parameters
    ----------
    m : :class:`Module`
    registers : iterable of :class:`int`
        Cuts that hold registers, counted from 0.
    enables : list of 1-bit value, or None
        One value for each stage. While it is 0, the stage's registers keep their values. None: registers load in every
        cycle.
    name : str
        Prefix of all names.
    fabric : :class:`str`
        One of :data:`FABRICS`; all parts of the pipeline have the same.
    """

    def __init__(self, m, *, registers=(), enables=None, name="", fabric="asic"):
        if fabric not in FABRICS:
            raise ValueError(f"Fabric must be one of {', '.join(FABRICS)}, not {fabric!r}")
        place = _Place(m, frozenset(registers), enables, fabric)
        self.__dict__.update(_place=place, _prefix=name, _values={}, _delayed={})

    @property
    def module(self):
        """The module to which the datapath adds its statements."""
        return self._place.m

    @property
    def stage(self):
        """Number of registers passed so far."""
        return self._place.stage

    @property
    def fabric(self):
        """Fabric for which the datapath is written."""
        return self._place.fabric

    # Values ----------------------------------------------------------------------------------------------------------

    def __setattr__(self, name, value):
        self[name] = value

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __setitem__(self, name, value):
        value = Value.cast(value)
        if isinstance(value, Signal) and value.name == self._prefix + name:
            signal = value
        else:
            signal = Signal(value.shape(), name=self._prefix + name)
            self.module.d.comb += signal.eq(value)
        self._values[name] = (signal, self._place.stage)

    def __getitem__(self, name):
        if name not in self._values:
            raise AttributeError(f"No value '{self._prefix}{name}' has been put into the pipeline")
        signal, since = self._values[name]
        for stage in range(since, self._place.stage):
            key = (id(signal), stage)
            if key not in self._delayed:
                register = Signal(signal.shape(), name=f"{self._prefix}{name}_s{stage + 1}", reset_less=True)
                self._place.load(register, signal, stage)
                self._delayed[key] = (register, signal)  # keeps the signal too, so that its `id` stays unique
            signal = self._delayed[key][0]
        return signal

    def keep(self, **values):
        """Put several values into the pipeline."""
        for name, value in values.items():
            self[name] = value

    # Structure -------------------------------------------------------------------------------------------------------

    def cut(self, levels=1):
        """Mark a place for registers, ``levels`` gate delays (about a NAND of two inputs) after the place before."""
        self._place.cut(levels)

    def part(self, name):
        """A pipeline for a part of the datapath, with its own names. It advances together with this pipeline."""
        part = object.__new__(Pipeline)
        part.__dict__.update(_place=self._place, _prefix=f"{self._prefix}{name}_", _values={}, _delayed={})
        return part

    def parallel(self, name, count, function):
        """``[function(part, index) for index in range(count)]`` for parts that work in parallel.

        Each part starts at the position of this pipeline. All parts must have the same cuts. Afterwards this pipeline
        is at their end.
        """
        place = self._place
        before = place.position()
        results, after = [], None
        for index in range(count):
            place.move(before)
            results.append(function(self.part(f"{name}_{index}"), index))
            if after is not None and place.position()[:2] != after[:2]:
                raise ValueError(f"Parallel parts must have the same cuts, not {after[0]} and {place.position()[0]}")
            after = place.position()
        return results

    def side(self, function):
        """``function(self)``, in parallel with the following steps. The position of this pipeline does not change.

        It serves a branch that ends later than the position of this pipeline. Its results are read when the pipeline
        has come at least as far.
        """
        before = self._place.position()
        result = function(self)
        self._place.move(before)
        return result

    def beside(self, *functions):
        """``[function(self) for function in functions]``, all starting at the current position.

        Afterwards this pipeline is at the end of the function with the most cuts, so that all results can be read.
        """
        place = self._place
        before = furthest = place.position()
        results = []
        for function in functions:
            place.move(before)
            results.append(function(self))
            furthest = max(furthest, place.position())
        place.move(furthest)
        return results


class _Place:
    """Position of a pipeline and its parts."""

    def __init__(self, m, registers, enables, fabric):
        self.m, self._registers, self._enables, self.fabric = m, registers, enables, fabric
        self.cuts = self.stage = 0
        self.levels = []  # gate delays before every cut
        self.bits: Any = Counter()  # bits of the registers of every stage

    def cut(self, levels):
        if len(self.levels) == self.cuts:
            self.levels.append(levels)
        else:
            self.levels[self.cuts] = max(self.levels[self.cuts], levels)  # the slowest parallel part counts
        self.stage += self.cuts in self._registers
        self.cuts += 1

    def position(self):
        return self.cuts, self.stage

    def move(self, position):
        self.cuts, self.stage = position

    def load(self, register, value, stage):
        self.bits[stage] += len(register)
        if self._enables is None:
            self.m.d.sync += register.eq(value)
        else:
            with self.m.If(self._enables[stage]):
                self.m.d.sync += register.eq(value)


def partition(levels, depth, bits=None):
    """Choose the cuts that hold registers, so that the longest path between two registers is as short as possible.

    Parameters
    ----------
    levels : list of int
        Delay before each cut, and after the last cut.
    depth : int
        Number of registers.
    bits : list of int, or None
        Bits that a register at each cut holds. If given, the longest path may exceed the shortest possible one by an
        eighth. The choice with the fewest bits is taken, because delays are estimates, while bits are not.

    Returns
    -------
    list of int, ascending. It has all cuts if ``depth`` is larger.
    """
    count = len(levels) - 1
    if depth >= count:
        return list(range(count))
    ends = [0, *itertools.accumulate(levels)]

    @functools.cache
    def shortest(first, left):
        """Longest path of the part from level ``first`` on with ``left`` registers to place, and the chosen cuts."""
        if not left:
            return ends[-1] - ends[first], ()
        choices = []
        for cut in range(first, count - left + 1):
            longest, rest = shortest(cut + 1, left - 1)
            choices.append((max(ends[cut + 1] - ends[first], longest), (cut, *rest)))
        return min(choices)

    longest, cuts = shortest(0, depth)
    if bits is None:
        return list(cuts)
    limit = longest + longest // 8

    @functools.cache
    def smallest(first, left):
        """Bits of that part, its longest path, and the chosen cuts, or None if a path is longer than the limit."""
        if not left:
            way = ends[-1] - ends[first]
            return (0, way, ()) if way <= limit else None
        choices = []
        for cut in range(first, count - left + 1):
            way = ends[cut + 1] - ends[first]
            if way <= limit and (rest := smallest(cut + 1, left - 1)):
                choices.append((bits[cut] + rest[0], max(way, rest[1]), (cut, *rest[2])))
        return min(choices, default=None)

    return list(smallest(0, depth)[2])


class _Everywhere:
    """The set of all cuts."""

    def __contains__(self, cut):
        return True


def operator(function):
    """Turn a function of a pipeline into a function of a module.

    ``function(p, *operands, **options)`` describes a datapath on a :class:`Pipeline`. Its result is a value, or a tuple
    of values, at the end of the datapath. The new function takes a module, or a pipeline to become a part of it:

        result = multiply(m, a, b, fmt=FP16, depth=2)

    Further parameters
    ------------------
    depth : int
        Registers between operands and result: the result belongs to the operands ``depth`` cycles before. Registers go
        where they shorten the longest path most. Registers without a place follow the result. 0: combinational.
    enables : list of 1-bit value, or None
        Enable signal of each stage, the first stage first.
    name : str
        Prefix of the names of all signals.
    fabric : str
        One of :data:`FABRICS`. As a part of a pipeline, the operator has the pipeline's fabric.
    """

    @functools.wraps(function)
    def build(m, *operands, depth=0, enables=None, name="", fabric="asic", **options):
        if isinstance(m, Pipeline):
            return function(m.part(name.rstrip("_")) if name else m, *operands, **options)
        if depth < 0:
            raise ValueError(f"Depth must be 0 or more, not {depth!r}")
        registers = []
        if depth:
            draft = Module()
            draft._MustUse__silence = True  # thrown away: it only counts cuts and bits of registers
            plan = Pipeline(draft, name=name, fabric=fabric)
            place = plan._place
            place._registers = _Everywhere()
            function(plan, *operands, **options)
            registers = partition([*place.levels, 1], depth, [place.bits[cut] for cut in range(len(place.levels))])
        p = Pipeline(m, registers=registers, enables=enables, name=name, fabric=fabric)
        results = function(p, *operands, **options)
        if len(registers) == depth:
            return results
        # There are more registers than places. The others follow the results.
        many = results if isinstance(results, tuple) else (results,)
        place = p._place
        place._registers |= frozenset(range(place.cuts, place.cuts + depth - len(registers)))
        for number, value in enumerate(many):
            p[f"delayed_{number}"] = value
        for _ in range(depth - len(registers)):
            p.cut(0)
        late = tuple(p[f"delayed_{number}"] for number in range(len(many)))
        return late if isinstance(results, tuple) else late[0]

    signature = inspect.signature(function)
    extra = [
        inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=d)
        for n, d in (("depth", 0), ("enables", None), ("name", ""), ("fabric", "asic"))
    ]
    parameters = list(signature.parameters.values())
    options = [x for x in parameters if x.kind is inspect.Parameter.KEYWORD_ONLY]
    build.__signature__ = signature.replace(parameters=[x for x in parameters if x not in options] + options + extra)
    build.datapath = function
    return build
