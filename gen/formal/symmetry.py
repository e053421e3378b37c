"""Proof that a fused operator does not depend on the order of its lanes.

A SAT solver can't show that a sum of sixteen products is the same in another order. The proof has three steps, each
checked on the output of the generator:

1. :func:`prove_compressor`: a tree of full and half adders leaves two rows. Their sum equals the sum of all input bits,
   modulo a power of two. The sum of the rows is a linear form in bits of the netlist. Adders are found in the netlist
   by their gates. From the last adder to the first, the sum of the adder's inputs replaces ``sum + 2 carry``. The proof
   is found if only the input bits remain, each with its weight.
2. :func:`prove_adder`: SMT shows that the carry-propagate adder adds.
3. A cell for the weighted sum of its inputs replaces each compressor tree with its adder. The results become terms that
   do not depend on the order of the inputs of such cells. Nor do they depend on the order of the inputs of gates.
   Exchanging lanes 0 and 1, and moving all lanes by one place, must not change the terms of the results. These two
   permutations generate all others.

The third step compares terms. It can fail for an operator whose symmetry it does not see. It cannot succeed for an
operator that is not symmetric.
"""

import sys
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from unittest import mock

from amaranth import *

from ..arith.pipeline import Pipeline
from .netlist import WEIGHTED_SUM, Terms, operator_module, read_netlists
from .smt import prove_operators

__all__ = ["SymmetryProof", "prove_adder", "prove_compressor", "prove_lane_order"]


@dataclass(frozen=True)
class SymmetryProof:
    """Outcome of :func:`prove_lane_order`. It is true in a condition if the order is proved.

    Attributes
    ----------
    name : str
    lanes, compressors, adders : int
        Number of lanes, and of different compressor trees and adders proved.
    failing : str
        The fact that could not be shown; empty if proved.
    """

    name: str
    lanes: int
    compressors: int = 0
    adders: int = 0
    failing: str = ""

    def __bool__(self):
        return not self.failing

    def __str__(self):
        return f"{self.name}, {self.lanes} lanes: " + (
            self.failing or f"proved ({self.compressors} compressor trees, {self.adders} adders)"
        )


# Compressor trees ----------------------------------------------------------------------------------------------------


def _free(m, heights, name="column"):
    """A word of free bits for each column, and the bits of the words."""
    words = [Signal(height, name=f"{name}_{k}") if height else Const(0, 0) for k, height in enumerate(heights)]
    return [w for w in words if isinstance(w, Signal)], [list(word) if len(word) else [] for word in words]


def prove_compressor(compress, columns, **options):
    """Check that the rows that ``compress(p, columns, **options)`` returns have the sum of the columns.

    The check is modulo 2 to the power of the number of columns.

    Parameters
    ----------
    compress : callable, see :func:`~..arith.bits.compress`
    columns : list of list of (bit or anything, arrival)
        The arrivals must equal the arrivals of the tree to be proved. Free bits replace its bits.

    Returns
    -------
    str: the fact that could not be shown; empty if proved.
    """
    m, size = Module(), len(columns)
    ports, bits = _free(m, [len(column) for column in columns])
    given = [
        [(bit, arrival) for bit, (_, arrival) in zip(free, column, strict=True)]
        for free, column in zip(bits, columns, strict=True)
    ]
    rows = compress(Pipeline(m), given, **options)
    if len(rows) != size or any(len(row) > 2 for row in rows):
        return "there are more than two rows, or columns are missing"
    outputs = []
    for k, column in enumerate(rows):
        for n, (bit, _) in enumerate(column):
            outputs.append(Signal(1, name=f"row_{n}_{k}"))
            m.d.comb += outputs[-1].eq(bit)
    netlist = read_netlists({"tree": (m, [*ports, *outputs])})["tree"]
    terms = Terms()
    found = terms.outputs(netlist)
    modulus = 1 << size

    form: Any = {}
    for k, column in enumerate(rows):
        for n in range(len(column)):
            _add(form, found[f"row_{n}_{k}"][0], 1 << k, modulus)
    form = _without_adders(terms, form, modulus)
    wanted: Any = {}
    for k, column in enumerate(columns):
        for n in range(len(column)):
            _add(wanted, terms.number("input", f"column_{k}", n), 1 << k, modulus)
    if form == wanted:
        return ""
    other = next(iter(sorted(set(form.items()) ^ set(wanted.items()))))
    return f"the sum of the rows is not that of the columns (at {terms.keys()[other[0]]})"


def _add(form, term, value, modulus):
    value = (form.get(term, 0) + value) % modulus
    if value:
        form[term] = value
    else:
        form.pop(term, None)


def _without_adders(terms, form, modulus):
    """The same linear form, with inputs of adders in place of their outputs."""
    keys, half = terms.keys(), modulus >> 1
    adders = []  # sum, carry (0 if there is none), inputs
    for total, key in enumerate(keys):
        if key[0] != "xor":
            continue
        _, x, y = key
        adders.append((total, terms.known("and", x, y) or 0, (x, y)))
        for inner, third in ((x, y), (y, x)):
            if keys[inner][0] == "xor":
                _, a, b = keys[inner]
                both, through = terms.known("and", a, b), terms.known("and", min(inner, third), max(inner, third))
                if both is not None and through is not None:
                    if carry := terms.known("or", min(both, through), max(both, through)):
                        adders.append((total, carry, (a, b, third)))
    # From the last adder to the first. One output of an adder may appear in the form before the other one does.
    adders.sort(reverse=True)
    replaced = True
    while replaced:
        replaced, left = False, []
        for total, carry, inputs in adders:
            weight = form.get(total, 0)
            if weight and (weight == half if not carry else (2 * weight) % modulus == form.get(carry, 0)):
                form.pop(total)
                form.pop(carry, None)
                for term in inputs:
                    _add(form, term, weight, modulus)
                replaced = True
            else:
                left.append((total, carry, inputs))
        adders = left
    # Replace remaining inverters by 1 - x.
    for term in sorted(form, reverse=True):
        if keys[term][0] == "not":
            weight = form.pop(term)
            _add(form, 1, weight, modulus)
            _add(form, keys[term][1], -weight, modulus)
    return form


# Adders --------------------------------------------------------------------------------------------------------------


def prove_adders(add_rows, calls, *, timeout_s=120):
    """Check that ``add_rows(m, columns, **options)`` is the sum of the columns, for each tuple of ``calls``.

    A tuple is ``(columns, options)``.

    Returns
    -------
    list of :class:`Verdict`
    """
    questions = {}
    for number, (columns, options) in enumerate(calls):
        size = len(columns)
        heights = [len(column) for column in columns]
        operands = {f"column_{k}": height for k, height in enumerate(heights) if height}
        if "carry" in options:
            operands["carry"] = 1

        def function(p, *words, columns=columns, options=options, operands=operands):
            named = dict(zip(operands, words, strict=True))
            given = [
                [(named[f"column_{k}"][n], arrival) for n, (_, arrival) in enumerate(column)]
                for k, column in enumerate(columns)
            ]
            if "carry" in options:
                options = {**options, "carry": (named["carry"], options["carry"][1])}
            return Cat(*add_rows(p, given, **options))

        def specification(result, size=size, heights=heights, **words):
            total = f"(_ bv0 {size})"
            for row in range(2):
                bits = [
                    f"((_ extract {row} {row}) {words[f'column_{k}']})" if heights[k] > row else "#b0"
                    for k in reversed(range(size))
                ]
                total = f"(bvadd {total} (concat {' '.join(bits)}))" if size > 1 else f"(bvadd {total} {bits[0]})"
            if "carry" in words:
                carry = f"((_ zero_extend {size - 1}) {words['carry']})" if size > 1 else words["carry"]
                total = f"(bvadd {total} {carry})"
            return f"(= {result} {total})"

        questions[f"adder {number}"] = (_plain(function), operands, specification, None)
    return prove_operators(questions, timeout_s=timeout_s)


def _plain(function):
    """The function as an operator without registers."""

    def build(m, *operands, depth=0):
        return function(m, *operands)

    return build


def prove_adder(add_rows, columns, options=None, *, timeout_s=120):
    """Check one adder, see :func:`prove_adders`. Returns a :class:`Verdict`."""
    (verdict,) = prove_adders(add_rows, [(columns, options or {})], timeout_s=timeout_s)
    return verdict


# Order of lanes ------------------------------------------------------------------------------------------------------


def prove_lane_order(function, operands, options=None, *, name=None, timeout_s=120):
    """Prove that an operator gives the same result for every order of its lanes.

    Parameters
    ----------
    function : operator
        Its module may use :func:`~..arith.bits.compress` and :func:`~..arith.bits.add_rows` under these names.
    operands : mapping of name to width, or to a list of widths: the operands with a value for each lane
        All lists must have the same length. They are permuted together.
    options : dict
        Further arguments of ``function``.

    Returns
    -------
    :class:`SymmetryProof`
    """
    lanes = {len(widths) for widths in operands.values() if isinstance(widths, list)}
    if len(lanes) != 1:
        raise ValueError(f"Operands must have the same number of lanes, not {sorted(lanes)}")
    (count,) = lanes
    module = sys.modules[function.__module__]
    facts = {"name": name or getattr(function, "__name__", "operator"), "lanes": count}

    trees: Any = {}
    adders: Any = {}
    if hasattr(module, "compress") and hasattr(module, "add_rows"):
        with _recorded(module, trees, adders):
            m, _, _ = operator_module(function, operands, options or {})
            m._MustUse__silence = True
    facts |= {"compressors": len(trees), "adders": len(adders)}
    for columns, given in trees.values():
        if failing := prove_compressor(module.compress, columns, **given):
            return SymmetryProof(**facts, failing=f"compressor tree '{given.get('name', '')}': {failing}")
    if adders:
        for verdict in prove_adders(module.add_rows, list(adders.values()), timeout_s=timeout_s):
            if not verdict:
                return SymmetryProof(**facts, failing=str(verdict))

    with _abstracted(module) if trees else nullcontext():
        m, ports, _ = operator_module(function, operands, options or {})
    netlist = read_netlists({"sums": (m, ports)})["sums"]
    terms = Terms()

    def results(permuted):
        def rename(port, position):
            operand, _, lane = port.rpartition("_")
            if isinstance(operands.get(operand), list):
                return operand, permuted(int(lane)), position
            return port, position

        return terms.outputs(netlist, rename)

    plain = results(lambda lane: lane)
    swapped = results(lambda lane: {0: 1 % count, 1: 0}.get(lane, lane))
    moved = results(lambda lane: (lane + 1) % count)
    for what, other in (("exchanging lanes 0 and 1", swapped), ("moving all lanes by one", moved)):
        for port, bits in plain.items():
            for position, (a, b) in enumerate(zip(bits, other[port], strict=True)):
                if a != b:
                    return SymmetryProof(**facts, failing=f"{what} is not seen to leave '{port}[{position}]' the same")
    return SymmetryProof(**facts)


@contextmanager
def _recorded(module, trees, adders):
    """Record the compressor trees and adders that a generator builds, one of each shape."""
    compress, add_rows = module.compress, module.add_rows

    def shape(columns):
        return tuple(tuple(arrival for _, arrival in column) for column in columns)

    def tree(p, columns, **options):
        trees.setdefault(
            (shape(columns), tuple(sorted(options.items()))),
            ([[(None, t) for _, t in column] for column in columns], options),
        )
        return compress(p, columns, **options)

    def adder(m, columns, **options):
        kept = {k: v for k, v in options.items() if k not in ("carry", "name")}
        if options.get("carry") is not None:
            kept["carry"] = None, options["carry"][1]
        adders.setdefault(
            (shape(columns), tuple(sorted(kept.items()))),
            ([[(None, t) for _, t in column] for column in columns], kept),
        )
        return add_rows(m, columns, **options)

    with mock.patch.object(module, "compress", tree), mock.patch.object(module, "add_rows", adder):
        yield


@contextmanager
def _abstracted(module):
    """Replace a compressor tree and the adder behind it by a cell that gives their sum.

    The adder may be one of several blocks. Each block takes the carry of the block below, and its bits are bits of the
    sum. The rows between tree and adder, and the carries between blocks, become unknown signals. So the proof fails if
    other logic uses them.
    """
    add_rows, totals = module.add_rows, []

    def tree(p, columns, *, name="tree", **_):
        bits = [(bit, k) for k, column in enumerate(columns) for bit, _ in column]
        size = len(columns)
        unknown = Signal(2 * size, name=f"{name}_rows")
        total = Signal(len(columns), name=f"{name}_total")
        weights = {f"p_w{n}": Const(k, 32) for n, (_, k) in enumerate(bits)}
        p.module.submodules += Instance(
            WEIGHTED_SUM, i_i=Cat(bit for bit, _ in bits), o_o=total, o_opaque=unknown, **weights
        )
        result = [[(bit, 0)] for bit in unknown[:size]]
        totals.append((result, total, list(unknown[size:])))
        return result

    def adder(m, columns, **options):
        carry, _ = options.get("carry") or (None, 0)
        carries_out = len(columns) > 1 and not columns[-1]
        block = columns[:-1] if carries_out else columns
        for rows, total, carries in totals:
            low = next((k for k, row in enumerate(rows) if block[0] and block[0][0] is row[0]), None)
            if low is None or carry is not (carries[low] if low else None):
                continue
            high = low + len(block)
            if (
                carries_out == (high < len(rows))
                and high <= len(rows)
                and all(
                    len(column) == 1 and column[0] is row[0] for column, row in zip(block, rows[low:high], strict=True)
                )
            ):
                return [*total[low:high], *([carries[high]] if carries_out else [])]
        return add_rows(m, columns, **options)

    with mock.patch.object(module, "compress", tree), mock.patch.object(module, "add_rows", adder):
        yield
