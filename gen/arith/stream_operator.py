"""Operators as stream components."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .float_shape import FloatLayout

__all__ = ["StreamOperator"]


class StreamOperator(wiring.Component):
    """An operator between two streams: one result for every item of operands, in order.

    The latency is ``depth`` clock cycles, the throughput one item per cycle. Every stage has a valid bit and moves on
    as soon as the next stage is free. So bubbles close while the output is stalled. ``i.ready`` depends on ``o.ready``
    combinationally. With ``depth`` 0 all outputs depend on the inputs. Where paths must end, put a
    :class:`StreamRegister` behind the operator.

    Parameters
    ----------
    function : operator (see :func:`operator`)
        It is called as ``function(m, *operands, depth=..., enables=..., **options)``, with the bits of the operands in
        the order of ``operands``. It returns the bits of the result, or a tuple in the order of ``results``.
    operands, results : mapping of name to shape-like
        Fields of the payloads. If there is a single field, the payload is this field.
    depth : int
    options : dict
        Further arguments of ``function``.

    Members
    -------
    i : ``In(stream.Signature(operands))``
    o : ``Out(stream.Signature(results))``
    """

    def __init__(self, function, operands, results, *, depth=0, options=None):
        if depth < 0:
            raise ValueError(f"Depth must be 0 or more, not {depth!r}")
        self._function, self._operands, self._results = function, dict(operands), dict(results)
        self._depth, self._options = depth, dict(options or {})
        super().__init__(
            {"i": In(stream.Signature(_payload(self._operands))), "o": Out(stream.Signature(_payload(self._results)))}
        )

    @property
    def latency(self):
        """Clock cycles from the operands to their result, without stalls."""
        return {"result": self._depth}

    def elaborate(self, platform):
        m = Module()
        # Stage k may load if it is empty, or if the next stage takes its content.
        valid, ready = [self.i.valid], [self.o.ready]
        for stage in reversed(range(self._depth)):
            held = Signal(name=f"valid_s{stage + 1}")
            valid.insert(1, held)
            free = Signal(name=f"ready_s{stage + 1}")
            m.d.comb += free.eq(~held | ready[0])
            ready.insert(0, free)
        for stage in range(self._depth):
            with m.If(ready[stage]):
                m.d.sync += valid[stage + 1].eq(valid[stage])
        m.d.comb += self.i.ready.eq(ready[0])
        m.d.comb += self.o.valid.eq(valid[-1])
        self._valid = valid[1:]  # valid bits of all stages, for proofs

        payload = Value.cast(self.i.payload)
        operands, offset = [], 0
        for shape in self._operands.values():
            width = Shape.cast(shape).width
            bits = payload[offset : offset + width]
            operands.append(bits.as_signed() if Shape.cast(shape).signed else bits)
            offset += width
        results = self._function(m, *operands, depth=self._depth, enables=ready[:-1], **self._options)
        m.d.comb += Value.cast(self.o.payload).eq(Cat(results))
        return m


def _payload(fields):
    return next(iter(fields.values())) if len(fields) == 1 else FloatLayout(fields)
