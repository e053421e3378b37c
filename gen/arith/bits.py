"""Adders, compressor trees and counters, described bit by bit, because synthesis would choose slower structures.

Arrival times control all of them. Their unit is a gate delay (about a NAND of two inputs). They only rank alternatives.
"""

from typing import Any

from amaranth import *

__all__ = [
    "AND",
    "XOR",
    "add_rows",
    "booth_products",
    "carries",
    "compress",
    "leading_zero_count",
    "partial_products",
    "product_columns",
]

#: Delay of a DSP block's multiplier, and of a carry chain of a few dozen bits, on an FPGA.
DSP, CHAIN = 14, 6

#: Delay of an AND or OR, of an exclusive OR or multiplexer, and of an AND-OR.
AND, XOR, AND_OR = 1.0, 2.0, 1.5


def wire(m, value, name):
    """A named signal for a value, so that a value used in several places exists only once."""
    signal = Signal(Value.cast(value).shape(), name=name)
    m.d.comb += signal.eq(value)
    return signal


# Compressor trees ----------------------------------------------------------------------------------------------------


def partial_products(m, a, b, *, arrivals=None, name="product"):
    """Columns of the unsigned product ``a * b`` for :func:`compress`: column k holds the bits of weight 2**k.

    ``arrivals``: arrival times of the bits of ``a`` and of ``b``, as two lists; 0 if not given.
    """
    times_a, times_b = arrivals or ([0] * len(a), [0] * len(b))
    columns: Any = [[] for _ in range(len(a) + len(b))]
    for i in range(len(a)):
        for j in range(len(b)):
            bit = wire(m, a[i] & b[j], f"{name}_{i}_{j}")
            columns[i + j].append((bit, max(times_a[i], times_b[j]) + AND))
    return columns


def booth_products(m, a, b, *, total=None, arrivals=None, name="product"):
    """Columns of the product ``a * b`` with half as many rows: ``b`` is recoded into digits -2 .. 2.

    This is radix-4 recoding after Booth and MacSorley. There are ``total`` columns, ``len(a) + len(b)`` by default.
    They add up to ``a * b`` modulo ``2**total``. Carries out of the last column mean nothing.
    """
    times_a, times_b = arrivals or ([0] * len(a), [0] * len(b))
    width, total = len(a), len(a) + len(b) if total is None else total
    columns: Any = [[] for _ in range(total)]
    constant = 0
    digit = [Const(0, 1), *b, Const(0, 1), Const(0, 1)]
    digit_times = [0, *times_b, 0, 0]
    for low in range(0, len(b) + 1, 2):
        below, here, above = digit[low : low + 3]
        signed = low + 1 < len(b)
        ready = max(digit_times[low : low + 3])
        label = f"{name}_{low}"
        one = wire(m, here ^ below, f"{label}_one")
        two = wire(m, (above ^ here) & ~one, f"{label}_two")
        if low >= len(b):  # only `below`: the digit is 0 or 1
            for k in range(width):
                columns[low + k].append((wire(m, a[k] & below, f"{label}_{k}"), max(times_a[k], ready) + AND))
            break
        for k in range(width + 1):
            if low + k >= total:
                break
            terms = []
            if k < width:
                terms.append(a[k] & one)
            if k:
                terms.append(a[k - 1] & two)
            bit = terms[0] | terms[1] if len(terms) > 1 else terms[0]
            late = max(max(times_a[max(k - 1, 0) : k + 1], default=0), ready + XOR + AND) + AND_OR
            if signed and k:
                bit, late = bit ^ above, late + XOR
            bit = wire(m, bit, f"{label}_{k}")
            columns[low + k].append((bit, late))
            if signed and not k and low + 1 < total:
                # Minus is complement plus one: the lowest bit stays the same, and there is a carry if it is 0.
                columns[low + 1].append((wire(m, above & ~bit, f"{label}_minus"), late + AND))
        if signed:
            # The sign bit has minus the weight of the next place. Its complement and a constant replace it.
            if low + width + 1 < total:
                columns[low + width + 1].append((wire(m, ~above, f"{label}_positive"), ready + AND))
                constant -= 1 << (low + width + 1)
    for k in range(total):
        if constant >> k & 1:
            columns[k].append((Const(1, 1), 0))
    return columns


def product_columns(p, a, b, *, booth, total=None, arrivals=None, name="product"):
    """Columns of the product ``a * b`` for :func:`compress`, in the way of the pipeline's fabric.

    Gates: rows of partial products, with recoding if ``booth``. FPGA: one row, the output of DSP blocks, with a place
    for registers behind the multiplier. A place for registers at the inputs and the outputs is the caller's part.

    There are ``total`` columns, ``len(a) + len(b)`` by default. Without recoding, further columns are empty.
    """
    size = len(a) + len(b) if total is None else total
    if p.fabric == "xilinx":
        p.whole_product = a * b
        p.cut(DSP)
        columns = [[(bit, 0)] for bit in p.whole_product]
    elif booth:
        return booth_products(p.module, a, b, total=total, arrivals=arrivals, name=name)
    else:
        columns = partial_products(p.module, a, b, arrivals=arrivals, name=name)
    return [*columns, *([] for _ in range(size - len(columns)))]


def _chained(p, columns, name, step):
    """Sum of columns in carry chains: a tree of ``+`` over rows. Every column then has one bit."""
    rows = [
        Cat(column[k][0] if k < len(column) else Const(0, 1) for column in columns)
        for k in range(max(map(len, columns), default=0))
    ]
    level = 0
    while len(rows) > 1:
        for k in range(0, len(rows) - 1, 2):
            p[f"{name}_{level}_{k // 2}"] = (rows[k] + rows[k + 1])[: len(columns)]
        names = [f"{name}_{level}_{k}" for k in range(len(rows) // 2)]
        if len(rows) % 2:
            p[f"{name}_{level}_{len(names)}"] = rows[-1]
            names.append(f"{name}_{level}_{len(names)}")
        if step and len(names) > 1:
            p.cut(CHAIN)
        rows, level = [p[one] for one in names], level + 1
    return [[(bit, 0)] for bit in rows[0]] if rows else [[] for _ in columns]


def compress(p, columns, *, name="tree", step=None, cut_from=0.0):
    """Reduce columns of bits to at most two bits each, with full adders and few half adders.

    In a pipeline for an FPGA, carry chains add the columns up, and each has at most one bit afterwards.

    Every adder takes the earliest bits of its column. The latest of these bits enters at the input with the shortest
    path (Oklobdzija, Villeger and Liu 1996). So no column waits for bits that a later adder could take.

    Parameters
    ----------
    p : :class:`Pipeline`
    columns : list of list of ``(bit, arrival)``
        Bits of weight ``2**k`` in column k.
    name : str
        Prefix of the signals.
    step : float or None
        Cut the pipeline into equal parts of about this number of gate delays, from ``cut_from`` on. There is no cut at
        the end. None: no cuts.

    Returns
    -------
    list of list of ``(bit, arrival)``, as long as ``columns``. Carries out of the last column are dropped.
    """
    if p.fabric == "xilinx":
        return columns if all(len(column) < 2 for column in columns) else _chained(p, columns, name, step)
    times: Any
    adders, values, times = [], {}, []
    work: Any = []
    for column in columns:
        work.append([])
        for bit, arrival in column:
            values[len(times)] = bit
            work[-1].append(len(times))
            times.append(arrival)

    def new(time):
        times.append(time)
        return len(times) - 1

    for place, column in enumerate(work):
        carried = work[place + 1] if place + 1 < len(work) else []
        while len(column) > 2:
            column.sort(key=lambda bit: (times[bit], bit))
            odd = len(column) == 3
            inputs = column[: 2 if odd else 3]
            early, late = times[inputs[-2 if not odd else 0]], times[inputs[-1]]
            if odd:
                sum_time, carry_time = late + XOR, late + AND
            else:
                sum_time = max(early + 2 * XOR, late + XOR)
                carry_time = max(early + XOR + AND_OR, late + AND_OR)
            outputs = new(sum_time), new(carry_time)
            adders.append((inputs, outputs))
            column[: len(inputs)] = [outputs[0]]
            carried.append(outputs[1])

    # Adders in order of time. All bits that are needed behind a cut go through the pipeline as one word.
    def build(inputs, outputs):
        index = outputs[0]
        a, b, *c = (values[bit] for bit in inputs)
        half = wire(p.module, a ^ b, f"{name}_x{index}")
        if c:
            values[outputs[0]] = wire(p.module, half ^ c[0], f"{name}_s{index}")
            values[outputs[1]] = wire(p.module, (a & b) | (half & c[0]), f"{name}_c{index}")
        else:
            values[outputs[0]] = half
            values[outputs[1]] = wire(p.module, a & b, f"{name}_c{index}")

    ends = {bit for column in work for bit in column}
    pending = sorted(adders, key=lambda adder: (max(times[bit] for bit in adder[1]), adder[1]))
    boundary, number = float("inf"), 0
    if step:
        span = max([times[bit] for bit in ends], default=0) - cut_from
        step = span / max(round(span / step), 1)
        boundary = cut_from + step + 0.1
    while pending:
        if max(times[bit] for bit in pending[0][1]) > boundary:
            needed = sorted((ends | {bit for inputs, _ in pending for bit in inputs}) & values.keys())
            p[f"{name}_{number}"] = Cat(*(values[bit] for bit in needed))
            p.cut(round(step))
            word = p[f"{name}_{number}"]
            values = {bit: word[k] for k, bit in enumerate(needed)}
            boundary, number = boundary + step, number + 1
            continue
        build(*pending.pop(0))
    return [[(values[bit], times[bit]) for bit in column] for column in work]


# Carries -------------------------------------------------------------------------------------------------------------


def carries(m, generate, propagate, *, wanted=None, limit=None, name="carry"):
    """Carries out of bit positions, with a prefix network that is as small as the time allows.

    Carries ripple as long as they meet the time ``limit``. Where they would be late, groups of bits are combined ahead.
    An earlier ``limit`` needs more groups. The earliest one gives a Ladner-Fischer adder. Without ``limit``, the
    carries come as early as possible.

    Parameters
    ----------
    generate, propagate : list of ``(bit, arrival)``
        Bits of each position, the least significant first. A generate bit that is always 0 is None.
    wanted : iterable of int
        Positions whose carry out is wanted; all by default.
    limit : float or None
        Time at which the carries should be ready.

    Returns
    -------
    dict of position to ``(carry, arrival)``
    """
    size = len(generate)
    wanted = range(size) if wanted is None else sorted(wanted)
    earliest = {}

    def soonest(high, low):
        """Earliest time of the group from ``low`` to ``high``, and the position where it splits."""
        if (high, low) not in earliest:
            if high == low:
                earliest[high, low] = max(generate[high][1] if generate[high] else 0, propagate[high][1]), None
            else:
                earliest[high, low] = min(
                    (max(soonest(high, k)[0], soonest(k - 1, low)[0]) + AND_OR, -k) for k in range(low + 1, high + 1)
                )
        return earliest[high, low]

    bound = max(soonest(k, 0)[0] for k in wanted)
    limit = bound if limit is None else max(limit, bound)
    groups = {(k, k): (soonest(k, k)[0], None) for k in range(size)}  # planned groups: time, position of the split

    def plan(high, low, required):
        """Plan a group for the time ``required``. Returns its arrival."""
        if (high, low) in groups and groups[high, low][0] <= required:
            return groups[high, low][0]
        inner = required - AND_OR
        for k in range(high, low, -1):
            if soonest(high, k)[0] <= inner and soonest(k - 1, low)[0] <= inner:
                known = groups.get((k - 1, low))
                if known is None or known[0] > inner:
                    # Use only a carry that exists already, or the plain ripple, so that high bits share low groups.
                    if low == 0 and k - 1 in done and done[k - 1] > inner:
                        continue
                time = max(plan(high, k, inner), plan(k - 1, low, inner)) + AND_OR
                groups[high, low] = time, k
                return time
        k = -soonest(high, low)[1]
        time = max(plan(high, k, inner), plan(k - 1, low, inner)) + AND_OR
        groups[high, low] = time, k
        return time

    done = {}
    for k in wanted:
        done[k] = plan(k, 0, limit)

    built = {}

    def build(high, low):
        if high == low:
            return generate[high][0] if generate[high] else None, propagate[high][0]
        if (high, low) not in built:
            split = groups[high, low][1]
            (g, q), (g_low, q_low) = build(high, split), build(split - 1, low)
            label = f"{name}_{high}_{low}"
            if g_low is None:
                together = g
            elif g is None:
                together = wire(m, q & g_low, f"{label}_g")
            else:
                together = wire(m, g | (q & g_low), f"{label}_g")
            built[high, low] = together, wire(m, q & q_low, f"{label}_p") if low else None
        return built[high, low]

    return {k: (build(k, 0)[0], groups[k, 0][0]) for k in wanted}


def add_rows(m, columns, *, carry=None, limit=None, name="sum", fabric="asic"):
    """Sum of two rows, given as columns of at most two bits, as :func:`compress` returns them.

    Parameters
    ----------
    columns : list of list of ``(bit, arrival)``
    carry : ``(bit, arrival)`` or None
        Carry into the first column.
    limit : float or None
        See :func:`carries`.
    fabric : str
        ``xilinx``: one ``+`` in place of a prefix network.

    Returns
    -------
    list of bit, one for each column. The carry out of the last column is dropped.
    """
    if fabric == "xilinx":
        if carry is None and all(len(column) < 2 for column in columns):
            return [column[0][0] if column else Const(0, 1) for column in columns]
        one, other = (Cat(column[k][0] if k < len(column) else Const(0, 1) for column in columns) for k in range(2))
        into = Const(0, 1) if carry is None else carry[0]
        # The carry enters below the first column, so that there is one chain.
        total = wire(m, (Cat(Const(1, 1), one) + Cat(into, other))[1 : len(columns) + 1], name)
        return [total[k] for k in range(len(columns))]
    generate, propagate, half = [], [], []
    for k, column in enumerate(columns):
        if len(column) == 2:
            (a, time_a), (b, time_b) = column
            late = max(time_a, time_b)
            both = wire(m, a & b, f"{name}_g{k}")
            either = wire(m, a ^ b, f"{name}_x{k}")
            generate.append((both, late + AND))
            propagate.append((either, late + XOR))
        else:
            generate.append(None)
            propagate.append(column[0] if column else (Const(0, 1), 0))
        half.append(propagate[-1][0])
    if carry is not None:
        generate.insert(0, carry)
        propagate.insert(0, (Const(0, 1), 0))
    shift = int(carry is not None)
    first = next((k for k, g in enumerate(generate) if g), len(generate))
    last = len(generate) - 1
    found = {}
    if first < last:
        found = carries(m, generate[first:last], propagate[first:last], limit=limit, name=name)
    bits = []
    for k, x in enumerate(half):
        into = k + shift - 1 - first
        bits.append(wire(m, x ^ found[into][0], f"{name}_{k}") if into >= 0 else x)
    return bits


def leading_zero_count(m, bits, *, name="zeros"):
    """Number of zeros above the highest one of the value ``bits``, and whether there is a one.

    Returns ``(count, any)``. For a value of 0 the count is all ones.
    """
    size = 1 << max(len(bits) - 1, 1).bit_length()
    padded = Cat(Const(0, size - len(bits)), bits)

    def count(low, size):
        part = padded[low : low + size]
        if size == 1:
            return [], part
        half = size // 2
        high_count, high = count(low + half, half)
        low_count, other = count(low, half)
        label = f"{name}_{low}_{size}"
        digits = [
            wire(m, Mux(high, *pair), f"{label}_{k}") for k, pair in enumerate(zip(high_count, low_count, strict=True))
        ]
        return [*digits, wire(m, ~high, f"{label}_n")], wire(m, high | other, f"{label}_any")

    digits, found = count(0, size)
    return Cat(*digits), found
