"""Bench of ``cent-cxl-link``: two ends with a line between them, every message and every flit compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np

from ...constraints.cent.cxl_link import DATA_BYTES, FLIT_BYTES, CxlLinkConfig, CxlLinkResult, MessageClass
from ...constraints.core.contract import Port
from ...models.cent.cxl import FlitCodec, Flits
from ..bench.campaign import Campaign, Played, Stimulus, play_stimulus, streams
from ..bench.request import SimRequest
from ..bench.streams import Items, StreamRun

__all__ = ["LinkRig", "Outcome", "bench", "lines_text", "random_messages", "seen_flits", "simulate", "vector"]

#: Ends of the line.
ENDS = ("a", "b")

#: Messages of an end by class, each an array of payloads.
Messages = Mapping[MessageClass, np.ndarray]


@lru_cache
def _template() -> Any:
    import jinja2

    text = resources.files(__package__).joinpath("cxl_lines.sv.j2").read_text()
    return jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    ).from_string(text)


def lines_text(**values: Any) -> str:
    """Verilog of a bench around ends of CXL links."""
    return str(
        _template().render(
            {
                "devices": 0,
                "slot_bits": 1,
                "memory_bits": 1,
                "place_bits": 1,
                "node_bits": 1,
                "port": "",
                "switch": "",
                "link": "",
                "whole": [],
                "device": "",
                **values,
            }
        )
    )


@dataclass(frozen=True)
class LinkRig:
    """Two ends. With ``seen`` the bench sees each beat of the line, and holds it up with stalls."""

    config: CxlLinkConfig
    seen: bool = True

    def ports(self) -> tuple[Port, ...]:
        own = [port for port in self.config.ports() if port.name not in ("rx", "tx")]
        return (
            *(Port(f"{end}_{port.name}", port.flow, port.layout, port.meaning) for end in ENDS for port in own),
            *(
                Port(f"line_{end}", "out", self.config.beat_layout, "a beat that the end sends, seen")
                for end in ENDS
                if self.seen
            ),
        )

    def verilog(self, unit: str, top: str) -> str:
        """Text of module ``top``_bench, with two units of module ``top`` in it."""
        own = [port.name for port in self.config.ports() if port.name not in ("rx", "tx")]
        ends = [
            (end, [*((name, f"{end}_{name}", 0) for name in own), ("rx", f"rx_{end}", 0), ("tx", f"tx_{end}", 0)])
            for end in ENDS
        ]
        lines = [(f"tx_{end}", f"rx_{other}", f"line_{end}") for end, other in zip(ENDS, ENDS[::-1], strict=True)]
        return unit + lines_text(
            top=top,
            ports=streams(self),
            shown=[port.name for port in self.ports()],
            lines=lines,
            ends=ends,
            link=top,
            beat_bits=self.config.beat_layout.bits,
        )


def seen_flits(config: CxlLinkConfig, played: Played, name: str) -> Flits:
    """Flits that passed on a line. Whole flits, and zeros where nothing is, are required."""
    codec, beats = FlitCodec(config), played.run.outputs[name]
    whole = len(beats) // config.beats
    rows = beats[: whole * config.beats].reshape(whole, FLIT_BYTES)
    flits = codec.decode(rows)
    wrong = np.flatnonzero((codec.encode(flits) != rows).any(axis=1))
    played.require(not len(wrong), f"{name}: flit {wrong[0] if len(wrong) else 0} has bits that belong to no field")
    used = flits.kinds.any(axis=1) | flits.acked.any(axis=1) | flits.credits.any(axis=1)
    played.require(bool(used.all()), f"{name}: a flit with nothing in it")
    played.require(not flits.messages[flits.kinds == 0].any(), f"{name}: a place without a message is not empty")
    played.require(not flits.acks[~flits.acked].any(), f"{name}: a place without an acknowledgement is not empty")
    played.vectors += whole
    return flits


@dataclass
class Outcome(Played):
    """Outcome of episodes; ``flits``: by end that sends them, if they were seen."""

    flits: dict[str, Flits] = field(kw_only=True)


def simulate(
    config: CxlLinkConfig,
    verilog: str,
    episodes: Sequence[Mapping[str, Messages]],
    *,
    top: str = "cent_cxl_link",
    **options: Any,
) -> Outcome:
    """Send the messages of episodes from both ends, and compare what the other end gives, and every flit.

    Parameters
    ----------
    verilog : text of the unit, generated for ``config``
    episodes : for each end that sends something its messages by class
    options : as of :func:`play_stimulus`, and the same errors
    """
    rig = LinkRig(config, "power_up" not in options)
    blocks: dict[str, list[Items]] = {f"{end}_send_{kind.name.lower()}": [] for end in ENDS for kind in MessageClass}
    expected: dict[str, list[np.ndarray]] = {
        f"{end}_got_{kind.name.lower()}": [] for end in ENDS for kind in MessageClass
    }
    for number, episode in enumerate(episodes):
        for end, other in zip(ENDS, ENDS[::-1], strict=True):
            for kind in MessageClass:
                empty = np.zeros((0, config.layout(kind).payload_bytes), np.uint8)
                payload = episode.get(end, {}).get(kind, empty)
                blocks[f"{end}_send_{kind.name.lower()}"].append(Items.of(payload, epoch=number))
                expected[f"{other}_got_{kind.name.lower()}"].append(payload)
    targets = {name: np.array([len(part) for part in parts]) for name, parts in expected.items()}
    if rig.seen:
        targets |= {f"line_{end}": np.zeros(len(episodes), np.int64) for end in ENDS}
    stimulus = Stimulus(
        {name: Items.join(parts) for name, parts in blocks.items()},
        {name: np.concatenate(parts) for name, parts in expected.items()},
        targets,
    )
    played = play_stimulus(rig, rig.verilog(verilog, top), f"{top}_bench", stimulus, **options)
    outcome = Outcome(**vars(played), flits={})
    if rig.seen:
        for end, other in zip(ENDS, ENDS[::-1], strict=True):
            outcome.flits[end] = flits = seen_flits(config, outcome, f"line_{end}")
            for kind in MessageClass:
                size = config.layout(kind).payload_bytes
                right = stimulus.expected[f"{other}_got_{kind.name.lower()}"]
                found = flits.of(kind)
                if kind is MessageClass.REQ:  # nothing is where data would be
                    outcome.require(not found[:, size:].any(), f"line_{end}: a REQ with data")
                    found = found[:, :size]
                outcome.require(np.array_equal(found, right), f"line_{end}: other {kind.name} than were sent")
        for end, other in zip(ENDS, ENDS[::-1], strict=True):
            for kind in MessageClass:
                outcome.require(
                    outcome.flits[end].credits[:, kind].sum() <= len(outcome.flits[other].of(kind)),
                    f"line_{end}: more credits of {kind.name} than messages",
                )
    return outcome


# Stimulus -------------------------------------------------------------------------------------------------------------


def vector(config: CxlLinkConfig, count: int, rng: np.random.Generator) -> np.ndarray:
    """Payloads of ``count`` writes of a transfer."""
    layout = config.data_layout
    return layout.rows(
        layout.word(
            last=n == count - 1,
            source=1,
            targets=2,
            address=n % (1 << config.address_bits),
            data=int.from_bytes(rng.bytes(DATA_BYTES), "little"),
        )
        for n in range(count)
    )


def random_messages(config: CxlLinkConfig, count: int, rng: np.random.Generator) -> dict[MessageClass, np.ndarray]:
    """Payloads of up to ``count`` messages of every class: any bits."""
    out = {}
    for kind in MessageClass:
        layout, size = config.layout(kind), int(rng.integers(count + 1))
        raw = rng.integers(0, 256, (size, layout.payload_bytes), np.uint8)
        if layout.bits % 8:
            raw[:, -1] &= (1 << layout.bits % 8) - 1
        out[kind] = raw
    return out


def stress(config: CxlLinkConfig, rng: np.random.Generator, count: int) -> list[dict[str, Messages]]:
    most = 3 * max(config.credits.values())
    return [{end: random_messages(config, most, rng) for end in ENDS} for _ in range(count)]


# Bench ----------------------------------------------------------------------------------------------------------------


def _payload(flits: Flits, kind: MessageClass, first: int, count: int) -> tuple[int, int]:
    """Flits from the first to behind the last of ``count`` messages of a class, up to the message that follows."""
    of = np.r_[flits.flit_of(kind), len(flits.kinds)]
    return int(of[first]), int(of[min(first + count, len(of) - 1)])


def _beat_cycle(run: StreamRun, name: str, beat: int) -> int:
    return int(run.output_cycles[name][beat])


def bench(request: SimRequest) -> CxlLinkResult:
    """Run the whole bench of ``cent-cxl-link``:

    - a vector from one end to the other
    - vectors in both directions, with as many acknowledgements
    - a single write
    - random messages of all classes, with stalls of every stream and of the line
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    count = request.workload.bytes // DATA_BYTES
    campaign = Campaign(
        request, lambda episodes, **options: simulate(config, request.verilog, episodes, top=request.module, **options)
    )
    rwd, ndr = MessageClass.RWD, MessageClass.NDR

    def acks() -> np.ndarray:
        layout = config.ack_layout
        return layout.pack(tag=np.arange(count) % (1 << config.tag_bits), source=np.ones(count, np.int64))

    def one() -> Messages:
        return {rwd: vector(config, 1, rng)}

    both = {end: {rwd: vector(config, count, rng), ndr: acks()} for end in ENDS}
    full = campaign.run(
        "full_rate",
        [{"a": {rwd: vector(config, count, rng)}}, both, {end: one() for end in ENDS}, {"a": one()}],
        "vectors",
        waves=True,
    )
    campaign.stress(lambda count: stress(config, rng, count), 16)

    run, flits = full.run, full.flits
    first, end = _payload(flits["a"], rwd, 0, count)
    parts = [_payload(flits["a"], rwd, count, count), _payload(flits["b"], rwd, 0, count)]
    exchanged = sum(stop - start for start, stop in parts)
    sent = flits["a"].flit_of(rwd)[-1]
    offered = int(run.epochs[3].first["a_send_rwd"][0])
    got = int(run.output_cycles["b_got_rwd"][-1])
    ends = _beat_cycle(run, "line_a", int(sent) * config.beats + -(-80 // config.beat_bytes) - 1)
    cycles = int(run.output_cycles["b_got_rwd"][count - 1]) - int(run.epochs[0].first["a_send_rwd"][0]) + 1
    ideal = FlitCodec(config).fewest(count) * config.beats
    return campaign.result(
        CxlLinkResult,
        cycles=cycles,
        ideal_cycles=ideal,
        utilisation=round(ideal / cycles, 6),
        flits=end - first,
        payload_percent=round(100 * count * DATA_BYTES / ((end - first) * FLIT_BYTES), 4),
        exchange_percent=round(100 * 2 * count * DATA_BYTES / (exchanged * FLIT_BYTES), 4),
        message_clocks=got - offered,
        pack_clocks=_beat_cycle(run, "line_a", int(sent) * config.beats) - offered,
        unpack_clocks=got - ends,
    )
