"""Decoding with a real model through a system's arithmetic: ``bankside decode`` and ``bankside capture``."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bankside.constraints.core.document import read_text
from bankside.constraints.core.errors import ConfigError

from ..evidence.records import RecordFolder
from ..hardware.generate import tool_versions
from ..provenance.sources import note_sources
from ..results import decoding as results

if TYPE_CHECKING:
    from bankside.cosim.live.decode import RtlHeads
    from bankside.cosim.live.pam import Waveform
    from bankside.models.decode import Backend, Compared
    from bankside.models.llm import ModelShape
    from bankside.models.llm.weights import Model
    from bankside.models.sparse.recorded import StepSelection
    from bankside.models.systems import Bound, System

__all__ = ["capture_result", "decode_result", "decode_text", "text_tokens"]

#: Bytes of a text file.
TEXT_BYTES = 1 << 26

#: Places along a side of a map of attention.
MAP = 48

#: Most spans of a step's time line. A step with more shows its first layers only.
SPANS = 400

#: Cycles before and behind the first result of a step in RTL for which payloads are given, and at the step's beginning.
CYCLES = 24


def text_tokens(model: Model, file: str, what: str) -> tuple[np.ndarray, str]:
    """Tokens of a text file, and the text."""
    text = read_text(file, what, TEXT_BYTES)
    if not text:
        raise ConfigError(f"{file}: is empty; {what} needs at least one character")
    if model.tokenizer is None:
        raise ConfigError(f"{model.folder}: no tokenizer.json, which turns text into tokens")
    return np.array(model.tokenizer.encode(text, add_special_tokens=False).ids, np.int64), text


def _fits(model: Model, file: str, tokens: int, more: int = 0) -> None:
    most = model.shape.max_context
    if tokens + more > most:
        behind = f" and {more} behind it" if more else ""
        raise ConfigError(
            f"{file}: {tokens} tokens{behind} are beyond the {most} positions that {model.shape.name} was made for"
        )


def step_cost(
    system: str | None, shape: ModelShape, context: int, records: str | None, selected: StepSelection | None = None
) -> tuple[results.StepCost, str]:
    """Time, energy and records of a token's step from the system's model, and a note.

    A single request attends to ``context`` tokens. If the system's model takes runs, the request reads what the last
    token's queries ``selected``. If the system's own split does not fit the model, the fastest split that fits is taken.
    """
    from bankside.models.systems import MissingRecord, load_system

    none = results.StepCost(
        time_per_token_us=None, energy_per_token_mj=None, time_breakdown_us=None, time_line=None, records=[]
    )
    if system is None:
        return none, "no system has the time and energy of this step"
    loaded = load_system(system)
    note_sources(step_cost, type(loaded))
    folder = RecordFolder(records)
    found, problem = [], ""
    for one in (loaded, *loaded.splits(shape)):
        if one.reads_runs:
            one.selected = selected
        try:
            found.append((one, one.evaluate(shape, context=context, batch=1, records=folder), one.bind(shape, folder)))
        except MissingRecord as missing:
            return none, f"no time and energy of the step: {missing}"
        except ConfigError as error:
            problem = problem or str(error)
            continue
        if one is loaded:
            break
    if not found:
        return none, f"no time and energy of the step: {problem}"
    best, result, bound = min(found, key=lambda each: each[1].tpot_ms)
    split = "" if best is loaded else f" with tensor parallelism of {best.tp} and {best.pp} stages"
    load = (
        f"attends to {context} tokens"
        if best.selected is None
        else f"reads the last token's selections among {context} tokens"
    )
    return (
        results.StepCost(
            time_per_token_us=result.tpot_ms * 1e3,
            energy_per_token_mj=result.energy_mj_per_token,
            time_breakdown_us={name: value * 1e3 for name, value in result.breakdown_ms.items()},
            time_line=_time_line(bound, context),
            records=list(bound.sources),
        ),
        f"time and energy are from the model of {best.name}{split}, one request that {load}",
    )


def _time_line(bound: Bound[System], context: int) -> results.DecodeTimeLine:
    """Spans of a step of one request: of all layers, or of the first one if there are too many."""
    view = bound.timeline(context=context, batch=1)
    whole = view.layers == view.of_layers and len(view.spans) <= SPANS
    spans = view.spans if whole else [span for span in view.spans if span.args.get("layer", -1) == 0][:SPANS]
    return results.DecodeTimeLine(
        layers=view.of_layers if whole else 1,
        of_layers=view.of_layers,
        spans=[
            results.DecodeSpan(track=span.track, name=span.name, start_us=span.start_s * 1e6, us=span.seconds * 1e6)
            for span in spans
        ],
    )


def _reads(reads: np.ndarray | None) -> results.DecodeReads | None:
    """What sparse attention reads, by column."""
    from bankside.models.decode.decoder import READS, UNIT_TOKENS
    from bankside.models.program.selected import ROW_TOKENS

    if reads is None:
        return None
    tokens = reads[:, 0].astype(np.int64)
    return results.DecodeReads(
        unit_tokens=UNIT_TOKENS,
        row_tokens=ROW_TOKENS,
        tokens=tokens.tolist(),
        **{name: reads[:, 1 + n].tolist() for n, name in enumerate(READS)},
        units_of_all=(-(-tokens // UNIT_TOKENS)).tolist(),
        rows_of_all=(-(-tokens // ROW_TOKENS)).tolist(),
    )


def _waveform(wave: Waveform | None) -> results.DecodeWaveform | None:
    """Valid and ready of each stream as runs of cycles, and the payloads of some cycles."""
    from bankside.cosim.bench.campaign import streams

    if wave is None:
        return None
    ports = {port.name: port for port in streams(wave.part.config)}
    cycles = max((len(one.valid) for one in wave.streams.values()), default=0)
    starts = [
        int(np.flatnonzero(one.valid)[0])
        for name, one in wave.streams.items()
        if not ports[name].is_input and one.valid.any()
    ]
    windows = [(0, min(CYCLES * 2, cycles))]
    if starts and min(starts) + CYCLES > windows[0][1]:
        windows.append((max(min(starts) - CYCLES, windows[0][1]), min(min(starts) + CYCLES, cycles)))
    rows = []
    for name, one in wave.streams.items():
        at = [cycle for first, end in windows for cycle in range(first, end) if one.valid[cycle]]
        rows.append(
            results.DecodeStream(
                stream=name,
                input=ports[name].is_input,
                valid=_runs(one.valid),
                ready=_runs(one.ready),
                payloads={str(cycle): one.payload[cycle][::-1].tobytes().hex() for cycle in at},
            )
        )
    return results.DecodeWaveform(
        unit=wave.part.module,
        **asdict(wave.named),
        clock_mhz=wave.part.config.clock_mhz,
        clocks=wave.clocks,
        cycles=cycles,
        windows=[list(one) for one in windows],
        streams=rows,
    )


def _runs(bits: np.ndarray) -> list[list[int]]:
    """First cycle and length of each run of ones."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], bits.astype(np.int8), [0]])))
    return [[int(first), int(end - first)] for first, end in zip(edges[::2], edges[1::2], strict=True)]


def decode_result(
    folder: str | None,
    prompt: str,
    system: str,
    *,
    tokens: int | None = None,
    forced: bool = False,
    compared: Sequence[str] = (),
    temperature: float = 0.0,
    seed: int = 1,
    measured: bool = False,
    records: str | None = None,
    rtl: str | None = None,
    rtl_memory: str | None = None,
    rtl_merge: bool = False,
    rtl_accelerator: bool = False,
    progress: Callable[[str], None] = lambda text: None,
    count: Callable[[int, int], None] = lambda done, total: None,
) -> results.Decode:
    """A sequence of tokens on a system, and float32 on the same tokens.

    Parameters
    ----------
    folder : of the model; None: the model of the package
    prompt : file with the text
    tokens : to generate (64); with ``forced``, tokens of the text that are used (all)
    forced : take the tokens of the text, and generate nothing
    compared : further systems, which see the same tokens
    measured : measure the hazards too
    rtl : query heads that the unit's Verilog computes, as :func:`parse_heads` takes them. In a free run they begin with the
        prompt's last token
    rtl_memory : name of a memory at whose cycles keys and values come to that unit
    rtl_merge : put the reduction units of PAM's bank groups in RTL too
    rtl_accelerator : put INF2's whole accelerator in RTL, not its engine alone

    Raises
    ------
    :exc:`ConfigError`
        For a folder without a model, an unusable prompt, or a system that can't take the model.
    :exc:`CheckFailed`
        If the Verilog gives other bits than the model.
    :exc:`ToolMissing`
        If heads are to be in Verilog without a compiler.
    """
    from bankside.models.decode import compare, free_run, make_backend, teacher_forced
    from bankside.models.decode.evaluate import Sampling
    from bankside.models.decode.hazards import hazards
    from bankside.models.llm.captured import model_digest
    from bankside.models.llm.weights import SMALL, read_model
    from bankside.models.sparse.recorded import Recorded

    backend, others = make_backend(system), [make_backend(name) for name in compared]
    model = read_model(SMALL if folder is None else folder)
    note_sources(decode_result, type(backend))
    chosen = None if backend.selection is None else Recorded(backend.selection)
    if chosen is not None:
        backend.selection = chosen
    given, _ = text_tokens(model, prompt, "a prompt")
    more = 0 if forced else 64 if tokens is None else tokens
    if forced:
        given = given[:tokens]
    _fits(model, prompt, len(given), more)
    if forced and len(given) < 2:
        raise ConfigError(f"{prompt}: a text of one token predicts nothing: at least two are needed")
    done = 0

    def one(token: int) -> None:
        nonlocal done
        done += 1
        count(done, more)

    with ExitStack() as stack:
        heads = None
        if rtl is not None:
            heads = stack.enter_context(
                _in_rtl(
                    backend,
                    model,
                    rtl,
                    len(given) + more,
                    0 if forced else len(given) - 1,
                    rtl_memory,
                    rtl_merge,
                    rtl_accelerator,
                    progress,
                )
            )
        if forced:
            progress(system)
            run = teacher_forced(model, backend, given)
        else:
            run = free_run(model, backend, given, more, Sampling(temperature, seed), one)
    rows = []
    for each in others:
        progress(each.name)
        again = teacher_forced(model, each, run.tokens, reference=run)
        rows.append(
            results.DecodeCompared(
                system=each.name,
                **dict(_figures(compare(model, again))),
                attention_error_mean=_finite(float(again.error.mean())),
            )
        )
    found = compare(model, run)
    figures = _figures(found)
    cost, note = step_cost(
        backend.system, model.shape, len(run.tokens), records, None if chosen is None else chosen.step
    )
    details = dict(run.details)
    tiers, by_tier = (details.pop(name, None) for name in ("tiers", "tokens_by_tier"))
    missing = None in (figures.perplexity, figures.kl_mean_nats, figures.max_abs_logit_error)
    return results.Decode(
        model=model.shape.name,
        folder=str(model.folder),
        model_sha256=model_digest(model),
        system=system,
        mode="teacher-forced" if forced else "free",
        interrupted=run.interrupted,
        prompt_tokens=run.prompt,
        temperature=temperature,
        seed=seed,
        tokens=run.tokens.tolist(),
        pieces=[model.tokenizer.decode([token], skip_special_tokens=False) for token in run.tokens.tolist()],
        text=model.tokenizer.decode(run.tokens.tolist(), skip_special_tokens=False),
        **dict(figures),
        reference=results.DecodeReference(
            perplexity=_finite(found.reference_perplexity), bits_per_byte=_finite(found.reference_bits_per_byte)
        ),
        agrees=found.agrees.tolist(),
        attention_error=[[_finite(float(value)) for value in row] for row in run.error],
        attention=results.DecodeMaps(
            dense=_map(run.weights), selected=None if run.selected is None else _map(run.selected)
        ),
        reads=_reads(run.reads),
        placement=None if tiers is None else results.DecodePlacement(tiers=tiers, tokens=by_tier),
        details=details,
        compared=rows,
        hazards=[results.DecodeHazard(**_plain(asdict(one))) for one in hazards(model, run.tokens, run, progress)]
        if measured
        else None,
        rtl=None if heads is None else results.DecodeRtl(**heads.figures(), waveform=_waveform(heads.waveform())),
        **dict(cost),
        notes=[note, *([f"logits of {system} are not all finite numbers, so figures are missing"] if missing else [])],
        tools=tool_versions(),
    )


def _in_rtl(
    backend: Backend,
    model: Model,
    text: str,
    room: int,
    first: int,
    memory: str | None,
    merge: bool,
    accelerator: bool,
    progress: Callable[[str], None],
) -> RtlHeads:
    """Put heads of a backend in RTL. A waveform of a difference goes to ``out/waves``."""
    from bankside.constraints.core.registry import unit as find_unit
    from bankside.cosim.bench.request import Part
    from bankside.cosim.live.decode import RtlHeads
    from bankside.models.decode.checked import answered, parse_heads

    from ..hardware import generate
    from ..hardware.selection import Selection

    def part(unit: str, config: Any) -> Part:
        progress(f"building {unit}")
        selection = Selection(find_unit(unit), None, config)
        return Part(config, generate.verilog(selection), selection.unit.module, generate.latency(selection))

    heads = RtlHeads(
        backend,
        model.shape,
        parse_heads(text, model.shape),
        room,
        part,
        first=first,
        memory=memory,
        merge=merge,
        accelerator=accelerator,
        waves=Path("out/waves"),
    )
    answered(backend, heads.places, heads)
    return heads


def _figures(found: Compared) -> results.DecodeFigures:
    names = results.DecodeFigures.model_fields
    return results.DecodeFigures(**_plain({name: getattr(found, name) for name in names}))


def _finite(value: float) -> float | None:
    """The number; None for infinities and NaN, which JSON does not have."""
    return value if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return _finite(value)
    return {key: _plain(one) for key, one in value.items()} if isinstance(value, Mapping) else value


def _map(weights: np.ndarray) -> list[list[float]]:
    """A square map of at most :data:`MAP` places a side: means of weights over queries, sums over tokens."""
    size = len(weights)
    edges = np.unique(np.linspace(0, size, min(size, MAP) + 1).astype(int))
    rows = np.add.reduceat(weights.astype(np.float64), edges[:-1], axis=0) / np.diff(edges)[:, None]
    return [[round(float(value), 6) for value in row] for row in np.add.reduceat(rows, edges[:-1], axis=1)]


def decode_text(result: results.Decode) -> str:
    """The result for a person."""
    from ..results.words import number

    first, reference, pieces = result.prompt_tokens, result.reference, result.pieces
    lines = ["".join(pieces[:first]) + "|" + "".join(pieces[first:]), ""] if result.mode == "free" else []
    agree = f"{100 * result.agreement:.2f} %" + (
        "" if result.first_difference is None else f", first difference at token {result.first_difference}"
    )
    worst = [
        (value or 0.0, layer, head)
        for layer, row in enumerate(result.attention_error)
        for head, value in enumerate(row)
    ]
    value, layer, head = max(worst)
    lines += [
        f"{result.model} on {result.system}, {len(result.tokens)} tokens, {result.mode}"
        + (", interrupted" if result.interrupted else ""),
        f"perplexity           {number(result.perplexity, 4)} (float32 {number(reference.perplexity, 4)})",
        f"bits per byte        {number(result.bits_per_byte, 4)} (float32 {number(reference.bits_per_byte, 4)})",
        f"greedy agreement     {agree}",
        f"divergence           {number(result.kl_mean_nats, 6)} nats",
        f"largest logit error  {number(result.max_abs_logit_error, 4)}",
        f"attention error      at most {value:.2e}, head {layer}.{head}",
    ]
    if result.time_per_token_us is not None:
        lines.append(f"a token's step       {result.time_per_token_us:.1f} us, {result.energy_per_token_mj:.3f} mJ")
    if (rtl := result.rtl) is not None:
        lines.append(
            f"in RTL               {rtl.heads} head{'' if rtl.heads == 1 else 's'}, {rtl.tokens} tokens, {rtl.clocks} "
            f"clocks, {rtl.clocks_per_second:,.0f} clocks/s, {rtl.mismatches} mismatches"
        )
    lines += [
        f"  {one.system:<20} perplexity {number(one.perplexity, 4)}, agreement {100 * one.agreement:.2f} %, divergence "
        f"{number(one.kl_mean_nats, 6)} nats"
        for one in result.compared
    ]
    for hazard in result.hazards or []:
        figures = ", ".join(
            f"{key.replace('_', ' ')} {number(value, 4) if isinstance(value, float) else value}"
            for key, value in hazard.figures.items()
        )
        lines += [
            f"  {hazard.name}: perplexity {number(hazard.perplexity, 4)} ({hazard.with_it}) against "
            f"{number(hazard.perplexity_without, 4)} ({hazard.without_it})",
            f"    {figures}",
        ]
    return "\n".join([*lines, *result.notes])


def capture_result(folder: str, text: str, output: str, *, tokens: int | None = None) -> results.Capture:
    """Queries, keys and values of a text, and a trace of attention.

    Raises
    ------
    :exc:`ConfigError`
        As :func:`decode_result`.
    """
    from bankside.models.decode.capture import capture, trace_of
    from bankside.models.llm.weights import read_model

    note_sources(capture_result)
    model = read_model(folder)
    found, words = text_tokens(model, text, "a text")
    found = found[:tokens]
    _fits(model, text, len(found))
    digest = hashlib.sha256(words.encode()).hexdigest()
    made = capture(model, found, output, digest)
    trace = Path(output) / "attention.jsonl"
    steps = trace_of(output, trace)
    return results.Capture(
        model=model.shape.name,
        model_sha256=made.model_sha256,
        text_sha256=digest,
        folder=output,
        tokens=len(found),
        layers=model.shape.layers,
        heads=model.shape.heads,
        kv_heads=model.shape.kv_heads,
        head_dim=model.shape.head_dim,
        files=[*made.files, made.path.name, trace.name],
        trace=str(trace),
        steps=steps,
        tools=tool_versions(),
    )
