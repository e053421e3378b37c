"""``bankside kernels``: the list, and the import out of tables in the layout of aiconfigurator-core."""

import json
from pathlib import Path

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError, ToolMissing
from bankside.models.systems.kernels import load_kernels
from bankside.shell import cli
from bankside.studies import kernels

ROWS = {
    "gemm_perf": [
        dict(
            gemm_dtype=form,
            m=m,
            n=n,
            k=k,
            latency=m * n * k / (1e9 if form == "bfloat16" else 1e12),
            kernel_source="torch",
        )
        for form in ("bfloat16", "fp8")
        for m in (1, 4)
        for n in (64, 2560, 16384)
        for k in (64, 2048, 8192)
    ],
    "generation_attention_perf": [
        dict(
            attn_dtype="bfloat16",
            kv_cache_dtype=kv,
            beam_width=1,
            window_size=window,
            num_heads=heads,
            num_key_value_heads=heads,
            head_dim=128,
            batch_size=batch,
            isl=1,
            step=step,
            kernel_source=source,
            latency=batch * (step + 1) * (1e-6 if (kv, window, source) == ("bfloat16", 0, "first") else 1),
        )
        for source in ("first", "second")
        for kv in ("bfloat16", "fp8")
        for window in (0, 128)
        for heads in (32, 33)
        for batch in (1, 2)
        for step in (1, 3)
        if (batch, step) != (2, 3)
    ],
    "context_attention_perf": [
        dict(
            attn_dtype="bfloat16",
            kv_cache_dtype="bfloat16",
            beam_width=1,
            window_size=0,
            num_heads=32,
            num_key_value_heads=32,
            head_dim=128,
            batch_size=batch,
            isl=isl,
            step=0,
            kernel_source="first",
            latency=batch * isl * 1e-5,
        )
        for batch in (1, 2)
        for isl in (16, 32)
    ],
    "custom_allreduce_perf": [
        dict(
            allreduce_dtype="bfloat16",
            num_gpus=2,
            message_size=size,
            kernel_source=f"x_{mode}",
            latency=size * (1e-6 if mode == "graph" else 1e-3),
        )
        for mode in ("eager", "graph")
        for size in (128, 256)
    ],
}

FOLDERS = {
    "gemm_perf": "gemm",
    "generation_attention_perf": "attention",
    "context_attention_perf": "attention",
    "custom_allreduce_perf": "comm",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The package's folders. Tables are JSON, and read in place of Parquet."""
    data = tmp_path / "systems" / "data"
    (data.parent).mkdir()
    (data.parent / "g100.yaml").write_text("gpu: {bfloat16_tc_flops: 100000000000000, mem_bw: 1000000000000}\n")
    for version, scale in (("1.9.0", 1.0), ("1.10.0rc9", 9.0), ("1.10.0rc10", 2.0)):
        for name, rows in ROWS.items():
            if FOLDERS[name] == "comm" and version != "1.9.0":
                continue
            folder = data / "g100" / FOLDERS[name] / "vllm" / version
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.parquet").write_text(
                json.dumps([row | {"device": "G 100", "latency": row["latency"] * scale} for row in rows])
            )

    def columns(path):
        rows = json.loads(Path(path).read_text())
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    monkeypatch.setattr(kernels, "_package", lambda: (data, "0.12.7"))
    monkeypatch.setattr(kernels, "_columns", columns)
    return tmp_path


def test_import(package):
    """The newest version, 16-bit rows, graphs and the first kernel; shapes of the built-in models."""
    out = package / "k.json"
    kernels.import_kernels("g100/vllm", str(out))
    found = load_kernels(out)
    file = found.file
    assert (file.gpu, file.engine, file.peak_tflops, file.bandwidth_gb_s) == ("G 100", "vllm 1.10.0rc10", 100, 1000)
    assert "0.12.7" in file.source and file.tables["gemm"].source == "g100/gemm/vllm/1.10.0rc10/gemm_perf.parquet"
    assert found.gemm(4, 2560, 8192) == pytest.approx(2 * 4 * 2560 * 8192 / 1e12, rel=1e-4)
    # The step of the source counts cached tokens; the context counts the new token too.
    assert file.tables["attention_decode"].axes == {"batch": [1, 2], "context": [2, 4]}
    assert file.tables["attention_decode"].us == {"32 x 32 x 128": [[0.004, 0.008], [0.008, None]]}
    assert file.tables["attention_prefill"].us == {"32 x 32 x 128": [[0.32, 0.64], [0.64, 1.28]]}
    # Links were measured with an older version only.
    assert file.tables["all_reduce"].us == {"2": [0.128, 0.256]} and "1.9.0" in file.tables["all_reduce"].source


def test_import_of_a_version_and_of_all_shapes(package):
    out = package / "k.json"
    kernels.import_kernels("g100/vllm/1.9.0", str(out), whole=True)
    found = load_kernels(out)
    assert set(found.file.tables["attention_decode"].us) == {"32 x 32 x 128", "33 x 33 x 128"}
    assert len(found.file.tables["gemm"].us) == 9 and found.gemm(1, 64, 64) == pytest.approx(64 * 64 / 1e12, rel=1e-4)


def test_import_is_the_same_twice(package):
    for name in ("a", "b"):
        kernels.import_kernels("g100/vllm", str(package / name))
    assert (package / "a").read_bytes() == (package / "b").read_bytes()


@pytest.mark.parametrize(
    "origin, message",
    [
        ("h900/vllm", "unknown GPU 'h900'"),
        ("g100", "must be GPU/ENGINE or GPU/ENGINE/VERSION; engines of g100: vllm"),
        ("g100/sglang", "engines of g100: vllm"),
        ("g100/vllm/2", "unknown version '2'"),
        ("g100/vllm/1.9.0/x", "must be GPU/ENGINE or GPU/ENGINE/VERSION"),
    ],
)
def test_a_wrong_origin_is_one_line(package, origin, message):
    with pytest.raises(ConfigError) as error:
        kernels.import_kernels(origin, str(package / "k.json"))
    assert message in str(error.value) and "\n" not in str(error.value) and not (package / "k.json").exists()


def test_tables_of_another_layout_are_one_line(package):
    path = package / "systems/data/g100/gemm/vllm/1.10.0rc10/gemm_perf.parquet"
    path.write_text(path.read_text().replace('"latency"', '"duration"'))
    with pytest.raises(ConfigError, match=r"gemm_perf\.parquet: no column latency; this is another layout"):
        kernels.import_kernels("g100/vllm", str(package / "k.json"))


def test_without_the_package_one_line_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setattr(kernels, "SOURCE", "no-such-package")
    with pytest.raises(ToolMissing, match=r"pip install 'bankside\[gpu\]'"):
        kernels.import_kernels("h100_sxm/vllm", str(tmp_path / "k.json"))


def test_command(capsys, tmp_path):
    assert cli.main(["kernels", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert {"h100-sxm-sglang", "h100-sxm-vllm", "h100-sxm-trtllm", "a100-sxm-sglang"} <= {
        one["name"] for one in result["kernels"]
    }
    assert cli.main(["kernels"]) == 0 and "NVIDIA H100 80GB HBM3, vllm 0.24.0" in capsys.readouterr().out
    assert cli.main(["kernels", "--from", "h100_sxm/vllm"]) == 2
    assert "--from and -o come together" in capsys.readouterr().err


def test_timed_runs_of_a_command(capsys, tmp_path):
    runs = tmp_path / "runs.yaml"
    runs.write_text(
        "cent_gpu_measured:\n  latency_s_batch1: {Llama2-7B: [42.969, 1]}\n  llama2_70b_batch_latency_s: {1: 127}\n"
    )
    assert cli.main(["eval", "gpu-a100", "--reference", str(runs), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["model"] for row in rows] == ["llama-2-7b", "llama-2-70b"]
    assert cli.main(["eval", "gpu-a100", "--reference", str(runs)]) == 0
    assert "llama-2-70b      4     1" in capsys.readouterr().out
    assert cli.main(["eval", "pam", "--reference", str(runs)]) == 2
    assert "timed runs are compared with GPUs alone; pam has more" in capsys.readouterr().err
