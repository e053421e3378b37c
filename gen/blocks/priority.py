"""Finds the first of many requests, in logarithmic depth."""

from amaranth import *

__all__ = ["lowest"]


def lowest(m, requests, name):
    """Find the lowest bit of ``requests`` that is 1, with a balanced tree.

    A chain of ``If`` from the highest bit to the lowest makes the same choice. But synthesis leaves it a chain, and its
    path has one gate per request.

    Parameters
    ----------
    m : :class:`Module`
    requests : value-like
        At least one bit.
    name : :class:`str`
        Prefix of the names of the tree's signals.

    Returns
    -------
    number : value of ``(len(requests) - 1).bit_length()`` bits
        Number of that bit; 0 if there is no request.
    found : value of one bit
        Whether there is a request.

    Raises
    ------
    :exc:`ValueError`
        If ``requests`` has no bits.
    """
    requests = Value.cast(requests)
    if not len(requests):
        raise ValueError("Requests must have at least one bit")
    level, places = 0, [(Const(0, 0), bit) for bit in requests]
    while len(places) > 1:
        if len(places) % 2:
            places.append((Const(0, level), Const(0, 1)))
        above = []
        for n, ((low, in_low), (high, in_high)) in enumerate(zip(places[::2], places[1::2], strict=True)):
            number, found = Signal(level + 1, name=f"{name}_{level}_{n}"), Signal(name=f"{name}_found_{level}_{n}")
            # At the lowest level the two numbers have no bits, so there is no Mux: Verilog has no wires of zero bits.
            rest = Mux(in_low, low, high) if level else low
            m.d.comb += [number.eq(Cat(rest, in_high & ~in_low)), found.eq(in_low | in_high)]
            above.append((number, found))
        level, places = level + 1, above
    return places[0]
