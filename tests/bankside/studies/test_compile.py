"""`bankside compile`: execution tables, programs of a dispatcher, errors."""

import json

import numpy as np
import pytest

from bankside.constraints.aim.encoding import COMMANDS, DispatchError
from bankside.constraints.lolpim import dispatcher as dpa_dispatcher
from bankside.constraints.lolpim.dispatcher import DpaDispatcherConfig
from bankside.models.llm import load_model
from bankside.models.lolpim.compiler import compile_model
from bankside.models.lolpim.dispatcher import dispatch
from bankside.models.lolpim.host import load, set_layer, set_request, set_tokens, start
from bankside.models.memory.aim import INSTRUCTIONS, FrontEnd
from bankside.models.memory.aim_pingpong import PingPong
from bankside.models.program import Program
from bankside.models.program.encoding import canonical, decode_program, encode_program
from bankside.models.systems import load_system
from bankside.shell.cli import main


def compiled_json(capsys, *arguments):
    assert main(["compile", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "model,tokens",
    [
        ("qwen1.5-7b", 300),
        ("qwen1.5-7b", 16384),
        ("llama-3.1-70b", 5000),
        ("mpt-7b-storywriter", 2049),
        ("opt-6.7b", 2000),
    ],
)
def test_programs_do_what_the_table_says(model, tokens):
    """The program, bound to the tokens, has the table's commands for each layer, and its encoding gives it back."""
    system, shape = load_system("lol-pim"), load_model(model)
    compiled = compile_model(system, shape, tokens)
    wanted = {}
    for row in compiled.rows:
        for name, count in row.commands.items():
            if row.operator != "kv_append":
                wanted[name] = wanted.get(name, 0) + count * compiled.layers
    assert compiled.program.bind(tokens).counts() == wanted
    encoding = DpaDispatcherConfig().encoding
    words = encode_program(compiled.program, encoding, layer=True)
    assert decode_program(words, encoding, layers=compiled.layers) == canonical(compiled.program)


@pytest.mark.parametrize("tensor,pipeline,chunk", [(4, 32, 2048), (8, 16, 256), (16, 8, 1024), (8, 16, 8192)])
def test_operators_do_not_share_what_they_must_not(tensor, pipeline, chunk):
    """Weights of all operators and layers in rows of their own, each row's columns once; keys and values too."""
    overrides = {"parallelism.tensor": tensor, "parallelism.pipeline": pipeline, "allocation.chunk_tokens": chunk}
    system, shape = load_system("lol-pim", overrides), load_model("qwen1.5-7b")
    compiled = compile_model(system, shape, 3000)
    weights, kept = set(), set()
    for op, at in compiled.program.bind(3000).expand():
        if op == "MAC_ABK":
            place = {(at["row"], column) for column in range(at.get("column", 0), at.get("column", 0) + at["opsize"])}
            if "slot" in at and at["opsize"] == 1:
                continue  # a product with zeros, in a row that is there
            where = kept if "slot" in at else weights
            assert not where & place
            where |= place
    rows = {row for row, _ in weights}
    assert rows == set(range(compiled.layers * sum(gemv.rows for _, gemv in system.gemvs(shape))))
    assert max(row for row, _ in kept) < compiled.virtual_rows


def test_scores_of_a_growing_request_begin_the_same():
    """A program's rows for more tokens are those for fewer and further ones: what is there stays where it is."""
    compiled = compile_model(load_system("lol-pim"), load_model("qwen1.5-7b"), 4096)

    def rows(tokens):
        return {at["row"] for op, at in compiled.program.bind(tokens).expand() if op == "MAC_ABK" and "slot" in at}

    assert rows(300) < rows(2049) < rows(9000)


def test_table_and_files(tmp_path, capsys):
    result = compiled_json(capsys, "llama-3.1-8b", "--tokens", "8192", "--listing", "-o", str(tmp_path / "layer.bin"))
    assert result["patterns"][:2] == ["GQA: 4 queries share a key/value head", "SwiGLU: product of two projections"]
    names = [row["operator"] for row in result["operators"]]
    assert names == [
        "norms",
        "qkv",
        "rotary",
        "kv_append",
        "attention_score",
        "softmax",
        "attention_context",
        "out_projection",
        "attention_allreduce",
        "ffn_gate",
        "ffn_up",
        "ffn_gate_product",
        "ffn_down",
        "ffn_allreduce",
        "residuals",
        "partial_sums",
    ]
    words = [line.split() for line in (tmp_path / "layer.bin").read_text().splitlines()]
    program = result["program"]
    assert 4 * sum(map(len, words)) == program["bytes"] and len(program["listing"]) == program["lines"] == len(words)
    assert main(["compile", "mpt-7b-storywriter", "--operator", "ffn_up", "--listing"]) == 0
    text = capsys.readouterr().out
    assert "FFN of two matrices with gelu" in text and "Dyn-Loop" in text and "qkv" not in text
    assert main(["compile", "qwen1.5-7b", "--system", "aimx-pim", "--listing"]) == 0
    assert "stage attention_context" in capsys.readouterr().out


def test_a_file_of_a_model(tmp_path, capsys):
    card = {
        "model_type": "llama",
        "hidden_size": 1024,
        "num_hidden_layers": 32,
        "num_attention_heads": 8,
        "num_key_value_heads": 8,
        "intermediate_size": 4096,
        "vocab_size": 1000,
        "max_position_embeddings": 8192,
    }
    (tmp_path / "config.json").write_text(json.dumps(card))
    result = compiled_json(capsys, str(tmp_path), "--tokens", "9000")
    assert result["warnings"] == [f"9000 tokens exceed the 8192 positions that {tmp_path.name} was made for"]


@pytest.mark.parametrize(
    "arguments,message",
    [
        (("qwen1.5-7b", "--system", "gpu-gddr"), "gpu-gddr has no modules to compile programs for"),
        (("qwen1.5-7b", "--operator", "qvk"), "did you mean 'qkv'"),
        (("qwen1.5-7b", "--system", "aimx-pim", "-o", "x.bin"), "aimx-pim has no dispatcher"),
        (("gpt2-xl",), "tensor parallelism of 8 does not divide the model's 25 attention heads"),
        (("llama-3.1-70b", "--tokens", "60000"), "registers of the hub, 32 bytes each; it has 16384"),
        (("opt-175b", "--set", "node.nodes=2", "--set", "parallelism.pipeline=2"), "the weights need"),
        (("llama-3.1-70b", "--tokens", "9000000"), "not even one request fits"),
        (("qwen1.5-7b", "--set", "parallelism.tensor=3"), "tensor 3 times pipeline 16 must be the 128 modules"),
        (
            ("qwen1.5-7b", "--set", "parallelism.tensor=64", "--set", "parallelism.pipeline=2"),
            "programs are compiled for whole heads, and with tensor parallelism of 64 2 modules share a head; it has 32 heads",
        ),
        (("qwen1.5-7b", "--set", "features.ping_pong"), "must be KEY=VALUE"),
        (("qwen1.5-7b", "--set", "hub.preset=lol"), "unknown preset of pim-hub 'lol'; did you mean 'lol-pim'?"),
    ],
)
def test_errors_are_one_line(arguments, message, capsys):
    assert main(["compile", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_program_beyond_the_command_buffer(capsys, monkeypatch):
    monkeypatch.setitem(dpa_dispatcher.PRESETS, "lol-pim", DpaDispatcherConfig(command_bytes=1024))
    assert main(["compile", "qwen1.5-7b"]) == 2
    assert "the program takes 81 lines, but the command buffer has 32" in capsys.readouterr().err


def test_the_dispatcher_executes_what_was_compiled():
    """Words of a layer's program, on the dispatcher's model with a request whose rows are scattered: what it issues is the
    program for that layer and so many tokens, with the request's rows looked up."""
    system, shape = load_system("lol-pim"), load_model("qwen1.5-7b")
    compiled = compile_model(system, shape, 4096)
    config = DpaDispatcherConfig()
    rows = np.random.default_rng(1).permutation(1 << 13)[: compiled.virtual_rows].tolist()
    words = encode_program(compiled.program, config.encoding, layer=True)
    base = [*load(config, words), *set_request(config, 2, 7, 2500, 100, rows)]
    for layer, tokens in ((0, 2500), (1, 2500), (1, 300)):
        issued, done = dispatch(
            config, [*base, set_tokens(config, 2, tokens), set_layer(config, layer, 2), start(config, 0, 2)]
        )
        assert [end.code for end in done] == [DispatchError.NONE]
        whole = list(compiled.program.bind(tokens).expand())
        wanted = whole[layer * len(whole) // 2 : (layer + 1) * len(whole) // 2]
        assert len(wanted) == len(issued.values)
        columns = {
            name: issued.column(name).tolist() for name in ("op", "row", "gpr", "gpr1", "opsize", "mask", "column")
        }
        for n, (op, at) in enumerate(wanted):
            assert columns["op"][n] == COMMANDS[op].code
            if "row" in at:
                assert columns["row"][n] == (rows[at["row"]] if "slot" in at else at["row"])
            for name in ("gpr", "gpr1", "opsize", "mask", "column"):
                assert columns[name][n] == at.get("gpr0" if op in ("EWADD", "SOFTMAX") and name == "gpr" else name, 0)


def test_compiled_words_are_timed(tmp_path, capsys):
    """What the engine says of the program, its request's rows behind the weights, with one and two sets of buffers."""
    path = str(tmp_path / "layer.hex")
    compiled_json(capsys, "qwen1.5-7b", "-o", path)
    compiled = compile_model(load_system("lol-pim"), load_model("qwen1.5-7b"), 4096)
    front_end, weights = FrontEnd(), 104  # rows of a layer's weights
    whole = list(compiled.program.bind(1000).expand())
    expected = Program()
    for op, at in whole[: len(whole) // compiled.layers]:
        if op not in INSTRUCTIONS:
            continue  # the hub's
        fields = {name: at[name] for name in INSTRUCTIONS[op].fields}
        expected.command(op, **fields | ({"row": at["row"] + weights} if "slot" in at else {}))
    for buffering, machine in (("single", front_end), ("ping-pong", PingPong(front_end))):
        assert main(["time", path, "--tokens", "1000", "--buffering", buffering, "--json"]) == 0
        result = json.loads(capsys.readouterr().out)
        timing = machine.time(expected)
        assert result["cycles"] == timing.cycles and result["commands"] == timing.commands
        assert result["format"] == "words" and result["lines"] == 81
    assert main(["time", path, "--tokens", "1000", "--export", "program", "--output", str(tmp_path / "layer.txt")]) == 0
    assert main(["time", str(tmp_path / "layer.txt"), "--memory", "gddr6-aim", "--json"]) == 0
    assert f'"cycles": {front_end.time(expected).cycles},' in capsys.readouterr().out


@pytest.mark.parametrize(
    "text,arguments,message",
    [
        ("MAC_ABK opsize=8 mask=1 row=0 column=64", (), ":1: MAC_ABK: column must be 0 to 63, not 64"),
        (
            "MAC_ABK opsize=8 mask=1 row=0 register=2 slot=0\nRD_AF gpr=0 mask=1 function=0",
            (),
            ":2: RD_AF: unknown operand",
        ),
        ("SOFTMAX opsize=8 gpr0=1\nRD_MAC gpr=0 mask=1", (), ":1: SOFTMAX: needs the operand gpr1"),
        ("loop i0 < tokens/256\n  MAC_ABK opsize=8 mask=1 row=i0 slot=0", (), "depend on the tokens of a request"),
        (
            "loop i0 < tokens/4\n  MAC_ABK opsize=8 mask=1 row=i0 slot=0\nMAC_ABK opsize=8 mask=1 row=16000",
            ("--tokens", "4000"),
            "16001 rows and its request 1000; a bank has 16384",
        ),
        ("RD bank_group=0 bank=0 row=1 column=0", ("--buffering", "single"), "for instructions of an AiM device"),
        ("RD_MAC gpr=0 mask=1", ("--buffering", "double"), "unknown --buffering 'double'"),
        (
            "RD_MAC gpr=0 mask=1",
            ("--buffering", "ping-pong", "--timeline", "t.json"),
            "not available with two sets of buffers",
        ),
        ("00010008 7fff8000 0 0 0 0 0 0", ("--format", "words"), ":1: a line of the command buffer is 8 words"),
        (
            "00010008 7fff8000 00000000 00000000 00000000 00000000 00000000 00000000",
            (),
            "line 1: program or body of a loop ",
        ),
    ],
)
def test_programs_that_cannot_be_timed(text, arguments, message, tmp_path, capsys):
    path = tmp_path / "p"
    path.write_text(text)
    assert main(["time", str(path), "--memory", "gddr6-aim", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


@pytest.mark.parametrize("model,tokens", [("qwen1.5-7b", 3000), ("llama-3.1-70b", 5000), ("qwen1.5-7b", 200)])
def test_every_result_is_read_before_its_register_is_used_again(model, tokens):
    """Each sum of products begins with zeros and is read before its register gets the next ones. Two sets: zeros go to the
    set that the last product did not use, and results come from the one that it did."""
    for system in ("lol-pim", "aimx-pim"):
        loaded, shape = load_system(system), load_model(model)
        double = loaded.spec.features.ping_pong
        sets, products, now, free, read = [0, 0], 0, 0, None, 0
        for op, at in compile_model(loaded, shape, tokens).program.bind(tokens).expand():
            if op == "WR_BIAS":
                free = 1 - now if double else now
                assert at["gpr"] and sets[free] == 0  # nothing unread is lost
            elif op == "MAC_ABK":
                now = free if free is not None else now
                free = None
                sets[now] += 1
                products += 1
                zeros = at["opsize"] == 1  # they are read more than once
            elif op == "RD_MAC":
                assert sets[now] >= 1 or zeros  # of the set of the last product
                read += sets[now]
                sets[now] = 0
        assert read == products and sets == [0, 0]


@pytest.mark.parametrize("model", ["qwen1.5-7b", "llama-3.1-70b"])
def test_partial_results_are_added(model):
    """Registers of linear layers' results get all pieces: what is read elsewhere is added to them, whole and at once."""
    loaded, shape = load_system("lol-pim"), load_model(model)
    for name, gemv in loaded.gemvs(shape):
        compiled = compile_model(loaded, shape, 1000, operator=name)
        pieces = {}
        pending = None
        for op, at in list(compiled.program.bind(1000).expand())[: sum(compiled.rows[0].commands.values())]:
            if op == "WR_GB":
                assert not pending
                pending = set()
            elif op == "RD_MAC":
                pending |= set(range(at["gpr"], at["gpr"] + 16))
            elif op == "EWADD":
                assert pending == set(range(at["gpr1"], at["gpr1"] + at["opsize"]))
                for n in range(at["opsize"]):
                    pieces[at["gpr0"] + n] += 1
                pending = None
            if op == "RD_MAC" and len(pending) == gemv.result_words and not pieces:
                pieces, pending = dict.fromkeys(pending, 1), None
        assert len(pieces) == gemv.result_words and set(pieces.values()) == {gemv.spans}
