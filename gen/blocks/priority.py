"""The first of many requests, in logarithmic depth."""

from amaranth import *

__all__ = ["lowest"]


def lowest(m, requests, name):
    """Number of the lowest bit of ``requests`` that is 1, as a balanced tree.

    A chain of ``If`` from the highest bit to the lowest chooses the same, but synthesis leaves it a chain: as many gates
    one behind the other as there are requests.

    Parameters
    ----------
    m : :class:`Module`
    requests : value-like
        At least one bit.
    name : :class:`str`
        Begins the names of the tree's signals.

    Returns
    -------
    number : value of ``(len(requests) - 1).bit_length()`` bits
        0 if there is no request.
    found : value of one bit
        Whether there is a request.

    Raises
    ------
    :exc:`ValueError`
        If there is no bit to choose among.
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
            # Two requests have no numbers below theirs to choose between: Verilog has no wire of no bits.
            rest = Mux(in_low, low, high) if level else low
            m.d.comb += [number.eq(Cat(rest, in_high & ~in_low)), found.eq(in_low | in_high)]
            above.append((number, found))
        level, places = level + 1, above
    return places[0]
