"""GPUs against whole runs of a serving engine that were timed on such GPUs.

A run makes tokens for a batch of requests with the same prompt. Its kernel time is one prefill and a decode step for each
further token, without anything between kernels. The rest of the measured time is host time: scheduling, sampling, launches
that no graph holds, and memory that is not available to kernels.

A file of runs is YAML. Its key ``cent_gpu_measured`` has runs of vLLM on A100-80GB that CENT's authors published. Under
``latency_s_batch1`` each model has seconds and GPUs. Under ``llama2_70b_batch_latency_s`` each batch has seconds, on four
GPUs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import ConfigDict, Field

from ...constraints.core.document import Strict, parse, read_text, validate
from ...constraints.core.errors import ConfigError
from ..llm import load_model
from .platform import GpuPlatform
from .results import RecordSource

__all__ = ["OUTPUT", "PROMPT", "RULES", "Run", "compare_runs", "read_runs"]

#: Tokens of prompt and output of every run.
PROMPT, OUTPUT = 512, 3584

#: Rules of GPUs, in the order in which they are compared.
RULES = ("measured", "roofline", "attacc-simulator")

#: GPUs of the runs that name only a batch.
_BATCH_GPUS, _BATCH_MODEL = 4, "Llama2-70B"


class _Measured(Strict):
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False, strict=True)

    latency_s_batch1: dict[str, Annotated[tuple[float, int], Field(strict=False)]]
    llama2_70b_batch_latency_s: dict[str, float]


class _Runs(Strict):
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False, strict=True)

    cent_gpu_measured: _Measured


@dataclass(frozen=True)
class Run:
    """A timed run: ``batch`` requests of :data:`PROMPT` and :data:`OUTPUT` tokens on ``gpus`` GPUs took ``seconds``."""

    model: str
    gpus: int
    batch: int
    seconds: float


def read_runs(path: str | os.PathLike[str]) -> list[Run]:
    """The runs of a file.

    Raises
    ------
    :exc:`ConfigError`
        If the file can't be read or has another layout.
    """
    text = os.fspath(path)
    document, lines = parse(read_text(path, "a file of timed runs"), text)
    measured = validate(document, _Runs, text, lines).cent_gpu_measured
    out = [Run(_model(name), gpus, 1, seconds) for name, (seconds, gpus) in measured.latency_s_batch1.items()]
    for batch, seconds in measured.llama2_70b_batch_latency_s.items():
        if not re.fullmatch(r"[1-9]\d{0,5}", batch):
            raise ConfigError(f"{text}: cent_gpu_measured.llama2_70b_batch_latency_s: a key is a batch, not '{batch}'")
        out.append(Run(_model(_BATCH_MODEL), _BATCH_GPUS, int(batch), seconds))
    for run in out:
        if not run.seconds > 0 or run.gpus < 1:
            raise ConfigError(f"{text}: {run.model}, batch {run.batch}: seconds and GPUs must be greater than 0")
    return out


def _model(name: str) -> str:
    """Name of the built-in model that a file calls ``Llama2-7B``."""
    return re.sub(r"^llama(\d)", r"llama-\1", name.lower())


def compare_runs(
    system: GpuPlatform, runs: Sequence[Run], records: RecordSource, progress: Callable[[str], None] = lambda text: None
) -> list[dict[str, Any]]:
    """A row for each run. For each rule it has the seconds of the kernels, their share of the measured time, and the
    milliseconds of host time a step. A run that a rule has no time for says why."""
    rows = []
    for run in runs:
        progress(f"{run.model}, {run.gpus} GPUs, batch {run.batch}")
        by_rule = {rule: _kernels(system, run, rule, records) for rule in RULES}
        rows.append(
            {
                "model": run.model,
                "gpus": run.gpus,
                "batch": run.batch,
                "measured_s": run.seconds,
                "measured_ms_per_step": run.seconds / OUTPUT * 1e3,
                "rules": by_rule,
            }
        )
    return rows


def _kernels(system: GpuPlatform, run: Run, rule: str, records: RecordSource) -> Mapping[str, Any]:
    model, batch = load_model(run.model), run.batch
    out: dict[str, Any] = dict.fromkeys(("prefill_s", "decode_s", "share_of_measured", "host_ms_per_step", "why"))
    try:
        one = system.changed(
            {"gpu.rule": rule, "gpu.count": run.gpus, "parallelism.tensor": run.gpus, "parallelism.pipeline": 1}
        )
        one.check_fits(model, PROMPT, batch, OUTPUT)
        served: Any = one.served(model, records)
        prefill_s = served.prefill_seconds(np.full(batch, PROMPT), np.zeros(batch, np.int64))
        decode_s = float(served.decode_run(np.full(batch, PROMPT + 1), OUTPUT - 1).sum())
    except ConfigError as error:
        return out | {"why": str(error)}
    whole = prefill_s + decode_s
    return out | {
        "prefill_s": prefill_s,
        "decode_s": decode_s,
        "share_of_measured": whole / run.seconds,
        "host_ms_per_step": (run.seconds - whole) / OUTPUT * 1e3,
    }
