"""Workloads: requests with their lengths and arrival times, by name, from files of other simulators, or drawn.

Every draw takes its own stream of a seeded generator, so inputs, outputs and arrivals do not disturb each other. The
same seed gives the same requests whatever else is asked for.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...constraints.core.document import load, parse_json
from ...constraints.core.errors import ConfigError, nearest
from ...constraints.core.workspace import reading
from ...constraints.workloads import FILES, MAX_TOKENS, ArrivalSpec, Beta, Fixed, LogNormal, Quantiles, WorkloadSpec

__all__ = [
    "FORMATS",
    "Workload",
    "arrival_times",
    "draw",
    "load_workload",
    "read_requests",
    "sample_lengths",
    "workload_names",
    "write_requests",
]

#: Largest number of bytes in a line. A JSON line may carry the tokens themselves.
LONGEST = 1 << 24

#: Largest number of requests of a workload.
MAX_REQUESTS = 20_000_000

#: Latest arrival, in seconds: whole nanoseconds are exact up to here.
MAX_SECONDS = 4e6


@dataclass(frozen=True)
class Workload:
    """Requests in the order in which they were given.

    Attributes
    ----------
    name : :class:`str`
        Name or file.
    arrival_s : array of float
        Seconds from the start.
    prompt, output : array of int
        Tokens of each request; both at least 1.
    channel : array of int or None
        Memory channel that a NeuPIMs file assigns.
    timed : :class:`bool`
        Whether arrival times are given. Without them all requests arrive at once.
    synthetic : :class:`bool`
        Whether the lengths rest on more than published numbers.
    source : :class:`str`
    """

    name: str
    arrival_s: np.ndarray
    prompt: np.ndarray
    output: np.ndarray
    channel: np.ndarray | None = None
    timed: bool = False
    synthetic: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        sizes = {len(self.arrival_s), len(self.prompt), len(self.output)}
        if len(sizes) != 1:
            raise ConfigError(f"{self.name}: arrivals, prompts and outputs must be equally many, not {sorted(sizes)}")
        for what, values in (("prompt", self.prompt), ("output", self.output)):
            if len(values) and not 1 <= values.min() <= values.max() <= MAX_TOKENS:
                raise ConfigError(f"{self.name}: {what} tokens must be 1 to {MAX_TOKENS}")
        if len(self.arrival_s) and not 0 <= self.arrival_s.min() <= self.arrival_s.max() <= MAX_SECONDS:
            raise ConfigError(f"{self.name}: arrivals must be 0 to {MAX_SECONDS:g} seconds")

    def __len__(self) -> int:
        return len(self.prompt)

    def first(self, count: int) -> Workload:
        """The first ``count`` requests; all of them if there are fewer."""
        channel = None if self.channel is None else self.channel[:count]
        return replace(
            self,
            arrival_s=self.arrival_s[:count],
            prompt=self.prompt[:count],
            output=self.output[:count],
            channel=channel,
        )

    def arriving(self, spec: ArrivalSpec | None, seed: int = 1) -> Workload:
        """The same requests with arrivals drawn from ``spec``; all at once if it is None."""
        times = np.zeros(len(self)) if spec is None else arrival_times(len(self), spec, seed)
        return replace(self, arrival_s=times, timed=spec is not None)


# ---- Drawing --------------------------------------------------------------------------------------------------------


def workload_names() -> list[str]:
    """Names of the built-in workloads."""
    return list(FILES)


def load_workload(name_or_path: str | os.PathLike[str]) -> WorkloadSpec:
    """A built-in workload (``-`` and ``_`` are alike), or one from a YAML file.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such workload, or its file does not satisfy the schema (with file and line).
    """
    name = os.fspath(name_or_path)
    path = FILES.get(name.strip().lower().replace("-", "_"))
    if path is None:
        if not name.endswith((".yaml", ".yml")):
            raise ConfigError(f"{nearest('workload', name, FILES)}, or give the path of a file")
        path = Path(name)
    return load(path, WorkloadSpec, "a workload file")


def draw(name_or_path: str | os.PathLike[str], count: int, seed: int = 1, *, timed: bool = True) -> Workload:
    """``count`` requests of a workload. They arrive as the workload says, if it has arrivals and ``timed`` is true.
    Otherwise they arrive all at once."""
    if not 1 <= count <= MAX_REQUESTS:
        raise ConfigError(f"requests must be 1 to {MAX_REQUESTS}, not {count}")
    spec = load_workload(name_or_path)
    output = sample_lengths(spec.output, count, _stream(seed, 1))
    most = None
    if spec.total_at_most is not None:
        output = np.minimum(output, spec.total_at_most - 1)
        most = spec.total_at_most - output
    prompt = sample_lengths(spec.input, count, _stream(seed, 0), most)
    out = Workload(
        os.fspath(name_or_path), np.zeros(count), prompt, output, synthetic=spec.synthetic, source=spec.source
    )
    return out.arriving(spec.arrivals, seed) if timed and spec.arrivals is not None else out


def sample_lengths(spec: Any, count: int, rng: np.random.Generator, most: np.ndarray | None = None) -> np.ndarray:
    """Whole numbers of tokens from a distribution of :mod:`bankside.constraints.workloads`, by its inverse if it has one.

    ``most`` cuts the distribution from above, separately for each draw.
    """
    if isinstance(spec, Fixed):
        values = np.full(count, float(spec.tokens))
    elif isinstance(spec, Beta):
        span = spec.high - spec.low
        mean, variance = (spec.mean - spec.low) / span, (spec.sd / span) ** 2
        size = mean * (1 - mean) / variance - 1
        values = spec.low + span * rng.beta(mean * size, (1 - mean) * size, count)
    else:
        shares, tokens = _inverse(spec)
        uniform = rng.random(count)
        if most is not None:
            # Only the part of the distribution below the cut: as if draws beyond the cut were repeated.
            rising = np.concatenate(([True], np.diff(tokens) > 0))
            uniform = uniform * np.interp(most, tokens[rising], shares[rising])
        values = np.interp(uniform, shares, tokens)
    lengths = np.maximum(np.floor(values + 0.5), 1).astype(np.int64)
    return lengths if most is None else np.minimum(lengths, most)


def arrival_times(count: int, spec: ArrivalSpec, seed: int = 1) -> np.ndarray:
    """Seconds at which ``count`` requests arrive. The first arrives after one interval, as in a process that already
    runs."""
    rng = _stream(seed, 2)
    if spec.cv == 0:
        gaps = np.ones(count)
    elif spec.cv == 1:
        gaps = rng.exponential(1.0, count)
    else:
        shape = 1 / spec.cv**2
        gaps = rng.gamma(shape, 1 / shape, count)
    return np.cumsum(gaps) / spec.rate


def _stream(seed: int, number: int) -> np.random.Generator:
    return np.random.default_rng([seed, number])


def _inverse(spec: Any) -> tuple[np.ndarray, np.ndarray]:
    """Points of the inverse of the distribution function; straight lines connect them."""
    if isinstance(spec, Quantiles):
        table = np.asarray(spec.points)
        return table[:, 0], table[:, 1]
    if isinstance(spec, LogNormal):
        tokens, density = _log_normal(spec, _log_mean(spec))
        shares = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2)))
        return shares / shares[-1], tokens
    return np.array([0.0, 1.0]), np.array([spec.low, spec.high])


def _log_normal(spec: LogNormal, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """Tokens at equal distances of their logarithm, and the density there up to a factor."""
    logs = np.linspace(math.log(spec.low), math.log(spec.high), 4097)
    exponent = -0.5 * ((logs - mu) / spec.ln_sd) ** 2
    tokens = np.exp(logs)
    tokens[[0, -1]] = spec.low, spec.high
    return tokens, np.exp(exponent - exponent.max())


def _log_mean(spec: LogNormal) -> float:
    """Mean of the logarithm before the cut that gives the stated mean after the cut. It lies far outside the range if
    the stated mean is near an end of the range."""
    far = 1e4 * spec.ln_sd**2 + 10 * spec.ln_sd
    low, high = math.log(spec.low) - far, math.log(spec.high) + far
    for _ in range(70):
        middle = (low + high) / 2
        tokens, density = _log_normal(spec, middle)
        low, high = (middle, high) if np.average(tokens, weights=density) < spec.mean else (low, middle)
    return (low + high) / 2


# ---- Files ----------------------------------------------------------------------------------------------------------

Row = tuple[float, int, int, int]  # arrival in seconds (-1: not given), prompt, output, channel (-1: not given)


@dataclass(frozen=True)
class FileFormat:
    """How a file holds requests.

    Attributes
    ----------
    name, title : for people
    matches : whether a first line is of this format
    rows : numbered lines to requests; raises :exc:`ValueError` on a line that is broken, after it was yielded ``None``
    lines : requests to lines
    example : lines of a file
    """

    name: str
    title: str
    matches: Callable[[str], bool]
    reader: Callable[[Iterator[str]], Iterator[Row | None]]
    writer: Callable[[Workload], Iterator[str]]
    example: tuple[str, ...]


def read_requests(
    path: str | os.PathLike[str], form: str | None = None, *, output_tokens: int = 128, limit: int = MAX_REQUESTS
) -> Workload:
    """Requests of a file (gzip too), read line by line. Without ``form``, the first line decides the format.

    Parameters
    ----------
    output_tokens : :class:`int`
        Output tokens of each request, for formats that have no outputs (``neupims``).
    limit : :class:`int`
        Stop after so many requests.

    Raises
    ------
    :exc:`ConfigError`
        If the file can't be read or is empty. If a line is broken, the message has ``file:line``.
    """
    if form is not None and form not in FORMATS:
        raise ConfigError(nearest("format of requests", form, FORMATS))
    lines = _lines(path)
    number, first = next(((n, text) for n, text in lines if text.strip()), (0, ""))
    if not number:
        raise ConfigError(f"{path}: no request in the file")
    if form is None:
        form = next((name for name, one in FORMATS.items() if one.matches(first)), None)
        if form is None:
            raise ConfigError(f"{path}:{number}: of no known format: {_short(first)} (valid: {', '.join(FORMATS)})")
    arrivals: list[float] = []
    prompts: list[int] = []
    outputs: list[int] = []
    channels: list[int] = []

    def rest() -> Iterator[str]:
        nonlocal number
        yield first
        for n, text in lines:
            number = n
            if text.strip():
                yield text

    try:
        for row in FORMATS[form].reader(rest()):
            if row is None:
                continue
            arrival, prompt, output, channel = row
            if not 1 <= prompt <= MAX_TOKENS:
                raise ValueError(f"input tokens must be 1 to {MAX_TOKENS}, not {prompt}")
            output = output_tokens if output < 0 else output
            if not 1 <= output <= MAX_TOKENS:
                raise ValueError(f"output tokens must be 1 to {MAX_TOKENS}, not {output}")
            if arrival != -1 and not 0 <= arrival <= MAX_SECONDS:
                raise ValueError(f"arrival must be 0 to {MAX_SECONDS:g} seconds, not {arrival:g}")
            if (arrival == -1) != (bool(arrivals) and arrivals[0] == -1) and arrivals:
                raise ValueError("all requests must have an arrival time, or none")
            arrivals.append(arrival)
            prompts.append(prompt)
            outputs.append(output)
            channels.append(channel)
            if len(prompts) >= limit:
                break
    except ValueError as error:
        raise ConfigError(f"{path}:{number}: {error}") from None
    if not prompts:
        raise ConfigError(f"{path}: no request in the file")
    timed = arrivals[0] != -1
    return Workload(
        os.fspath(path),
        np.array(arrivals if timed else np.zeros(len(prompts)), float),
        np.array(prompts, np.int64),
        np.array(outputs, np.int64),
        np.array(channels, np.int64) if channels[0] >= 0 else None,
        timed=timed,
        source=f"{os.fspath(path)} ({form})",
    )


def write_requests(workload: Workload, form: str) -> Iterator[bytes]:
    """Lines of a file of this format, some thousand at a time. The format may have no place for some data; they are
    left out."""
    if form not in FORMATS:
        raise ConfigError(nearest("format of requests", form, FORMATS))
    block: list[str] = []
    for line in FORMATS[form].writer(workload):
        block.append(line)
        if len(block) == 4096:
            yield ("\n".join(block) + "\n").encode()
            block.clear()
    if block:
        yield ("\n".join(block) + "\n").encode()


def _lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Lines with their numbers. A line that is not text or is too long raises an error that names it."""
    number = 0
    with reading(path, "a file of requests", compressed=True) as file:
        while line := file.readline(LONGEST + 1):
            number += 1
            if len(line) > LONGEST:
                raise ConfigError(f"{path}:{number}: more than {LONGEST} bytes in a line")
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                raise ConfigError(f"{path}:{number}: not UTF-8 text") from None


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _whole(text: str, what: str) -> int:
    text = text.strip()
    if re.fullmatch(r"[+-]?[0-9]{1,18}(\.0*)?", text):
        return int(text.partition(".")[0])
    raise ValueError(f"{what} must be a whole number, not {_short(text)}")


def _seconds(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{what} must be a number of seconds, not {_short(text.strip())}")
    if value < 0:
        raise ValueError(f"{what} must not be negative, not {value:g}")
    return value


# LLMServingSim: an object in each line, arrivals in nanoseconds.


def _json_rows(lines: Iterator[str]) -> Iterator[Row | None]:
    for line in lines:
        try:
            request = parse_json(line, "", numbered=False)
        except ConfigError as error:
            raise ValueError(str(error).removeprefix(": ")) from None
        if not isinstance(request, dict):
            raise ValueError(f"a request is an object with input_toks and output_toks, not {_short(line.strip())}")
        if "sub_requests" in request:
            raise ValueError("sessions of sub_requests are not supported; give their requests one by one")
        prompt, output = (_json_number(request, key, int) for key in ("input_toks", "output_toks"))
        arrival = (
            -1.0 if request.get("arrival_time_ns") is None else _json_number(request, "arrival_time_ns", float) / 1e9
        )
        if arrival < 0 and "arrival_time_ns" in request and request["arrival_time_ns"] is not None:
            raise ValueError(f"arrival_time_ns must not be negative, not {request['arrival_time_ns']}")
        if output < 1:
            raise ValueError(f"output tokens must be 1 to {MAX_TOKENS}, not {output}")
        yield arrival, prompt, output, -1


def _json_number(request: dict[str, Any], key: str, kind: type) -> Any:
    if key not in request:
        raise ValueError(f"no key '{key}'; found {', '.join(map(str, list(request)[:8])) or 'none'}")
    value = request[key]
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not abs(value) < 1 << 62
        or kind is int
        and value != int(value)
    ):
        raise ValueError(f"{key} must be a {'whole ' if kind is int else ''}number, not {_short(json.dumps(value))}")
    return kind(value)


def _json_lines(w: Workload) -> Iterator[str]:
    for arrival, prompt, output in zip(w.arrival_s.tolist(), w.prompt.tolist(), w.output.tolist(), strict=True):
        yield json.dumps({"input_toks": prompt, "output_toks": output, "arrival_time_ns": round(arrival * 1e9)})


# Tables with a header.


def _table(
    lines: Iterator[str], needed: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Iterator[dict[str, str] | None]:
    """Rows by column name; ``None`` for the header."""
    header: list[str] | None = None
    for line in lines:
        try:
            fields = next(csv.reader([line]))
        except csv.Error as error:
            raise ValueError(f"not a row of a table: {error}") from None
        if header is None:
            header = [field.strip() for field in fields]
            for name in needed:
                if name not in header:
                    raise ValueError(
                        f"no column '{name}' in the header; found {', '.join(_short(field) for field in header[:8])}"
                    )
            yield None
        elif len(fields) != len(header):
            raise ValueError(f"{len(fields)} columns, the header has {len(header)}")
        else:
            row = dict(zip(header, fields, strict=True))
            yield {name: row[name] for name in (*needed, *optional) if name in row}


def _vidur_rows(lines: Iterator[str]) -> Iterator[Row | None]:
    for row in _table(lines, ("num_prefill_tokens", "num_decode_tokens"), ("arrived_at",)):
        yield (
            None
            if row is None
            else (
                _seconds(row["arrived_at"], "arrived_at") if "arrived_at" in row else -1.0,
                _whole(row["num_prefill_tokens"], "num_prefill_tokens"),
                _at_least_one(_whole(row["num_decode_tokens"], "num_decode_tokens")),
                -1,
            )
        )


def _at_least_one(output: int) -> int:
    if output < 1:
        raise ValueError(f"output tokens must be 1 to {MAX_TOKENS}, not {output}")
    return output


def _vidur_lines(w: Workload) -> Iterator[str]:
    yield "arrived_at,num_prefill_tokens,num_decode_tokens"
    for arrival, prompt, output in zip(w.arrival_s.tolist(), w.prompt.tolist(), w.output.tolist(), strict=True):
        yield f"{arrival!r},{prompt},{output}"


def _neupims_rows(lines: Iterator[str]) -> Iterator[Row | None]:
    for row in _table(lines, ("seq_len",), ("ch_idx",)):
        channel = -1 if row is None or "ch_idx" not in row else _whole(row["ch_idx"], "ch_idx")
        if row is not None and "ch_idx" in row and channel < 0:
            raise ValueError(f"ch_idx must not be negative, not {channel}")
        yield None if row is None else (-1.0, _whole(row["seq_len"], "seq_len"), -1, channel)


def _neupims_lines(w: Workload) -> Iterator[str]:
    yield "seq_len,ch_idx"
    channel = np.zeros(len(w), int) if w.channel is None else w.channel
    for length, place in zip(w.prompt.tolist(), channel.tolist(), strict=True):
        yield f"{length},{place}"


def _pair_rows(lines: Iterator[str]) -> Iterator[Row | None]:
    for number, line in enumerate(lines):
        fields = line.split("\t")
        if number == 0 and any(field.strip() and field.strip()[0].isalpha() for field in fields):
            yield None
            continue
        if len(fields) != 2:
            raise ValueError(f"a line is input tokens, a tab, output tokens, not {_short(line)}")
        yield -1.0, _whole(fields[0], "input tokens"), _at_least_one(_whole(fields[1], "output tokens")), -1


def _pair_lines(w: Workload) -> Iterator[str]:
    yield "input_toks\toutput_toks"
    for prompt, output in zip(w.prompt.tolist(), w.output.tolist(), strict=True):
        yield f"{prompt}\t{output}"


#: Formats of request files by name, in the order in which they are tried.
FORMATS: dict[str, FileFormat] = {
    one.name: one
    for one in (
        FileFormat(
            "jsonl",
            "LLMServingSim: an object a line, arrivals in ns",
            lambda line: line.lstrip().startswith("{"),
            _json_rows,
            _json_lines,
            ('{"input_toks": 183, "output_toks": 299, "arrival_time_ns": 31250000}',),
        ),
        FileFormat(
            "vidur",
            "vidur: CSV, arrivals in s",
            lambda line: "num_prefill_tokens" in line,
            _vidur_rows,
            _vidur_lines,
            ("arrived_at,num_prefill_tokens,num_decode_tokens", "0.03125,183,299"),
        ),
        FileFormat(
            "neupims",
            "NeuPIMs: CSV of contexts and channels; no outputs",
            lambda line: "seq_len" in line and "\t" not in line,
            _neupims_rows,
            _neupims_lines,
            ("seq_len,ch_idx", "482,7"),
        ),
        FileFormat(
            "tsv",
            "pairs of input and output tokens with a tab between",
            lambda line: "\t" in line,
            _pair_rows,
            _pair_lines,
            ("input_toks\toutput_toks", "183\t299"),
        ),
    )
}
