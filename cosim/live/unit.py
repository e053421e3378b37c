"""A simulation that stays alive: a Verilated unit takes steps from a pipe, with a memory that has a write port.

One process holds the unit's model. A step gives every input stream its items, and says how many items every output stream
must deliver. The clock stands still between steps, so the unit keeps its state. Items lie in the step itself, or in the
memory of a stream, which :meth:`LiveUnit.write` fills at any time. Nothing is restarted or loaded again.

Everything that goes through the pipe is kept in a file. After a difference, a model with tracing plays it again and writes
the waveform of a few cycles.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from ...constraints.core.errors import CheckFailed
from ...constraints.core.workspace import cache_folder
from ..bench.build import build_driver, model_arguments
from ..bench.campaign import CLOCKS_PER_ITEM, PATIENCE, Contracted, streams, streams_alone
from ..bench.streams import Items, StreamPort

if TYPE_CHECKING:
    import jinja2

__all__ = ["Gather", "LiveStep", "LiveUnit", "Recorded", "live_wrapper"]

#: A signal that is always 1, in Verilog.
ONE = "1'b1"


@dataclass(frozen=True)
class Gather:
    """Items for an input stream that lie in the stream's memory.

    Attributes
    ----------
    addresses : integer array, the place of each item
    cycle : first cycle of the step in which each item may be offered; None: from the beginning
    """

    addresses: np.ndarray
    cycle: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.addresses)


@dataclass(frozen=True)
class Recorded:
    """A stream in the first cycles of a step.

    Attributes
    ----------
    valid, ready : bool arrays, one entry a cycle
    payload : uint8 array of shape ``(cycles, payload_bytes)``, zeros where it is not valid
    """

    valid: np.ndarray
    ready: np.ndarray
    payload: np.ndarray


@dataclass(frozen=True)
class LiveStep:
    """The results of a step.

    Attributes
    ----------
    outputs : payloads of each output stream: uint8, shape ``(items, payload_bytes)``
    cycles : the cycle of the step in which each payload was taken
    clocks : length of the step
    recorded : the streams in the cycles that :meth:`LiveUnit.start` was asked to record
    """

    outputs: dict[str, np.ndarray]
    cycles: dict[str, np.ndarray]
    clocks: int
    recorded: dict[str, Recorded]


@dataclass
class _Sent:
    """A command in the file of the pipe: its place and size, and whether it is a step."""

    at: int
    size: int
    step: bool


@cache
def _template() -> jinja2.Template:
    import jinja2

    source = resources.files(__package__).joinpath("live.cpp.j2").read_text()
    return jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    ).from_string(source)


def live_wrapper(config: Contracted, top: str) -> str:
    """Text of the module ``bench`` around the unit. Registers offer the items, so the model computes the unit's logic once
    in a clock. The surroundings take every result at once."""
    declared, inside, pins = ["input wire clk", "input wire rst"], [], [".clk(clk)", ".rst(rst)"]
    for port in streams(config):
        name, bits = port.name, f"[{port.width - 1}:0]"
        if port.is_input:
            declared += [f"input wire {bits} {name}_next", f"input wire {name}_offer", f"output wire {name}_ready"]
            inside.append(
                f"  reg {bits} {name}_payload;\n  reg {name}_valid;\n  always @(posedge clk) begin\n"
                f"    {name}_payload <= {name}_next;\n    {name}_valid <= {name}_offer;\n  end\n"
            )
        else:
            declared += [f"output wire {bits} {name}_payload", f"output wire {name}_valid"]
        pins += [f".{port.port}__{part}({name}_{part})" for part in ("payload", "valid")]
        pins.append(f".{port.port}__ready({f'{name}_ready' if port.is_input else ONE})")
    return f"module bench({', '.join(declared)});\n{''.join(inside)}  {top} unit({', '.join(pins)});\nendmodule\n"


class LiveUnit:
    """A running simulation of a unit. Use it in ``with``: its process ends with the block, also on errors and Ctrl-C.

    Parameters
    ----------
    config : whatever has the unit's ports
    verilog, top : text generated for it, and its module

    Attributes
    ----------
    clocks, steps, seconds : of all steps so far; seconds are processor time of the steps in the simulation
    """

    def __init__(self, config: Contracted, verilog: str, top: str) -> None:
        self.config = config
        self.ports = streams(config)
        self.inputs = {port.name: port for port in self.ports if port.is_input}
        self.outputs = {port.name: port for port in self.ports if not port.is_input}
        self._unit = streams_alone(config, verilog, top)
        self.clocks = self.steps = 0
        self.seconds = 0.0
        self._last: _Answer | None = None
        self._targets: dict[str, int] = {}
        model = self._build(waves=False)
        base = cache_folder() / "runs"
        base.mkdir(parents=True, exist_ok=True)
        self._folder = tempfile.TemporaryDirectory(prefix="run-", dir=base)
        self._journal = open(Path(self._folder.name) / "journal.bin", "w+b")  # noqa: SIM115 (closed by close)
        self._sent: list[_Sent] = []
        self._process = _begun(model)
        # A simulation whose owner forgets it ends too.
        self._end = weakref.finalize(self, _ended, self._process, self._journal, self._folder)

    def _build(self, waves: bool) -> Path:
        verilog, top = self._unit
        text = _template().render(top=top, inputs=list(self.inputs.values()), outputs=list(self.outputs.values()))
        return build_driver(
            verilog,
            top,
            live_wrapper(self.config, top),
            {"live.cpp": text},
            waves=waves,
            # A waveform is short, and the code that writes it takes the compiler long.
            level="0" if waves else None,
        )

    def __enter__(self) -> LiveUnit:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process. More calls have no effect."""
        self._end()

    # Commands --------------------------------------------------------------------------------------------------------

    def write(self, stream: str, addresses: np.ndarray, payloads: np.ndarray) -> None:
        """Write items into the memory of an input stream, one to each address. The memory grows as needed.

        Parameters
        ----------
        payloads : uint8 array of shape ``(items, payload_bytes)``
        """
        number = list(self.inputs).index(stream)
        self._send(
            b"W" + _words(number, len(addresses)) + _column(addresses) + np.ascontiguousarray(payloads).tobytes()
        )

    def start(
        self,
        items: Mapping[str, Items | Gather],
        targets: Mapping[str, int],
        *,
        limit: int | None = None,
        record: int = 0,
    ) -> None:
        """Begin a step. The step ends when every output stream has delivered its number of items. :meth:`finish` waits for
        that; several units can work meanwhile. Streams that are not named have no items.

        Parameters
        ----------
        limit : clocks after which the step counts as hung; by default some for every item
        record : so many cycles of the step, from its first on, come back as :attr:`LiveStep.recorded`
        """
        if limit is None:
            latest = max(
                (int(np.max(block.cycle, initial=0)) for block in items.values() if block.cycle is not None), default=0
            )
            work = sum(_length(block) for block in items.values()) + sum(targets.values())
            limit = latest + CLOCKS_PER_ITEM * work + PATIENCE
        parts = [b"S", _words(min(limit, 2**32 - 1), record)]
        for name, port in self.inputs.items():
            block = items.get(name)
            if block is None:
                parts.append(_words(0, 0, 0))
                continue
            paced = block.cycle is not None and bool(np.any(block.cycle))
            parts.append(_words(isinstance(block, Gather), paced, _length(block)))
            if paced:
                parts.append(_column(np.asarray(block.cycle)))
            if isinstance(block, Gather):
                first, length = _runs(block.addresses)
                parts += [_words(len(first)), _column(np.stack([first, length], axis=1))]
            else:
                if block.payload.shape[1:] != (port.payload_bytes,):
                    raise ValueError(
                        f"Payloads of {name} must have {port.payload_bytes} bytes, not {block.payload.shape}"
                    )
                parts.append(np.ascontiguousarray(block.payload).tobytes())
        self._targets = {name: int(targets.get(name, 0)) for name in self.outputs}
        parts.append(_words(*self._targets.values()))
        self._send(b"".join(parts), step=True)

    def finish(self) -> LiveStep:
        """Wait for the end of the step.

        Raises
        ------
        :exc:`CheckFailed`
            If the step hung, the unit did not take all items, it delivered too many, or the program crashed.
        """
        with self._guarded():
            assert self._process.stdout is not None
            self._last = _read_answer(self._process.stdout, self.ports)
        hung, left, step = self._last.parsed(self.ports)
        self.seconds += self._last.ns * 1e-9
        self.steps += 1
        self.clocks += step.clocks
        which = f"{self._unit[1]}: step {self.steps - 1}"
        if hung:
            self.close()
            got = ", ".join(f"{len(step.outputs[name])} of {count} of {name}" for name, count in self._targets.items())
            raise CheckFailed(f"{which} has no end within {step.clocks} clocks, which delivered {got}")
        for name, count in self._targets.items():
            if len(step.outputs[name]) != count:
                self.close()
                raise CheckFailed(f"{which} delivered {len(step.outputs[name])} items of {name}, not {count}")
        if any(left):
            self.close()
            rest = ", ".join(f"{count} of {name}" for name, count in zip(self.inputs, left, strict=True) if count)
            raise CheckFailed(f"{which} ended before the unit took {rest}")
        return step

    def step(
        self, items: Mapping[str, Items | Gather], targets: Mapping[str, int], *, limit: int | None = None
    ) -> LiveStep:
        """A whole step, see :meth:`start`."""
        self.start(items, targets, limit=limit)
        return self.finish()

    def _send(self, command: bytes, step: bool = False) -> None:
        with self._guarded():
            at = self._sent[-1].at + self._sent[-1].size if self._sent else 0
            self._journal.write(command)
            self._sent.append(_Sent(at, len(command), step))
            assert self._process.stdin is not None
            self._process.stdin.write(command)
            self._process.stdin.flush()

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """End the process if anything goes wrong, Ctrl-C included."""
        try:
            yield
        except (BrokenPipeError, EOFError, ValueError) as error:
            self.close()
            raise CheckFailed(f"{self._unit[1]}: the simulation stopped (exit {self._process.returncode})") from error
        except BaseException:
            self.close()
            raise

    # Waveforms -------------------------------------------------------------------------------------------------------

    def waves(self, path: Path, first: int, last: int, period_ps: int) -> tuple[Path, bool]:
        """Waveform of cycles ``first`` to ``last`` of the last step, from a second model that has tracing.

        The second model first gets the contents of the memory and the step alone. If it answers otherwise than the unit
        did, the answer depends on earlier steps, and the model plays them all.

        Parameters
        ----------
        path : file without suffix, which the format gives

        Returns
        -------
        The file, and whether the step alone gave the same answer.

        Raises
        ------
        :exc:`CheckFailed`
            If there was no step, or the second model does not repeat the answer.
        """
        steps = [n for n, sent in enumerate(self._sent) if sent.step]
        if not steps or self._last is None:
            raise CheckFailed(f"{self._unit[1]}: there is no step to show")
        end = steps[-1] + 1
        model = self._build(waves=True)
        alone = [sent for n, sent in enumerate(self._sent[:end]) if not sent.step or n == end - 1]
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="waves-", dir=path.parent) as folder:
            dump = Path(folder) / "dump"
            for commands in (alone, self._sent[:end]):
                number = sum(sent.step for sent in commands) - 1
                window = [str(number), str(max(first, 0)), str(last), str(period_ps)]
                if self._replayed(model, commands, [str(dump), *window], number) == self._last and dump.exists():
                    with open(dump, "rb") as file:
                        kept = path.with_name(path.name + (".vcd" if file.read(1) == b"$" else ".fst"))
                    os.replace(dump, kept)
                    return kept, commands is alone
        raise CheckFailed(f"{self._unit[1]}: the model with tracing does not repeat the answer")

    def _replayed(self, model: Path, commands: Sequence[_Sent], arguments: list[str], number: int) -> _Answer | None:
        """Answer to step ``number`` of a new simulation that gets some of the commands; None if it crashed."""
        process = _begun(model, *arguments)
        assert process.stdin is not None and process.stdout is not None
        answer = None
        self._journal.flush()
        try:
            with open(self._journal.name, "rb") as journal:
                for sent in commands:
                    journal.seek(sent.at)
                    process.stdin.write(journal.read(sent.size))
                    process.stdin.flush()
                    if sent.step:
                        answer = _read_answer(process.stdout, self.ports)
            process.stdin.close()
            process.wait()
        except (BrokenPipeError, EOFError, ValueError):
            return None
        finally:
            _stop(process)
        return answer


@dataclass(frozen=True)
class _Answer:
    """An answer as it comes through the pipe: state and clocks, items left, cycles and payloads of each output, recorded
    cycles. Its processor time is no part of it when answers are compared."""

    head: bytes
    left: bytes
    outputs: tuple[tuple[bytes, bytes], ...]
    record: bytes
    ns: int = field(compare=False)

    def parsed(self, ports: Sequence[StreamPort]) -> tuple[bool, list[int], LiveStep]:
        hung, clocks = np.frombuffer(self.head, "<u4").tolist()
        payloads, cycles, recorded = {}, {}, {}
        for port, (when, what) in zip(_outputs(ports), self.outputs, strict=True):
            cycles[port.name] = np.frombuffer(when, "<u4").astype(np.int64)
            payloads[port.name] = np.frombuffer(what, np.uint8).reshape(-1, port.payload_bytes)
        record, at = np.frombuffer(self.record, np.uint8).reshape(-1, _row(ports)), 0
        for port in _in_record(ports):
            state, end = record[:, at], at + 1 + port.payload_bytes
            recorded[port.name] = Recorded(state & 1 == 1, state & 2 == 2, record[:, at + 1 : end])
            at = end
        return bool(hung), np.frombuffer(self.left, "<u4").tolist(), LiveStep(payloads, cycles, clocks, recorded)


def _outputs(ports: Sequence[StreamPort]) -> list[StreamPort]:
    return [port for port in ports if not port.is_input]


def _in_record(ports: Sequence[StreamPort]) -> list[StreamPort]:
    """Streams in the order of a recorded cycle."""
    return [*(port for port in ports if port.is_input), *_outputs(ports)]


def _row(ports: Sequence[StreamPort]) -> int:
    """Bytes of a recorded cycle."""
    return sum(1 + port.payload_bytes for port in ports)


def _read_answer(pipe: IO[bytes], ports: Sequence[StreamPort]) -> _Answer:
    def take(size: int) -> bytes:
        data = pipe.read(size)
        if len(data) != size:
            raise EOFError
        return data

    outputs = _outputs(ports)
    head, ns, left, streams = take(8), int.from_bytes(take(8), "little"), take(4 * (len(ports) - len(outputs))), []
    for port in outputs:
        count = int.from_bytes(take(4), "little")
        streams.append((take(4 * count), take(count * port.payload_bytes)))
    record = take(int.from_bytes(take(4), "little") * _row(ports))
    return _Answer(head, left, tuple(streams), record, ns)


def _words(*numbers: int) -> bytes:
    return np.array(numbers, "<u4").tobytes()


def _column(numbers: np.ndarray) -> bytes:
    return np.ascontiguousarray(numbers, "<u4").tobytes()


def _length(block: Items | Gather) -> int:
    return len(block) if isinstance(block, Gather) else len(block.payload)


def _runs(addresses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First address and length of each run of consecutive addresses."""
    if not len(addresses):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    starts = np.flatnonzero(np.diff(addresses, prepend=addresses[0] - 2) != 1)
    return addresses[starts], np.diff(starts, append=len(addresses))


def _begun(model: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(model / "bench"), *arguments, *model_arguments()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _ended(process: subprocess.Popen[bytes], journal: IO[bytes], folder: tempfile.TemporaryDirectory[str]) -> None:
    _stop(process)
    journal.close()
    folder.cleanup()
