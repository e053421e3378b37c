"""What every system has in common."""

from __future__ import annotations

import numpy as np
import pytest

from bankside.constraints.core.discovery import entries
from bankside.constraints.core.errors import ConfigError
from bankside.models.llm import load_model
from bankside.models.serving import ServedSystem
from bankside.models.systems import Assumption, kinds, load_system, system_names

QWEN = load_model("qwen1.5-7b")

#: Systems whose steps need no processing unit of PAM, a cheap one of each class.
CHEAP = ("gpu-only", "vllm-offload", "lol-pim", "gpu-lol-pim", "inf2", "flexgen")


class NoRecords:
    def find(self, unit, config_hash, kind, **conditions):
        return None


def test_kinds_are_the_entry_points():
    assert list(kinds()) == list(entries("bankside.systems")) and all(cls.kind == kind for kind, cls in kinds().items())
    assert {load_system(name).kind for name in system_names()} == set(kinds())


@pytest.mark.parametrize("name", CHEAP)
def test_steps_by_component_for_many_contexts(name, module_records):
    """Each context's components are those of a step at that context alone, and add up to what is evaluated."""
    system = load_system(name)
    system.check(QWEN)
    assert system.check_fits(QWEN, 4096, 16) == system.capacity(QWEN, 4096, 16, 1)
    bound = system.bind(QWEN, module_records)
    contexts = np.array([2048, 4096, 6144])
    steps = bound.step(16, contexts)
    alone = bound.step(16, contexts[1:2])
    assert steps.micro_batch == alone.micro_batch
    for ours, theirs in ((steps.seconds, alone.seconds), (steps.energy_pj, alone.energy_pj)):
        assert ours.keys() == theirs.keys()
        assert all(values.shape == (3,) and values[1] == pytest.approx(theirs[key][0]) for key, values in ours.items())
    result = system.evaluate(QWEN, context=4096, batch=16, records=module_records)
    assert result.tpot_ms == pytest.approx(alone.total_s[0] * 1e3) and steps.total_s[0] < steps.total_s[2]
    assert result.records == [record.name for record in bound.records]


@pytest.mark.parametrize("name", CHEAP)
def test_a_served_system_takes_the_step_of_eval(name, module_records):
    system = load_system(name)
    served = system.served(QWEN, module_records)
    assert isinstance(served, ServedSystem)
    assert served.kv_block_tokens == system.kv_block_tokens(QWEN)
    assert served.kv_capacity_tokens == system.kv_capacity_tokens(QWEN)
    step = system.bind(QWEN, module_records).step(16, np.array([4096])).total_s[0]
    assert served.decode_seconds(np.full(16, 4096)) == pytest.approx(step)


def test_contexts_of_their_own_take_the_mean_of_each_beside_modules(module_records):
    """Rows are added 2048 tokens at a time, so the mean context says little of the time and the energy."""
    bound = load_system("gpu-lol-pim").bind(QWEN, module_records)
    served = bound.serve()
    contexts = np.random.default_rng(3).integers(200, 4000, 24)
    each = [bound.step(24, np.array([tokens])) for tokens in contexts]
    assert served.decode_seconds(contexts) == pytest.approx(np.mean([one.total_s[0] for one in each]), rel=1e-3)
    for name, pj in served.decode_energy_pj(contexts, 1).items():
        assert pj == pytest.approx(np.mean([one.energy_pj[name][0] for one in each]), rel=1e-3)


@pytest.mark.parametrize("name", ["pam", "pam-hbm-only", "cent", "lol-pim", "gpu-lol-pim", "inf2"])
def test_a_step_without_measurements_is_one_clear_error(name):
    with pytest.raises(ConfigError, match=r"^[^\n]* no measurements of [^\n]* are looked up; System\.bind[^\n]*$"):
        load_system(name).decode_step(load_model("llama-2-7b"), 16, np.array([1024]))


def test_a_bound_system_never_changes(module_records):
    """It has its measurements for good, whatever happens to the system that it was made from."""
    system = load_system("lol-pim")
    bound = system.bind(QWEN, module_records)
    assert system.records == [] != bound.records
    known = bound.step(4, np.array([1000])).total_s
    for name in ("model", "system", "refresh"):
        with pytest.raises(AttributeError):
            setattr(bound, name, None)
    with pytest.raises(ConfigError, match="a bound system keeps its measurements"):
        bound.system.prepare(QWEN, module_records, True)
    other = system.bind(QWEN, module_records, refresh=True)
    assert system.bind(QWEN, module_records) is bound is not other and other.refresh
    assert other.step(4, np.array([1000])).total_s >= bound.step(4, np.array([1000])).total_s == known
    assert bound.capacity(4096, 16) == system.capacity(QWEN, 4096, 16, 1)
    assert len(bound.timeline(context=1000, batch=4).spans) > 0


@pytest.mark.parametrize("name", ["gpu-only", "gpu-lol-pim", "lol-pim", "pam"])
def test_splits_are_systems_of_their_own(name):
    system = load_system(name)
    found = system.splits(QWEN)
    assert found and all(type(one) is type(system) and one.tp * one.pp == system.devices for one in found)
    assert [one.tp for one in found] == sorted(one.tp for one in found)
    assert all(one.description.spec == system.description.spec for one in found) == (
        system.description.gpus is not None
    )


@pytest.mark.parametrize("name", system_names())
def test_assumptions_are_data(name):
    found = load_system(name).assumptions()
    assert len(found) >= 6 and all(isinstance(one, Assumption) and one.meaning for one in found.values())
    assert len({one.meaning for one in found.values()}) == len(found)


def test_who_attends_is_told_once():
    """A system that attends elsewhere says so in place of the GPU's attention."""
    meaning = {name: load_system(name).assumptions()["attention"].meaning for name in system_names()}
    fused = {name for name, text in meaning.items() if "fused" in text}
    assert fused == {"gpu-only", "gpu-a100", "gpu-a100-pcie", "gpu-h100-pcie", "neupims-npu", "vllm-offload"}


def test_needs_are_told_and_change_nothing(module_records):
    assert load_system("gpu-only").needs(QWEN) == ()
    system = load_system("lol-pim")
    system.prepare(QWEN, module_records, False)
    known = system.decode_step(QWEN, 4, np.array([1000])).total_s
    assert len(system.needs(QWEN)) == 2 and len(load_system("aimx-pim").needs(QWEN)) == 1
    assert system.decode_step(QWEN, 4, np.array([1000])).total_s == known
