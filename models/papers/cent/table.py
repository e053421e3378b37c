"""Results of the authors' artifact at every position, in the columns of its ``simulation_results.csv``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ...llm import load_model
from ...systems import load_system
from ...systems.cent import CentSystem
from ..ahead import side_by_side

__all__ = ["COLUMNS", "CONFIGURATIONS", "Configuration", "groups", "results", "rows", "system_of"]

COLUMNS = (
    "Model",
    "Device number",
    "Pipeline parallelism",
    "Tensor parallelism",
    "Channels per device",
    "Channels per block",
    "Sequence length",
    "PIM latency",
    "CXL latency",
    "Acc latency",
    "TransformerBlock latency",
    "Embedding latency",
    "Token latency (ms)",
    "Throughput (tokens/s)",
    "Token energy (mJ)",
    "Total power (W)",
    "Device utilization",
)

#: Models by the names that the authors give them.
NAMES = {"Llama2-7B": "llama-2-7b", "Llama2-13B": "llama-2-13b", "Llama2-70B": "llama-2-70b"}


class Configuration(NamedTuple):
    model: str
    devices: int
    pipeline: int
    tensor: int
    more: tuple[int, ...] = ()  # contexts beyond 4096

    def positions(self) -> list[int]:
        return [*range(1, 4097), *self.more]


#: All 19.
CONFIGURATIONS = (
    Configuration("Llama2-13B", 20, 40, 1),
    Configuration("Llama2-70B", 32, 80, 1, (6400, 14592, 30976)),
    Configuration("Llama2-70B", 32, 32, 1),
    Configuration("Llama2-13B", 20, 20, 1),
    Configuration("Llama2-7B", 8, 32, 1),
    Configuration("Llama2-7B", 8, 8, 1),
    *(Configuration("Llama2-70B", 32, 32 // t, t) for t in (2, 4, 8, 16, 32)),
    *(Configuration("Llama2-13B", 20, 20 // t, t) for t in (2, 4, 5, 10, 20)),
    *(Configuration("Llama2-7B", 8, 8 // t, t) for t in (2, 4, 8)),
)


def system_of(one: Configuration) -> CentSystem:
    """The system of a configuration, under the quirks of the authors' simulator."""
    system = load_system(
        "cent",
        {
            "device.count": one.devices,
            "parallelism.pipeline": one.pipeline,
            "parallelism.tensor": one.tensor,
            "quirks": "cent-simulator",
        },
    )
    assert isinstance(system, CentSystem)
    return system


def rows(one: Configuration, positions: Iterable[int] | None = None) -> list[tuple[object, ...]]:
    """Rows of a configuration, one for each position."""
    system, model = system_of(one), load_model(NAMES[one.model])
    channels, share = system.channels(model), system.utilised(model) / system.devices
    out: list[tuple[object, ...]] = []
    for tokens in one.positions() if positions is None else positions:
        point = system.point(model, tokens)
        energy = sum(point.energy_pj.values())
        seconds = point.pim_s * (model.layers / one.pipeline)
        out.append(
            (
                one.model,
                one.devices,
                one.pipeline,
                one.tensor,
                32,
                channels,
                tokens,
                point.pim_s * 1e3,
                point.cxl_s * 1e3,
                point.acc_s * 1e3,
                point.block_s * 1e3,
                point.embedding_s * 1e3,
                point.token_s * 1e3,
                1 / point.period_s,
                energy * 1e-9,
                energy * 1e-12 / seconds,
                share,
            )
        )
    return out


def _text(one: Configuration, positions: Sequence[int] | None = None) -> str:
    return "".join(",".join(map(str, row)) + "\n" for row in rows(one, positions))


def groups(configurations: Sequence[Configuration]) -> list[tuple[Configuration, ...]]:
    """Configurations that a process computes one after the other, the costly groups first. Blocks of a model that have
    all channels of a device share parts of their programs, whose times the process looks up."""
    out: dict[tuple[str, int], list[Configuration]] = {}
    for one in configurations:
        out.setdefault((one.model, one.devices if one.pipeline <= one.devices else -one.pipeline), []).append(one)
    return sorted((tuple(group) for group in out.values()), key=len, reverse=True)


def _texts(group: Sequence[Configuration], positions: Sequence[int] | None = None) -> list[str]:
    return [_text(one, positions) for one in group]


def results(
    progress: Callable[[str], None] = lambda text: None,
    configurations: Sequence[Configuration] = CONFIGURATIONS,
    processes: int | None = None,
    positions: Sequence[int] | None = None,
) -> str:
    """All rows as CSV. :func:`groups` of configurations are computed side by side, one for each core.

    ``positions``: tokens of the rows, in place of 1 to 4096 and the contexts beyond.
    """
    together = groups(configurations)
    parts = side_by_side(_texts, together, [positions] * len(together), progress=progress, processes=processes)
    texts = {
        one: text for group, made in zip(together, parts, strict=True) for one, text in zip(group, made, strict=True)
    }
    return ",".join(COLUMNS) + "\n" + "".join(texts[one] for one in configurations)
