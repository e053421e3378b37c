"""CENT's RISC-V programs and their model: against an independent emulator, against exact results, and misuse."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import unicorn
from unicorn import riscv_const

from bankside.constraints.cent import programs as cent_programs
from bankside.constraints.cent.programs import Image, load_image
from bankside.constraints.cent.riscv import CentRiscvConfig
from bankside.constraints.cent.rv32 import CUSTOM, WINDOW, Float, Kind, custom, i_type, s_type
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.formats import BF16, FP32
from bankside.cosim.cent.riscv import AHEAD, RETURN, random_episode
from bankside.models.cent.riscv import ClusterModel, float_result
from bankside.models.numerics import from_float64, to_float64

ROOT = Path(cent_programs.__file__).resolve().parents[3]


class Emulator:
    """The emulator QEMU, as the package unicorn has it, with the custom operations added."""

    def __init__(self, config, memory, buffer, core, registers):
        self.engine = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
        self.names = [getattr(riscv_const, f"UC_RISCV_REG_X{n}") for n in range(32)]
        self.pc = riscv_const.UC_RISCV_REG_PC
        self.config, self.core, self.queue, self.addend = config, core, [], 0
        self.engine.mem_map(0, config.memory_bytes)
        self.engine.mem_map(WINDOW, config.window_bytes)
        self.engine.mem_write(0, memory)
        self.engine.mem_write(WINDOW, buffer.astype("<u2").tobytes())
        for name, value in zip(self.names[1:], registers[1:], strict=True):
            self.engine.reg_write(name, value)
        self.engine.hook_add(unicorn.UC_HOOK_CODE, self.each)

    def registers(self):
        return [self.engine.reg_read(name) for name in self.names]

    def buffer(self):
        return np.frombuffer(bytes(self.engine.mem_read(WINDOW, self.config.window_bytes)), "<u2")

    def each(self, engine, address, size, _):
        (word,) = struct.unpack("<I", engine.mem_read(address, 4))
        if word & 0x7F != CUSTOM:
            return
        rd, kind, function = word >> 7 & 31, word >> 12 & 7, word >> 25
        a, b = (engine.reg_read(self.names[word >> at & 31]) for at in (15, 20))
        place, result = WINDOW + ((a & ~1) + 2 * function - WINDOW) % self.config.window_bytes, 0
        if kind == Kind.FLOAT:
            result = float_result(Float(function & 7), a, b, self.addend)
            if function & 7 == Float.SET_ADDEND:
                self.addend = a
        elif kind == Kind.ENVIRONMENT:
            result = dict(enumerate(self.given, 1)).get(function, 0)
        elif kind == Kind.READ:
            self.queue.append(int.from_bytes(engine.mem_read(place, 2), "little"))
        elif kind == Kind.TAKE:
            result = self.queue.pop(0) << 16 * (function & 1)
        elif kind == Kind.MOVE:
            engine.mem_write(place, self.queue.pop(0).to_bytes(2, "little"))
        elif kind == Kind.WRITE:
            engine.mem_write(place, (b & 0xFFFF).to_bytes(2, "little"))
        if rd:
            engine.reg_write(self.names[rd], result)
        engine.reg_write(self.pc, address + 4)

    def run(self, begin, end):
        self.given = self.registers()[10:15]
        self.engine.emu_start(begin, end)


def test_random_programs_against_an_independent_emulator():
    """Registers, memory and shared buffer of random programs with every instruction: model and emulator agree."""
    rng, config, seen = np.random.default_rng(5), CentRiscvConfig(cores=2, memory_bytes=1 << 14), set()
    for _ in range(40):
        while True:  # a program that strays reads what the emulator has no memory for
            episode = random_episode(config, rng, 30)
            model, buffer = ClusterModel(config), episode.buffer.copy()
            for load in episode.loads:
                model.load(load.words, load.address)
            memories = [bytes(core.memory) for core in model.cores]
            run = model.start(episode.pc, episode.to, episode.source, episode.opsize, buffer)
            if not run.strayed:
                break
        words = episode.loads[0].words[: -len(AHEAD)]
        seen |= {(word & 0x7F, word >> 12 & 7, word >> 25 if word & 0x7F in (0x33, CUSTOM) else 0) for word in words}
        theirs = episode.buffer
        for n, core in enumerate(model.cores):
            registers = [0] * 32
            registers[1], registers[2], registers[5] = core._home, config.memory_bytes, 4 * episode.pc
            registers[10:15] = WINDOW + 32 * episode.to, WINDOW + 32 * episode.source, episode.opsize, n, config.cores
            emulator = Emulator(config, memories[n], theirs, n, registers)
            emulator.run(4 * episode.pc, 4 * (episode.pc + len(words) - 1))  # the last word returns or traps
            theirs = emulator.buffer()
            same = [k for k in range(1, 32) if not (run.trapped >> n & 1 and k == 5)]
            assert [core.registers[k] for k in same] == [emulator.registers()[k] for k in same]
            assert bytes(core.memory) == bytes(emulator.engine.mem_read(0, config.memory_bytes))
        assert (buffer == theirs).all()
    # Integer operations, multiplications, loads, stores, branches and custom operations have all been there.
    assert {(0x33, f, 1) for f in range(8)} | {(0x33, f, 0) for f in range(8)} | {(0x33, 0, 32), (0x33, 5, 32)} <= seen
    assert {(0x03, f, 0) for f in (0, 1, 2, 4, 5)} | {(0x23, f, 0) for f in range(3)} <= seen
    assert {(0x63, f, 0) for f in (0, 1, 4, 5, 6, 7)} | {(0x13, f, 0) for f in range(8)} <= seen
    assert {(CUSTOM, Kind.FLOAT, f) for f in Float} <= seen and {kind for op, kind, _ in seen if op == CUSTOM} == set(
        Kind
    )
    assert {op for op, _, _ in seen} >= {0x37, 0x17, 0x6F, 0x67, 0x0F}


def started(name, opsize, buffer, cores=3, to=1024, **parameters):
    model, image = ClusterModel(CentRiscvConfig(cores=cores)), load_image()
    model.load(image.with_parameters(**parameters).words)
    run = model.start(image.entry(name), to, 0, opsize, buffer)
    assert not run.trapped and not run.strayed
    return buffer[16 * to :].reshape(-1, 16)


def vectors(seed=3):
    return from_float64(np.random.default_rng(seed).normal(0, 4, 1 << 15), BF16).astype(np.uint16)


def test_scalars_of_norm_and_softmax():
    """Each result is 1/sqrt(s / n + epsilon) or 1/s of element 0 of its slot, within one place of BF16, in all elements."""
    sums = np.abs(to_float64(vectors(), BF16)) + 0.5
    buffer = from_float64(sums, BF16).astype(np.uint16)
    x = to_float64(buffer.astype(np.int64), BF16).reshape(-1, 16)[:20, 0]
    bits = {
        name: int(from_float64(np.array([value]), FP32)[0])
        for name, value in (("inverse_length", 1 / 4096), ("epsilon", 1e-5))
    }
    for name, right, parameters in (("softmax", 1 / x, {}), ("rmsnorm", 1 / np.sqrt(x / 4096 + 1e-5), bits)):
        got = started(name, 20, buffer.copy(), **parameters)[:20]
        assert (got == got[:, :1]).all()
        assert (np.abs(to_float64(got[:, 0].astype(np.int64), BF16) / right - 1) < 2.0**-8).all()


def test_rearrangements_for_rope():
    buffer = vectors()
    x = buffer[: 8 * 16].copy()
    assert (started("rope_swap", 8, buffer.copy())[:8].ravel() == x.reshape(-1, 2)[:, ::-1].ravel()).all()
    parts = started("rope_split", 8, buffer.copy())[:8].ravel()
    assert (parts == x.reshape(-1, 2).T.ravel()).all()
    buffer[: 8 * 16] = parts
    assert (started("rope_join", 8, buffer)[:8].ravel() == x).all()


def test_largest_element_of_vectors():
    buffer = vectors()
    x = to_float64(buffer[: 7 * 3 * 16].astype(np.int64), BF16).reshape(7, 48)
    got = started("largest", 7, buffer, slots_per_vector=3)[:7]
    assert (to_float64(got.astype(np.int64), BF16) == -x.max(axis=1, keepdims=True)).all()


def refused(words, message, config=None, **start):
    config = config or CentRiscvConfig(cores=1)
    model = ClusterModel(config)
    with pytest.raises(ConfigError, match=message) as found:
        model.load(words)
        model.start(0, 0, 0, 1, vectors()[: config.window_bytes // 2])
    assert "\n" not in str(found.value)


def test_programs_that_cannot_be_right():
    """Programs for which the hardware has no defined end: each is one line."""
    take, read = custom(Kind.TAKE), custom(Kind.READ, 0, 0, 10)
    refused([0] * 16385, "a program of 65540 bytes does not fit into a core's memory, which has room for 65536")
    refused([take, RETURN], "takes an element that it has not begun to read")
    refused([read, RETURN], "ends with 1 reads not taken")
    refused([read] * 9, "more than 8 reads of the shared buffer under way")
    refused([read, i_type(0x03, 5, 3, 10, 0)], "waits for reads that are not taken")
    refused([custom(Kind.ENVIRONMENT, 6)], "START and DONE belong to the boot program")
    refused([i_type(0x73, 2, 3, 0, 0x300)], "instruction 300021f3 at address 0 is not modelled")
    refused([i_type(0x13, 0, 1, 1, -4), i_type(0x67, 0, 0, 1, 0)], "jumps into the boot program")
    refused([s_type(0x23, 1, 10, 13, 0), RETURN], "cores 0 and 1 both access element 0", CentRiscvConfig(cores=2))


def test_traps_and_stray_accesses_are_reported():
    config = CentRiscvConfig(cores=2)
    for words, trapped, strayed in (
        ([0], 3, 0),
        ([0x73], 3, 0),
        ([i_type(0x03, 2, 3, 2, -2)], 3, 0),
        ([s_type(0x23, 1, 10, 3, 1)], 3, 0),
        ([s_type(0x23, 0, 10, 3, 0), RETURN], 0, 3),
        ([i_type(0x03, 2, 3, 2, 0), RETURN], 0, 3),
        ([RETURN], 0, 0),
    ):
        model = ClusterModel(config)
        model.load(words)
        run = model.start(0, 0, 0, 0, vectors())
        assert (run.trapped, run.strayed) == (trapped, strayed), words


def test_images_that_are_none(tmp_path):
    for text, message in (
        ("[]", "no image of programs"),
        ('{"words": ["zz"], "entries": {}, "parameters": {}}', "no image"),
        ('{"words": ["00"], "entries": {"f": 4}, "parameters": {}}', "address 4 is not in the image's 4"),
    ):
        file = tmp_path / f"{len(text)}.json"
        file.write_text(text)
        with pytest.raises(ConfigError, match=message):
            load_image(str(file))
    with pytest.raises(ConfigError, match="unknown program 'rmsnrm'; did you mean 'rmsnorm'"):
        load_image().entry("rmsnrm")
    with pytest.raises(ConfigError, match="unknown parameter of the programs"):
        load_image().with_parameters(eps=1)
    assert Image((1, 2), {"f": 4}, {}).entry("f") == 1


@pytest.mark.slow
def test_words_are_those_of_the_sources(tmp_path):
    """The compiler writes the shipped words again."""
    pytest.importorskip("ziglang", reason="the C compiler is not installed: pip install ziglang==0.17.1")
    file = tmp_path / "programs.json"
    subprocess.run([sys.executable, str(ROOT / "tools" / "cent_programs.py"), "-o", str(file)], check=True)
    assert file.read_text() == cent_programs.IMAGE.read_text()


def test_compiling_without_compiler_or_source_is_one_line(tmp_path):
    tool = [sys.executable, "-S", str(ROOT / "tools" / "cent_programs.py")]  # -S: no installed packages
    for source, message in (
        (tmp_path / "none.c", "no such file"),
        (cent_programs.IMAGE.with_name("programs.c"), "ziglang"),
    ):
        done = subprocess.run([*tool, str(source), "-o", str(tmp_path / "x.json")], capture_output=True, text=True)
        assert done.returncode and message in done.stderr and len(done.stderr.splitlines()) == 1
        assert not (tmp_path / "x.json").exists()
