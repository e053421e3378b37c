"""Long computations of a paper in processes of their own."""

from functools import partial

import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.models.papers import Ahead, Evidence, load_paper, paper_packages, work_ahead


class Nothing:
    def find(self, measurement):
        return None


def square(evidence, number):
    """Keeps a square, a word that stays in its process, and an error."""
    evidence.once(("square", number), lambda: number * number)
    evidence.once(("word", number), lambda: "here")
    evidence.memory("hbm3-5.2")

    def wrong():
        raise ConfigError(f"no {number}")

    evidence.once(("square", -number), wrong)


TASKS = [
    Ahead(claims=("even" if number % 2 == 0 else "odd",), run=partial(square, number=number), keeps=("square",))
    for number in (1, 2, 3, 4)
]


def test_results_travel_back_and_errors_do_not():
    evidence = Evidence(Nothing())
    assert work_ahead(TASKS, {"odd", "even"}, evidence, Nothing(), processes=2) == 4
    assert {key: value[0] for key, value in evidence.kept.items()} == {("square", n): n * n for n in (1, 2, 3, 4)}
    assert evidence.once(("square", 3), lambda: pytest.fail("it is known")) == 9


@pytest.mark.parametrize("claims, processes", [(set(), 2), ({"odd"}, 1), ({"other"}, 4)])
def test_nothing_happens_without_two_tasks_and_two_processes(claims, processes):
    evidence = Evidence(Nothing())
    assert work_ahead(TASKS, claims, evidence, Nothing(), processes=processes) == 0 and not evidence.kept


def test_only_tasks_of_the_claims_run():
    evidence = Evidence(Nothing())
    assert work_ahead(TASKS, {"even"}, evidence, Nothing(), processes=2) == 2
    assert set(evidence.kept) == {("square", 2), ("square", 4)}


def test_tasks_name_claims_of_their_paper():
    for name, package in paper_packages().items():
        known = {claim.id for claim in load_paper(name).claims} if package.ahead else set()
        assert all(set(task.claims) <= known for task in package.ahead), name
