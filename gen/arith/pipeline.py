"""Pipelines of any depth from one description: it says where registers may go, a parameter how many there are."""

import functools
import inspect
import itertools
from collections import Counter

from amaranth import *

__all__ = ["Pipeline", "operator", "partition"]


class Pipeline:
    """Named values on their way through a datapath, registered wherever the pipeline is cut.

    A datapath is written once, in the order in which it computes. It keeps every value in an attribute (or item) of the
    pipeline and marks with :meth:`cut` the places where registers may go::

        p.sum = p.a + p.b
        p.cut(8)
        p.result = p.sum >> p.shift

    A value read behind a cut that holds registers is the registered one, however many such cuts lie between: the
    registers are made when a value is first read there, so that nothing is delayed that nobody needs, and values that
    belong together stay together. Only what is kept in a Python variable across a cut escapes this. With no registers
    the same description is combinational.

    Every value becomes a signal named after the attribute; every register is named after it and its stage.

    Parameters
    ----------
    m : :class:`Module`
    registers : iterable of :class:`int`
        Which of the cuts, counted from 0, hold registers.
    enables : list of 1-bit value, or None
        One for each stage: its registers keep their values while it is 0. None: registers load in every cycle.
    name : str
        Prefix of all names.
    """

    def __init__(self, m, *, registers=(), enables=None, name=""):
        place = _Place(m, frozenset(registers), enables)
        self.__dict__.update(_place=place, _prefix=name, _values={}, _delayed={})

    @property
    def module(self):
        """The module that the datapath adds its statements to."""
        return self._place.m

    @property
    def stage(self):
        """Registers passed so far."""
        return self._place.stage

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
                self._delayed[key] = (register, signal)  # the signal too, so that its identity stays its own
            signal = self._delayed[key][0]
        return signal

    def keep(self, **values):
        """Put several values into the pipeline."""
        for name, value in values.items():
            self[name] = value

    # Structure -------------------------------------------------------------------------------------------------------

    def cut(self, levels=1):
        """A place where registers may go, ``levels`` gate delays (about a NAND of two inputs) after the one before."""
        self._place.cut(levels)

    def part(self, name):
        """A pipeline for a part of the datapath, with names of its own; it advances together with this one."""
        part = object.__new__(Pipeline)
        part.__dict__.update(_place=self._place, _prefix=f"{self._prefix}{name}_", _values={}, _delayed={})
        return part

    def parallel(self, name, count, function):
        """``[function(part, index) for index in range(count)]`` for parts that work side by side.

        Each starts where this pipeline is; all must have the same cuts, and afterwards this pipeline is where they end.
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
        """``function(self)``, computed beside what follows: afterwards this pipeline is where it was before.

        For a branch that ends later than the place that continues: its results are read once the pipeline has come at
        least as far.
        """
        before = self._place.position()
        result = function(self)
        self._place.move(before)
        return result

    def beside(self, *functions):
        """``[function(self) for function in functions]``, all starting here; afterwards this pipeline is where the one
        with most cuts ends, so that the results of all can be read."""
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
    """How far a pipeline and its parts have come."""

    def __init__(self, m, registers, enables):
        self.m, self._registers, self._enables = m, registers, enables
        self.cuts = self.stage = 0
        self.levels = []  # of every cut
        self.bits = Counter()  # of the registers of every stage

    def cut(self, levels):
        if len(self.levels) == self.cuts:
            self.levels.append(levels)
        else:
            self.levels[self.cuts] = max(self.levels[self.cuts], levels)  # of parallel parts the slowest counts
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
    """Which cuts hold registers so that the longest way between two is shortest.

    Parameters
    ----------
    levels : list of int
        Delay before each cut, and after the last one.
    depth : int
        Registers wanted.
    bits : list of int, or None
        What a register at each cut holds. If given, of all choices whose longest way is within an eighth of the
        shortest one that with the fewest bits: delays are estimates, bits are not.

    Returns
    -------
    list of int, ascending: all cuts if ``depth`` is larger.
    """
    count = len(levels) - 1
    if depth >= count:
        return list(range(count))
    ends = [0, *itertools.accumulate(levels)]

    @functools.cache
    def shortest(first, left):
        """Longest way of the part that begins at level ``first`` with ``left`` registers to place, and where."""
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
        """Bits of that part, its longest way, and where, if no way is longer than the limit; else None."""
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
    """All cuts."""

    def __contains__(self, cut):
        return True


def operator(function):
    """Make a function of a pipeline a function of a module.

    ``function(p, *operands, **options)`` describes a datapath on a :class:`Pipeline`; its result is a value, or a tuple of
    values, at the end of it. What this makes of it is called with a module (or with a pipeline, to be a part of that):

        result = multiply(m, a, b, fmt=FP16, depth=2)

    Parameters, besides those of ``function``
    -----------------------------------------
    depth : int
        Registers between operands and result: the result belongs to the operands ``depth`` cycles before. They go where
        they shorten the longest path most; those that find no place follow the result. 0: combinational.
    enables : list of 1-bit value, or None
        Of each stage, the first one first.
    name : str
        Prefix of the names of all signals.
    """

    @functools.wraps(function)
    def build(m, *operands, depth=0, enables=None, name="", **options):
        if isinstance(m, Pipeline):
            return function(m.part(name.rstrip("_")) if name else m, *operands, **options)
        if depth < 0:
            raise ValueError(f"Depth must be 0 or more, not {depth!r}")
        registers = []
        if depth:
            draft = Module()
            draft._MustUse__silence = True  # thrown away: it only tells the cuts, and what registers there would hold
            plan = Pipeline(draft, name=name)
            place = plan._place
            place._registers = _Everywhere()
            function(plan, *operands, **options)
            registers = partition([*place.levels, 1], depth, [place.bits[cut] for cut in range(len(place.levels))])
        p = Pipeline(m, registers=registers, enables=enables, name=name)
        results = function(p, *operands, **options)
        if len(registers) == depth:
            return results
        # More registers than places: the rest follows the results.
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
    extra = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=d)
             for n, d in (("depth", 0), ("enables", None), ("name", ""))]
    parameters = list(signature.parameters.values())
    options = [x for x in parameters if x.kind is inspect.Parameter.KEYWORD_ONLY]
    build.__signature__ = signature.replace(parameters=[x for x in parameters if x not in options] + options + extra)
    build.datapath = function
    return build
