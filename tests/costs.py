"""What the tests cost, in processor seconds, and which of them are too dear for `make test`.

Costs are user and system time, with the processes that a test starts and waits for: wall time on a shared machine says
nothing about a test. The report at the end of a run shows the cost of each folder, the dearest tests, and the tests that
outgrew their tier. What a fixture shared by several tests costs is booked under the fixture and not under the test that
came first. Under pytest-xdist the workers measure and the controller reports.

Tiers: `make test` runs what is not marked ``slow``. A campaign has that marker in its source; ``slow.txt`` beside this file
gives it to every other test that was measured above :data:`LIMIT_S`. The marker ``essential`` keeps a dearer test in
`make test`. To bring the list up to date, measure and add::

    python -m pytest -m "not slow" --costs costs.tsv
    python tests/costs.py costs.tsv
"""

from __future__ import annotations

import resource
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

#: Processor seconds from which a test belongs to `make test-full`.
LIMIT_S = 2.0

#: Names of tests, one a line: a function with all its parameters, or one parameter set of it.
LIST = Path(__file__).with_name("slow.txt")

#: Lines of the lists in the report.
SHOWN = 12


def used_s() -> float:
    """Processor seconds of this process and of its finished children so far."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def function_of(name: str) -> str:
    """Name of a test without its parameters."""
    return name.partition("[")[0]


def listed() -> set[str]:
    """Names in :data:`LIST`."""
    return {line for line in LIST.read_text().splitlines() if line and not line.startswith("#")}


def additions(costs: Iterable[tuple[str, float]], known: set[str]) -> set[str]:
    """Names to add to the list ``known`` for measured costs (name, processor seconds): a function if all its measured
    parameter sets are too dear, else those that are."""
    functions: dict[str, dict[str, float]] = defaultdict(dict)
    for name, cost_s in costs:
        if name not in known and function_of(name) not in known and not name.endswith(" (fixture)"):
            functions[function_of(name)][name] = cost_s
    out: set[str] = set()
    for function, measured in functions.items():
        dear = {name for name, cost_s in measured.items() if cost_s > LIMIT_S}
        whole = dear == measured.keys() and not any(function_of(name) == function for name in known)
        out |= {function} if whole else dear
    return out


class Meter:
    """Measures in the process that runs the tests; what it measured travels with the test's reports."""

    def __init__(self) -> None:
        self.mark_s = used_s()
        self.inner_s = [0.0]  # shared fixtures made inside the phase, then inside each fixture that is being made
        self.fixtures: list[tuple[str, float]] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        self._reset(used_s())
        return (yield)

    def _reset(self, now_s: float) -> None:
        self.mark_s, self.inner_s, self.fixtures = now_s, [0.0], []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        start_s = used_s()
        self.inner_s.append(0.0)
        try:
            return (yield)
        finally:
            whole_s = used_s() - start_s
            own_s = whole_s - self.inner_s.pop()
            self.inner_s[-1] += whole_s
            self.fixtures.append((f"{fixturedef.baseid or 'pytest'}::{fixturedef.argname} (fixture)", own_s))

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        report: Any = yield
        now_s = used_s()
        report.cost = {
            "test_s": now_s - self.mark_s - self.inner_s[0],
            "fixtures": self.fixtures,
            "placed": any(item.get_closest_marker(name) for name in ("slow", "essential")),
        }
        self._reset(now_s)
        return report


class Ledger:
    """Adds up the reports where they all arrive, and prints."""

    def __init__(self, path: str | None) -> None:
        self.tests: dict[str, float] = defaultdict(float)
        self.fixtures: dict[str, float] = defaultdict(float)
        self.placed: set[str] = set()
        self.file = open(path, "w", buffering=1) if path else None

    def pytest_runtest_logreport(self, report: Any) -> None:
        cost = getattr(report, "cost", None)
        if cost is None:  # the controller's, of a test in which a worker crashed
            return
        self.tests[report.nodeid] += cost["test_s"]
        if cost["placed"]:
            self.placed.add(report.nodeid)
        for name, own_s in cost["fixtures"]:
            self.fixtures[name] += own_s
            self._line(name, own_s)
        if report.when == "teardown":
            self._line(report.nodeid, self.tests[report.nodeid])

    def _line(self, name: str, cost_s: float) -> None:
        if self.file:
            self.file.write(f"{cost_s:.3f}\t{name}\n")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if len(self.tests) > 1:
            for line in self.report():
                terminalreporter.write_line(line)

    def pytest_unconfigure(self) -> None:
        if self.file:
            self.file.close()

    def report(self) -> list[str]:
        """Lines: sums by folder, the dearest tests and fixtures, and what no longer belongs to `make test`."""
        everything = {**self.tests, **self.fixtures}
        lines = [f"cost: {sum(everything.values()):.0f} processor seconds, {len(self.tests)} tests"]
        folders: dict[str, list[float]] = defaultdict(list)
        for name, cost_s in everything.items():
            place = name.split("::")[0]
            folders[place.rpartition("/")[0] if place.endswith(".py") else place].append(cost_s)
        for folder, costs in sorted(folders.items(), key=lambda pair: -sum(pair[1])):
            lines.append(f"{sum(costs):9.1f} s  {folder}")
        lines.append("dearest:")
        dearest = sorted(everything.items(), key=lambda pair: -pair[1])[:SHOWN]
        lines += [f"{cost_s:9.1f} s  {name}" for name, cost_s in dearest]
        grown = sorted(
            (name for name, cost_s in self.tests.items() if cost_s > LIMIT_S and name not in self.placed),
            key=lambda name: -self.tests[name],
        )
        if grown:
            lines.append(f"above {LIMIT_S:g} processor seconds in the fast tier: {len(grown)} tests (see {LIST.name})")
            lines += [f"{self.tests[name]:9.1f} s  {name}" for name in grown[:SHOWN]]
        return lines


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", metavar="FILE", help="write the processor seconds of each test and shared fixture")


def pytest_configure(config: pytest.Config) -> None:
    workers = config.getoption("numprocesses", None)
    worker = hasattr(config, "workerinput")
    if worker or not workers:
        config.pluginmanager.register(Meter(), "bankside-cost-meter")
    if not worker:
        config.pluginmanager.register(Ledger(config.getoption("--costs")), "bankside-cost-ledger")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    names = listed()
    for item in items:
        if {item.nodeid, function_of(item.nodeid)} & names and not item.get_closest_marker("essential"):
            item.add_marker(pytest.mark.slow)


def main(path: str) -> None:
    """Add what was measured too dear in the file ``path``, written by ``--costs``, to :data:`LIST`."""
    costs = []
    for line in Path(path).read_text().splitlines():
        cost, _, name = line.partition("\t")
        costs.append((name, float(cost)))
    head = [line for line in LIST.read_text().splitlines() if line.startswith("#")]
    known = listed()
    new = additions(costs, known)
    LIST.write_text("\n".join([*head, *sorted(known | new)]) + "\n")
    print(f"{len(new)} names added to {LIST}")


if __name__ == "__main__":
    main(*sys.argv[1:])
