"""Kernel records: interpolation as the source's own engine does it, holes, and systems with measured times."""

import json

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.kernels import FILES, OPERATORS, KernelFile
from bankside.models.llm import load_model
from bankside.models.systems import load_system
from bankside.models.systems.gpu_reference import OUTPUT, Run, compare_runs, read_runs
from bankside.models.systems.kernels import KernelGap, Kernels, load_kernels
from bankside.models.systems.platform import MicroBatch


def table(axes, us, kernel="k"):
    return {"source": "a table", "kernel": kernel, "axes": axes, "us": us}


#: Records of a GPU with 1 TFLOPS and 1 GB/s, small enough to work by hand.
SMALL = {
    "schema": 1,
    "gpu": "G",
    "engine": "e 1",
    "number_format": "bfloat16",
    "peak_tflops": 1,
    "bandwidth_gb_s": 1,
    "source": "a test",
    "notice": "none",
    "tables": {
        "gemm": table(
            {"m": [1, 3, 8]},
            {"8 x 8": [10, 20, None], "8 x 16": [30, 60, 90], "16 x 8": [40, 50, 60], "32 x 32": [200, 210, 220]},
        ),
        "attention_decode": table(
            {"batch": [1, 4], "context": [2, 10, 20]}, {"4 x 2 x 8": [[1, 5, 10], [4, 20, None]]}
        ),
        "attention_prefill": table(
            {"batch": [1, 2], "tokens": [1, 10, 100]}, {"4 x 2 x 8": [[1, 10, 500], [2, 20, 1000]]}
        ),
        "all_reduce": table({"elements": [128, 1024]}, {"2": [5, 12]}),
    },
}


def small(**changes):
    return Kernels("small", KernelFile.model_validate(json.loads(json.dumps(SMALL)) | changes))


class Nothing:
    def find(self, measurement):
        return None


# Interpolation -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, us",
    [
        ((16, 14336, 8192), 81.54689880655225),
        ((200, 14336, 8192), 86.84138243701234),
        ((1000, 14336, 8192), 276.5615520099198),
        ((20, 28672, 8192), 159.58986193623892),
        ((16, 32064, 8192), 186.42091334959008),
        ((300, 8192, 7168), 53.22200852022191),
    ],
)
def test_products_in_between_equal_the_sources_engine(shape, us):
    """Values of aiconfigurator-core 0.12.0's compiled engine for h100_sxm, vllm 0.24.0; the records have five digits."""
    assert load_kernels("h100-sxm-vllm").gemm(*shape) * 1e6 == pytest.approx(us, rel=2e-5)


@pytest.mark.parametrize(
    "batch, context, us",
    [
        (16, 5000, 41.93793808614525),
        (20, 5000, 48.59210501551085),
        (8, 3000, 17.54012514720671),
        (100, 300, 20.786958403429406),
    ],
)
def test_attention_in_between_equals_the_sources_engine(batch, context, us):
    got = load_kernels("h100-sxm-vllm").decode_attention(batch, np.array([context]), 16, 2, 128)
    assert got * 1e6 == pytest.approx([us], rel=2e-5)


@pytest.mark.parametrize(
    "elements, us", [(24576, 5.069120079278946), (81920, 6.144719868898393), (196608, 9.288159906864166)]
)
def test_all_reduces_in_between_equal_the_sources_engine(elements, us):
    assert load_kernels("h100-sxm-vllm").all_reduce(elements, 4) * 1e6 == pytest.approx(us, rel=5e-5)


def test_points_by_hand():
    kernels = small()
    assert kernels.gemm(2, 8, 8) == pytest.approx(15e-6)  # half way between 10 and 20
    assert kernels.gemm(3, 16, 8) == pytest.approx(50e-6)
    # 64 columns run as two times 32, and 17 rows as 8 + 8 + 1
    assert kernels.gemm(3, 64, 32) == pytest.approx(420e-6)
    assert kernels.gemm(17, 16, 8) == pytest.approx((60 + 60 + 40) * 1e-6)
    assert kernels.decode_attention(1, np.array([2, 6, 15]), 4, 2, 8) * 1e6 == pytest.approx([1, 3, 7.5])
    assert kernels.decode_attention(2, np.array([10]), 4, 2, 8) * 1e6 == pytest.approx([10])
    assert kernels.all_reduce(576, 2) == pytest.approx(8.5e-6)


def test_a_matrix_in_between_has_the_share_of_the_bound_of_its_neighbours():
    """All four matrices reach the bound's half, so one in between does, whatever the weights."""
    bound = {
        key: 2e-9 * (m * k + n * k + m * n) * 1e6
        for m in (1,)
        for key, (n, k) in {"8 x 8": (8, 8), "8 x 16": (8, 16), "16 x 8": (16, 8), "32 x 32": (32, 32)}.items()
    }
    gemm = table({"m": [1]}, {key: [2 * us] for key, us in bound.items()})
    kernels = small(tables=SMALL["tables"] | {"gemm": gemm})
    assert kernels.gemm(1, 12, 20) == pytest.approx(2 * 2e-9 * (20 + 12 * 20 + 12))


def test_every_point_of_the_files_is_itself():
    for name in FILES:
        kernels = load_kernels(name)
        for n, k in [(8192, 8192), (4096, 4096)]:
            grid = kernels.file.tables["gemm"]
            for m, us in list(zip(grid.axes["m"], grid.us[f"{n} x {k}"], strict=True))[::7]:
                assert kernels.gemm(m, n, k) == pytest.approx(us * 1e-6)
        assert set(kernels.file.tables) == set(OPERATORS) and "Apache" in kernels.file.notice


def test_longer_kernels_never_take_less_time_in_the_files():
    """Four times the elements take longer, and so do eight times the tokens. Between neighbours curves have steps."""
    for name in FILES:
        kernels = load_kernels(name)
        for gpus in (2, 4, 8):
            times = [kernels.all_reduce(1 << power, gpus) for power in range(13, 30, 2)]
            assert sorted(times) == times, (name, gpus)
        for batch in (1, 8, 64):
            times = kernels.decode_attention(batch, np.array([128, 1024, 8192]), 16, 2, 128)
            assert (np.diff(times) > 0).all(), (name, batch)


# Holes -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ask, message",
    [
        (lambda k: k.gemm(5, 8, 8), "small: gemm with n x k = 8 x 8, m 5 has a hole there"),
        (lambda k: k.gemm(1, 8, 64), "small: gemm with n x k = 8 x 64 lies beyond 8 x 8 to 32 x 32"),
        (
            lambda k: k.decode_attention(1, np.array([21]), 4, 2, 8),
            "heads x kv_heads x head_dim = 4 x 2 x 8, context 21 lies beyond 2 to 20",
        ),
        (
            lambda k: k.decode_attention(1, np.array([2]), 4, 4, 8),
            "4 x 4 x 8 was not measured; the nearest are 4 x 2 x 8",
        ),
        (lambda k: k.all_reduce(64, 2), "all_reduce with gpus = 2, elements 64 lies beyond 128 to 1024"),
        (lambda k: k.all_reduce(128, 8), "gpus = 8 was not measured"),
    ],
)
def test_beyond_the_measured_points_is_an_error(ask, message):
    with pytest.raises(KernelGap) as error:
        ask(small())
    assert message in str(error.value)


def test_requests_beyond_the_measured_batch_run_in_several_calls():
    """Four requests were measured up to a context of 10, one request up to 20."""
    kernels = small()
    assert kernels.longest_context(4, 2, 8) == 20
    assert kernels.decode_attention(9, np.array([2, 10]), 4, 2, 8) * 1e6 == pytest.approx([4 + 4 + 1, 20 + 20 + 5])
    assert kernels.decode_attention(3, np.array([10, 15, 20]), 4, 2, 8) * 1e6 == pytest.approx([15, 3 * 7.5, 30])
    hole = {"4 x 2 x 8": [[1, None, 10], [4, 20, None]]}
    with pytest.raises(KernelGap, match="batch 2, context 5 has a hole there"):
        small(
            tables=SMALL["tables"] | {"attention_decode": table({"batch": [1, 4], "context": [2, 10, 20]}, hole)}
        ).decode_attention(2, np.array([2, 5]), 4, 2, 8)


def without_gemm(document):
    del document["tables"]["gemm"]


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda d: d["tables"]["gemm"]["axes"].update(m=[3, 1, 8]), "tables.gemm.axes.m must be ascending"),
        (lambda d: d["tables"]["gemm"]["us"].update({"8 x 8": [1, 2]}), "tables.gemm.us['8 x 8'] must have 3 times"),
        (lambda d: d["tables"]["gemm"]["us"].update({"8 x 8": [1, 2, -1]}), "greater than 0, or null, not -1"),
        (lambda d: d["tables"]["gemm"]["us"].update({"8x8": [1, 2, 3]}), "a shape is n x k"),
        (lambda d: d["tables"]["all_reduce"].update(axes={"bytes": [1, 2]}), "axes must be elements, not bytes"),
        (lambda d: d["tables"].update(softmax=d["tables"]["gemm"]), "softmax"),
        (lambda d: d.update(number_format="fp8"), "number_format"),
        (lambda d: d.pop("notice"), "missing key 'notice'"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, change, message):
    document = json.loads(json.dumps(SMALL))
    change(document)
    path = tmp_path / "k.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ConfigError) as error:
        load_kernels(path)
    assert message in str(error.value) and "\n" not in str(error.value) and str(path) in str(error.value)


# Systems -----------------------------------------------------------------------------------------------------------------


def test_a_system_takes_the_measured_times():
    """Eight H100, TP 4, PP 2, micro-batches of 8: each operator as the records have it, gate and up as one product."""
    system, model, kernels = (
        load_system("gpu-only", {"gpu.rule": "measured"}),
        load_model("llama-3-70b"),
        load_kernels("h100-sxm-sglang"),
    )
    layer = system.layer(model, MicroBatch(8, 16), np.array([4096, 5000]))
    assert layer["qkv"].time_s == kernels.gemm(8, 2560, 8192)
    assert layer["ffn_gate"].time_s + layer["ffn_up"].time_s == kernels.gemm(8, 14336, 8192)
    assert layer["attention"].time_s == pytest.approx(kernels.decode_attention(8, np.array([4096, 5000]), 16, 2, 128))
    assert layer["ffn_allreduce"].time_s == kernels.all_reduce(8 * 8192, 4)
    bound = load_system("gpu-only").layer(model, MicroBatch(8, 16), np.array([4096, 5000]))
    assert layer["ffn_norm"].time_s == bound["ffn_norm"].time_s
    assert all(layer[name].energy_pj.keys() == cost.energy_pj.keys() for name, cost in bound.items())
    assert layer["qkv"].energy_pj == bound["qkv"].energy_pj


def test_a_result_names_its_kernel_records():
    system = load_system("gpu-only", {"gpu.rule": "measured", "gpu.kernels": "h100-sxm-vllm"})
    done = system.evaluate(load_model("llama-3-70b"), context=4096, batch=16, records=Nothing())
    assert done.records == ["kernels h100-sxm-vllm"] and done.gpu_rule == "measured"
    assert done.tools["kernels h100-sxm-vllm"]["engine"] == "vllm 0.24.0"
    assert any("vllm 0.24.0 on NVIDIA H100 80GB HBM3" in line for line in done.assumptions)
    assert (
        load_system("gpu-only").evaluate(load_model("llama-3-70b"), context=4096, batch=16, records=Nothing()).records
        == []
    )


def test_records_of_a_users_own_file(tmp_path):
    """A relative path begins at the folder of the system's file."""
    text = FILES["h100-sxm-sglang"].read_text().replace('"sglang 0.5.14"', '"mine 2"')
    (tmp_path / "mine.json").write_text(text)
    from bankside.constraints.systems import FILES as SYSTEMS

    system = tmp_path / "mine.yaml"
    system.write_text(
        SYSTEMS["gpu-only"].read_text().replace("kernels: h100-sxm-sglang", "rule: measured\n  kernels: mine.json")
    )
    assert load_system(system).roofline.kernels.file.engine == "mine 2"


@pytest.mark.parametrize(
    "model, changes, message",
    [
        ("llama-3-70b", {"parallelism.tensor": 1, "parallelism.pipeline": 8}, None),
        ("qwen1.5-72b", {}, None),
        ("qwen1.5-72b", {"gpu.kernels": "h100-sxm-vllm"}, "16 x 16 x 128 was not measured"),
        ("gpt-13b", {}, "was not measured"),
    ],
)
def test_a_model_without_measured_shapes_is_one_line(model, changes, message):
    system = load_system("gpu-only", {"gpu.rule": "measured", **changes})
    if message is None:
        system.evaluate(load_model(model), context=4096, batch=16, records=Nothing())
    else:
        with pytest.raises(KernelGap, match=message):
            system.evaluate(load_model(model), context=1024, batch=16, records=Nothing())


def test_serving_takes_measured_times():
    """A step of requests with unequal contexts takes the mean of the measured kernels; prompts take the prefill kernel."""
    model, kernels = load_model("llama-3-70b"), load_kernels("h100-sxm-sglang")
    system = load_system("gpu-only", {"gpu.rule": "measured", "parallelism.tensor": 8, "parallelism.pipeline": 1})
    served = system.served(model, Nothing())
    contexts = np.array([100, 3000, 7000])
    steps = served.decode_run(contexts, 3)
    linear = float(served._linear(3, 3)[0])
    for k in range(3):
        attention = kernels.decode_attention(3, contexts + k, 8, 1, 128).mean()
        assert steps[k] == pytest.approx(linear + model.layers * attention)
    # Two prompts, one of them half done: the mean over both of the kernel for two such prompts
    seconds = served._prefill_attention(np.array([1000, 500]), np.array([0, 500]))
    whole, half = kernels.prefill_attention(2, np.array([1000, 500]), 8, 1, 128)
    assert seconds == pytest.approx((whole + (whole - half)) / 2)


def test_a_prompt_longer_than_its_window_was_not_measured():
    device = load_system("gpu-only", {"gpu.rule": "measured"}).roofline
    inside, beyond = (np.array([tokens]) for tokens in (4096, 4097))
    assert device.prompt_cost(8, 2, 128, 2, inside, inside * 0, 4096).time_s > 0
    with pytest.raises(KernelGap, match="attention_prefill of 4097 tokens with a window of 4096"):
        device.prompt_cost(8, 2, 128, 2, beyond, beyond * 0, 4096)


# Timed runs --------------------------------------------------------------------------------------------------------------


RUNS = """cent_gpu_measured:  # two runs
  latency_s_batch1: {Llama2-7B: [42.969, 1], Llama2-13B: [51.468, 2]}
  llama2_70b_batch_latency_s: {1: 127.06, 128: 511.3}
other: {anything: 1}
"""


def test_timed_runs(tmp_path):
    path = tmp_path / "runs.yaml"
    path.write_text(RUNS)
    runs = read_runs(path)
    assert runs == [
        Run("llama-2-7b", 1, 1, 42.969),
        Run("llama-2-13b", 2, 1, 51.468),
        Run("llama-2-70b", 4, 1, 127.06),
        Run("llama-2-70b", 4, 128, 511.3),
    ]
    one, two, *_ = compare_runs(load_system("gpu-a100"), runs[:2], Nothing())
    measured = one["rules"]["measured"]
    assert measured["share_of_measured"] == pytest.approx((measured["prefill_s"] + measured["decode_s"]) / 42.969)
    host_s = 42.969 - measured["prefill_s"] - measured["decode_s"]
    assert measured["host_ms_per_step"] == pytest.approx(host_s / OUTPUT * 1e3)
    assert one["rules"]["roofline"]["share_of_measured"] < one["rules"]["attacc-simulator"]["share_of_measured"]
    assert "20 x 20 x 128 was not measured" in two["rules"]["measured"]["why"]


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("cent_gpu_measured:", "cent:", "missing key 'cent_gpu_measured'"),
        ("[42.969, 1]", "[42.969]", "latency_s_batch1"),
        ("{1: 127.06", "{one: 127.06", "a key is a batch, not 'one'"),
        ("[42.969, 1]", "[0.0, 1]", "seconds and GPUs must be greater than 0"),
        ("Llama2-7B", "Llama9-7B", "unknown model 'llama-9-7b'"),
    ],
)
def test_a_file_of_another_layout_is_one_line(tmp_path, old, new, message):
    path = tmp_path / "runs.yaml"
    path.write_text(RUNS.replace(old, new))
    with pytest.raises(ConfigError) as error:
        compare_runs(load_system("gpu-a100"), read_runs(path)[:1], Nothing())
    assert message in str(error.value) and "\n" not in str(error.value)
