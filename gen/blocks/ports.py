"""Ports of a unit in Amaranth, from its contract: shapes of payloads, and members of a signature."""

from functools import lru_cache

from amaranth.lib import data, enum, stream
from amaranth.lib.wiring import In, Out

__all__ = ["kinds", "members", "payload"]


@lru_cache
def kinds(values, bits):
    """Amaranth enumeration of ``bits`` bits with the names of a field's values (:class:`enum.IntEnum`)."""
    bases = (enum.Enum,)
    space = enum.EnumType.__prepare__(values.__name__, bases, shape=bits)
    for one in values:
        space[one.name] = one.value
    return enum.EnumType(values.__name__, bases, space, shape=bits)


def payload(layout):
    """Shape of a payload (:class:`bankside.constraints.core.contract.Layout`): bits, or a structure of its fields."""
    if layout.is_plain:
        return layout.bits
    return data.StructLayout(
        {field.name: kinds(field.kinds, field.bits) if field.kinds else field.bits for field in layout.fields}
    )


def members(ports):
    """Members of a component's signature: a stream or a signal for every :class:`bankside.constraints.core.contract.Port`."""
    return {
        port.name: (In if port.is_input else Out)(
            stream.Signature(payload(port.layout)) if port.stream else payload(port.layout)
        )
        for port in ports
    }
