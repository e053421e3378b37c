"""What the tests cost, in processor seconds: user and system time, with the processes that a test starts and waits for.

Wall time on a shared machine says nothing about a test; processor time hardly changes. `make test` runs the tests that
cost less than :data:`LIMIT_S`, the marker `slow` moves the others to `make test-full`. The report at the end shows what a
person needs to keep this so: the cost of each folder, the dearest tests, and tests that outgrew their tier.

What a fixture shared by several tests costs is booked under the fixture and not under the test that came first.
Under pytest-xdist the workers measure and the controller reports. ``--costs FILE`` writes one line for each test.
"""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

#: Processor seconds from which a test belongs to `make test-full`.
LIMIT_S = 2.0

#: Lines of the lists in the report.
SHOWN = 12


def used_s() -> float:
    """Processor seconds of this process and of its finished children so far."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF,
                                                                                   resource.RUSAGE_CHILDREN)))


class Meter:
    """Measures in the process that runs the tests; what it measured travels with the test's reports."""

    def __init__(self) -> None:
        self.mark_s = used_s()
        self.inner_s = [0.0]   # shared fixtures made inside the phase, then inside each fixture that is being made
        self.fixtures: list[tuple[str, float]] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        self.mark_s, self.inner_s, self.fixtures = used_s(), [0.0], []
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Iterator[None]:
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
            file = request.node.nodeid.split("::")[0] or fixturedef.baseid
            self.fixtures.append((f"{file}::{fixturedef.argname} (fixture)", own_s))

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        report: Any = yield
        now_s = used_s()
        report.cost = {"test_s": now_s - self.mark_s - self.inner_s[0], "fixtures": self.fixtures,
                       "slow": item.get_closest_marker("slow") is not None}
        self.mark_s, self.inner_s, self.fixtures = now_s, [0.0], []
        return report


class Ledger:
    """Adds up the reports where they all arrive, and prints."""

    def __init__(self, path: str | None) -> None:
        self.tests: dict[str, float] = defaultdict(float)
        self.fixtures: dict[str, float] = defaultdict(float)
        self.slow: set[str] = set()
        self.file = open(path, "w", buffering=1) if path else None

    def pytest_runtest_logreport(self, report: Any) -> None:
        cost = getattr(report, "cost", None)
        if cost is None:  # a worker that crashed reports in the name of its test
            return
        self.tests[report.nodeid] += cost["test_s"]
        if cost["slow"]:
            self.slow.add(report.nodeid)
        for name, own_s in cost["fixtures"]:
            self.fixtures[name] += own_s
            self._line(own_s, name)
        if report.when == "teardown":
            self._line(self.tests[report.nodeid], report.nodeid)

    def _line(self, cost_s: float, name: str) -> None:
        if self.file:
            self.file.write(f"{cost_s:.3f}\t{name}\n")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.tests:
            for line in self.report():
                terminalreporter.write_line(line)

    def pytest_unconfigure(self) -> None:
        if self.file:
            self.file.close()

    def report(self) -> list[str]:
        """Lines of the report: sums by folder, the dearest tests and fixtures, and what no longer belongs to `make test`."""
        everything = {**self.tests, **self.fixtures}
        lines = [f"cost: {sum(everything.values()):.0f} processor seconds for {len(self.tests)} tests"]
        folders: dict[str, list[float]] = defaultdict(list)
        for name, cost_s in everything.items():
            folders[name.split("::")[0].rpartition("/")[0]].append(cost_s)
        for folder, costs in sorted(folders.items(), key=lambda pair: -sum(pair[1])):
            lines.append(f"{sum(costs):9.1f} s  {folder}")
        lines.append("dearest:")
        dearest = sorted(everything.items(), key=lambda pair: -pair[1])[:SHOWN]
        lines += [f"{cost_s:9.1f} s  {name}" for name, cost_s in dearest]
        grown = sorted((name for name, cost_s in self.tests.items() if cost_s > LIMIT_S and name not in self.slow),
                       key=lambda name: -self.tests[name])
        if grown:
            lines.append(f"not marked slow, and above {LIMIT_S:g} processor seconds: {len(grown)} tests")
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
