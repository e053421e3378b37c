"""Ports of AXI4 and AXI4-Lite in a unit's contract, and fields of a unit's registers.

Names and widths follow the AMBA AXI protocol specification. Names begin with the name of the bus, as tools for FPGAs
expect: ``m_axi_araddr``.
"""

from __future__ import annotations

from typing import NamedTuple

from .contract import Layout, Port

__all__ = ["Register", "axi4_ports", "axi_lite_ports"]


class Register(NamedTuple):
    """A field of registers on AXI4-Lite.

    Attributes
    ----------
    offset : byte address of its word; a field of more than 32 bits goes on in the next words
    access : ``rw``, ``ro``, ``w1c`` (write 1 to clear) or ``pulse`` (a written 1 lasts a clock)
    low : its lowest bit in the word
    """

    name: str
    offset: int
    bits: int
    access: str
    low: int = 0
    reset: int = 0
    description: str = ""


_ADDRESS = {
    "addr": "address of the first byte",
    "len": "words of the burst less one",
    "size": "bytes of a word, as log2",
    "burst": "kind of burst",
    "lock": "0",
    "cache": "kind of memory",
    "prot": "0",
    "qos": "0",
}
_FIXED = {"len": 8, "size": 3, "burst": 2, "lock": 1, "cache": 4, "prot": 3, "qos": 4}
_CHANNELS = {
    "aw": "address of a write",
    "w": "word of a write",
    "b": "answer of a write",
    "ar": "address of a read",
    "r": "word of a read",
}


def _port(prefix: str, flow: str, channel: str, name: str, bits: int, meaning: str) -> Port:
    return Port(
        f"{prefix}_{channel}{name}",
        "out" if flow == "out" else "in",
        Layout.plain(bits),
        f"{_CHANNELS[channel]}: {meaning}",
        stream=False,
    )


def _handshake(prefix: str, channel: str, out: bool) -> list[Port]:
    there, back = ("out", "in") if out else ("in", "out")
    return [_port(prefix, there, channel, "valid", 1, "offered"), _port(prefix, back, channel, "ready", 1, "taken")]


def axi4_ports(prefix: str, address_bits: int, data_bits: int, id_bits: int) -> tuple[Port, ...]:
    """Ports of a manager on AXI4."""
    out: list[Port] = []
    identified = [("id", id_bits, "identifier")] if id_bits else []

    def address(channel: str) -> None:
        for name, bits, meaning in (*identified, *((n, _FIXED.get(n, address_bits), m) for n, m in _ADDRESS.items())):
            out.append(_port(prefix, "out", channel, name, bits, meaning))
        out.extend(_handshake(prefix, channel, True))

    def rest(channel: str, flow: str, parts: list[tuple[str, int, str]]) -> None:
        out.extend(_port(prefix, flow, channel, *part) for part in parts)
        out.extend(_handshake(prefix, channel, flow == "out"))

    address("aw")
    data, last, response = ("data", data_bits, "data"), ("last", 1, "last of a burst"), ("resp", 2, "response")
    rest("w", "out", [data, ("strb", data_bits // 8, "bytes to write"), last])
    rest("b", "in", [*identified, response])
    address("ar")
    rest("r", "in", [*identified, data, response, last])
    return tuple(out)


def axi_lite_ports(prefix: str, address_bits: int) -> tuple[Port, ...]:
    """Ports of a subordinate on AXI4-Lite with words of 32 bits."""
    address = [("addr", address_bits, "address of a byte"), ("prot", 3, "not used")]
    parts = {
        "aw": ("in", address),
        "w": ("in", [("data", 32, "data"), ("strb", 4, "bytes to write")]),
        "b": ("out", [("resp", 2, "response")]),
        "ar": ("in", address),
        "r": ("out", [("data", 32, "data"), ("resp", 2, "response")]),
    }
    out: list[Port] = []
    for channel, (flow, fields) in parts.items():
        out.extend(_port(prefix, flow, channel, *field) for field in fields)
        out.extend(_handshake(prefix, channel, flow == "out"))
    return tuple(out)
