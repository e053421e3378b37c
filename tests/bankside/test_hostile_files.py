"""Damaged files: every reader answers with what it read, or with one line, soon and in little memory.

Each case takes a file that is right, damages it in a few places, and reads it. A sample runs in `make test`, the same in
every run; the campaign in `make test-full` draws others.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bankside.constraints import llm
from bankside.constraints.core.document import load
from bankside.constraints.core.errors import BanksideError
from bankside.constraints.core.formats import FORMATS
from bankside.constraints.memory import load_memory
from bankside.constraints.memory.memory import FOLDER, Memory
from bankside.constraints.systems import FILES as SYSTEM_FILES
from bankside.constraints.systems import RATIOS, RatioTable
from bankside.constraints.workloads import FILES
from bankside.evidence.records import RecordFolder
from bankside.hardware.selection import select
from bankside.hardware.synthesis import liberty
from bankside.models.inf2.store import Geometry, KvStore, ThreadPool
from bankside.models.llm import load_model
from bankside.models.memory import time_program
from bankside.models.memory.request_reader import read_requests as read_accesses
from bankside.models.memory.requests import RequestFrontEnd
from bankside.models.numerics.vector_files import read_vectors
from bankside.models.pam.sparsity import read_trace
from bankside.models.papers import starc
from bankside.models.papers.claims import load_paper
from bankside.models.program.reader import read_program
from bankside.models.serving.workloads import load_workload, read_requests
from bankside.models.systems import load_system
from bankside.models.systems.attacc_reference import read_reference
from tests.bankside.hardware.test_synthesis_liberty import SMALL
from tests.conftest import pu_record

#: Seconds that a file may take, and bytes by which a process may grow.
MOST_S, MOST_BYTES = 10, 1 << 30

_BANK = "pseudo_channel=0 rank=0 bank_group=0 bank"
PROGRAM = f"""# two rows, read by column
stage first
  ACT row=4 {_BANK}=0
  loop i0 < 8
    RD row=4 column=0+1*i0 {_BANK}=0
    wait 2
stage second
  loop i0 < tokens/16
    loop i1 < 4
      RD row=5+1*i0 column=0+2*i1 {_BANK}=1
"""
ATTENTION = (
    '{"format": "bankside-attention-trace", "version": 1, "requests": 1}\n'
    '{"request": 0, "context": 8, "tokens": [0, 1, 5], "scores": [0.5, 0.25, 0.25]}\n'
    '{"request": 0, "context": 9, "tokens": [1, 8], "scores": [0.75, 0.25]}\n'
)
VIDUR = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,12,5\n1.5,300,20\n2.25,7,1\n"
REQUESTS = (
    '{"input_toks": 12, "output_toks": 3, "arrival_time_ns": 0}\n'
    '{"input_toks": 50, "output_toks": 2, "arrival_time_ns": 5e6}\n'
)
ACCESSES = "LD 0x00001000\nST 4160\nLD 0x00ff0040\n"
VECTORS = "3C00 4000 4200\n0001 8001 0000\nFBFF 7C00 7C00\n"


#: A few rows of what `eval --reference` reads.
_RUNS = Path(__file__).parents[1] / "models" / "data" / "attacc_reference.csv"
REFERENCE = b"".join(_RUNS.read_bytes().splitlines(keepends=True)[:4])

#: A record has the name that its contents give it.
RECORD = pu_record()


@cache
def hbm3() -> Memory:
    return load_memory("hbm3-5.2")


@cache
def front_end() -> RequestFrontEnd:
    return RequestFrontEnd(hbm3())


def accesses(path: Path) -> object:
    found = read_accesses(path, front_end())
    return RequestFrontEnd(hbm3()).run(found)


def spilled() -> bytes:
    """A spill file with rows of two requests."""
    geometry = Geometry(head_dim=64, interval=4, extent_tokens=4, extents=3)
    with tempfile.TemporaryDirectory() as folder:
        store = KvStore.create(f"{folder}/a.spill", geometry, pool=ThreadPool(1))
        for request in range(2):
            store.append(request, 0, np.arange(4 * 128, dtype=np.uint16).reshape(2, 4, 64) + request)
        store.close()
        return Path(folder, "a.spill").read_bytes()


def check_spilled(path: Path) -> int:
    with KvStore.open(str(path), writable=False, pool=ThreadPool(1)) as store:
        return store.check()


#: Name of the file, a text that is right, and what reads it.
READERS: dict[str, tuple[str, bytes, Callable[[Path], object]]] = {
    "memory": ("own.yaml", (FOLDER / "hbm3-5.2.yaml").read_bytes(), load_memory),
    "unit": (
        "unit.yaml",
        b"format: e4m3\nflush_to_zero: false\nclock_mhz: 500.0\n",
        lambda path: select("fp-mul", file=str(path)),
    ),
    "model": ("config.json", (Path(llm.__file__).parent / "mistral-7b.json").read_bytes(), load_model),
    "system": ("own.yaml", SYSTEM_FILES["gpu-lol-pim"].read_bytes(), load_system),
    "ratios": ("ratios.yaml", Path(RATIOS).read_bytes(), lambda path: load(path, RatioTable)),
    "paper": ("starc.yaml", (Path(starc.__file__).parent / "claims.yaml").read_bytes(), load_paper),
    "workload": ("own.yaml", FILES["sharegpt_turns"].read_bytes(), load_workload),
    "program": ("a.program", PROGRAM.encode(), lambda path: time_program(read_program(path).bind(64), hbm3())),
    "accesses": ("a.trace", ACCESSES.encode(), accesses),
    "attention": ("a.jsonl", ATTENTION.encode(), read_trace),
    "requests": ("a.jsonl", REQUESTS.encode(), read_requests),
    "requests as a table": ("a.csv", VIDUR.encode(), read_requests),
    "vectors": ("a.txt", VECTORS.encode(), lambda path: read_vectors(path, [FORMATS["fp16"]] * 2, FORMATS["fp16"])),
    "liberty": ("a.lib", SMALL.encode(), liberty.read),
    "reference": ("a.csv", REFERENCE, read_reference),
    "spill file": ("a.spill", spilled(), check_spilled),
    "record": (f"{RECORD.name}.json", RECORD.model_dump_json().encode(), RecordFolder.read),
}

#: What people and programs write by mistake.
WORDS = [
    b"",
    b"0",
    b"-1",
    b"010",
    b"1e400",
    b"NaN",
    b".inf",
    b"9" * 30,
    b"null",
    b"true",
    b"[]",
    b"{}",
    b'"',
    b"\t",
    b"\n",
    b"\r\n",
    b" ",
    b"\x00",
    b"\xff\xfe",
    "ä".encode(),
    b"[" * 50,
    b"{" * 50,
    b"loop i0 < 99999999999:\n",
    b"#",
    b"&a",
    b"*a",
    b"!!x ",
    b"%",
]


@st.composite
def damages(draw: st.DrawFn) -> list[tuple[str, float, float, bytes]]:
    """Changes: what is done, where, how far, and with what."""
    one = st.tuples(
        st.sampled_from(["replace", "insert", "cut", "twice", "flip", "end"]),
        st.floats(0, 1),
        st.floats(0, 1),
        st.sampled_from(WORDS) | st.binary(max_size=6),
    )
    return draw(st.lists(one, min_size=1, max_size=4))


def damaged(data: bytes, changes: list[tuple[str, float, float, bytes]]) -> bytes:
    for what, where, far, word in changes:
        at = int(where * len(data))
        upto = min(at + 1 + int(far**3 * 200), len(data))
        if what == "replace":
            data = data[:at] + word + data[upto:]
        elif what == "insert":
            data = data[:at] + word + data[at:]
        elif what == "cut":
            data = data[:at] + data[upto:]
        elif what == "twice":
            data = data[:upto] + data[at:upto] * (1 + int(far * 20)) + data[upto:]
        elif what == "flip" and at < len(data):
            data = data[:at] + bytes([data[at] ^ (1 << int(far * 7.99))]) + data[at + 1 :]
        elif what == "end":
            data = data[:at]
    return data


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """An error in this thread after :data:`MOST_S` seconds, or when the process grows by :data:`MOST_BYTES`."""

    def late(number: int, frame: object) -> None:
        raise TimeoutError(f"not done within {MOST_S} s")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    before = signal.signal(signal.SIGALRM, late)
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_BYTES, hard))
    signal.setitimer(signal.ITIMER_REAL, MOST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, before)


def read(name: str, folder: Path, changes: list[tuple[str, float, float, bytes]]) -> None:
    """Read the file with these damages; nothing but it may be there afterwards, as it was."""
    file, text, reader = READERS[name]
    data = damaged(text, changes)
    path = folder / file
    path.write_bytes(data)
    try:
        with bounded() if changes else contextlib.nullcontext():  # the first read may compile the timing engine
            reader(path)
    finally:
        assert path.read_bytes() == data and [one.name for one in folder.iterdir()] == [file]


def check(name: str, folder: Path, changes: list[tuple[str, float, float, bytes]]) -> None:
    try:
        read(name, folder, changes)
    except BanksideError as error:
        assert str(error).strip() and len(str(error)) < 2000, error


@pytest.mark.parametrize("name", READERS)
def test_a_sample_of_damaged_files(name, tmp_path):
    read(name, tmp_path, [])  # the file is right

    @settings(max_examples=12, suppress_health_check=list(HealthCheck))
    @given(damages())
    def run(changes):
        check(name, tmp_path, changes)

    run()


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_many_damaged_files(name, tmp_path):
    @settings(max_examples=3000, suppress_health_check=list(HealthCheck))
    @given(damages())
    def run(changes):
        check(name, tmp_path, changes)

    run()
