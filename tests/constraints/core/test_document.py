"""Configuration files: every mistake is one line that says where it is, what is wrong and what would be valid."""

from typing import Literal

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, model_validator

from bankside.constraints.core.document import MAX_BYTES, Strict, load, parse, parse_json, validate
from bankside.constraints.core.errors import BanksideError, CheckFailed, ConfigError, ToolMissing, nearest
from bankside.constraints.memory.memory import FOLDER


class Part(Strict):
    width: int = Field(ge=1, le=64)
    name: str = "x"


class Whole(Strict):
    mode: Literal["fast", "slow"]
    rate: float = Field(default=1.0, gt=0)
    enabled: bool = True
    part: Part | None = None
    parts: list[Part] = []

    @model_validator(mode="after")
    def _check(self):
        if self.part and self.part.width == 13:
            raise ValueError("Width of part must not be 13")
        return self


def error(tmp_path, text):
    path = tmp_path / "unit.yaml"
    if isinstance(text, bytes):
        path.write_bytes(text)
    else:
        path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(path, Whole)
    message = str(caught.value)
    assert message.startswith(str(path)) and "\n" not in message
    return message.removeprefix(str(path))


def test_a_valid_document(tmp_path):
    path = tmp_path / "unit.yaml"
    path.write_text("# comment\nmode: fast\nrate: 2.5\npart: {width: 3}\nparts:\n  - width: 1\n    name: 'a'\n")
    whole = load(path, Whole)
    assert whole == Whole(mode="fast", rate=2.5, part=Part(width=3), parts=[Part(width=1, name="a")])
    assert load(str(path), Whole) == whole
    path.write_text('{"mode": "slow", "part": {"width": 64}}')  # JSON is YAML
    assert load(path, Whole).part.width == 64
    with pytest.raises(ValueError, match="frozen"):
        whole.mode = "slow"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "mode: fast\nrtae: 2\n",
            ":2: unknown key 'rtae'; did you mean 'rate'? (valid: enabled, mode, part, parts, rate)",
        ),
        ("mode: fast\npart:\n  name: y\n  widht: 3\n", ":4: unknown key 'part.widht'"),
        ("rate: 2.0\n", ": missing key 'mode'"),
        ("mode: fast\npart: {name: y}\n", ":2: missing key 'part.width'"),
        ("mode: quick\n", ":1: mode: input should be 'fast' or 'slow', not 'quick'"),
        ("mode: fast\nrate: -1\n", ":2: rate: input should be greater than 0, not -1"),
        ("mode: fast\nrate: .inf\n", ":2: '.inf' is not a finite number"),
        ("mode: fast\nrate: -.nan\n", ":2: rate: input should be a valid number, not '-.nan'"),
        ("mode: fast\nrate: .nan\n", ":2: '.nan' is not a finite number"),
        ("mode: fast\nrate: 1e400\n", ":2: '1e400' is beyond every number"),
        ("mode: fast\npart: {width: 010}\n", ":2: '010' begins with 0: octal is 0o10, decimal has no 0 in front"),
        ("mode: fast\npart: {width: 1_0}\n", ":2: part.width: input should be a valid integer, not '1_0'"),
        ("mode: fast\nrate: 1:30\n", ":2: rate: input should be a valid number, not '1:30'"),
        ("mode: fast\nenabled: on\n", ":2: enabled: input should be a valid boolean, not 'on'"),
        ("mode: fast\npart:\n\n  width: 65\n", ":4: part.width: input should be less than or equal to 64, not 65"),
        ("mode: fast\npart: {width: '3'}\n", ":2: part.width: input should be a valid integer, not '3'"),
        ("mode: fast\npart: {width: yes}\n", ":2: part.width: input should be a valid integer, not 'yes'"),
        ("mode: fast\npart: {width: 3.0}\n", ":2: part.width: input should be a valid integer, not 3.0"),
        ("mode: fast\nenabled: 1\n", ":2: enabled: input should be a valid boolean, not 1"),
        (
            "mode: fast\nparts:\n- width: 1\n- width: 0\n",
            ":4: parts.1.width: input should be greater than or equal to 1, not 0",
        ),
        ("mode: fast\npart: {width: 13}\n", ": width of part must not be 13"),
        ("mode: fast\nmode: slow\n", ":2: key 'mode' appears twice"),
        ("mode: [fast\n", ":2: not valid YAML: expected ',' or ']'"),
        ("mode: fast\n rate: 2\n", ":2: not valid YAML: mapping values are not allowed here"),
        ("mode: fast\n\tx: 1\n", ":2: not valid YAML"),
        ("", ": is empty"),
        ("# nothing\n", ": is empty"),
        ("- mode\n", ": must be a mapping of keys to values, not list"),
        ("mode\n", ": must be a mapping of keys to values, not str"),
        ("? [a]\n: 1\n", ":1: a key must be plain text"),
        (
            "mode: !!python/object/apply:os.system ['x']\n",
            ":1: tag tag:yaml.org,2002:python/object/apply:os.system is not",
        ),
        ("mode: !!python/name:os.system x\n", ":1: tag tag:yaml.org,2002:python/name:os.system is not allowed"),
        ("mode: !!int 5\n", ":1: tag tag:yaml.org,2002:int is not allowed"),
        ("part: !mine {width: 1}\n", ":1: tag !mine is not allowed"),
        ("mode: 2024-13-77\n", ":1: mode: input should be 'fast' or 'slow', not '2024-13-77'"),
        ("mode: 2024-01-01\n", ":1: mode: input should be 'fast' or 'slow', not '2024-01-01'"),
        ("mode: fast\nrate: " + "9" * 5000 + "\n", ":2: a value of 5000 characters"),
        ("mode: " + "[" * 40 + "]" * 40 + "\n", ":1: more than 20000 values or 32 levels"),
        (
            "a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
            "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
            "e: [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n",
            "more than 20000 values",
        ),
        ("a: &a [*a]\n", "32 levels"),
        (b"mode: \xff\n", ": not UTF-8 text (byte 6)"),
        (b"mode: \x00\n", ": not valid YAML"),
        (b"#" * (MAX_BYTES + 1), f": a configuration file has at most {MAX_BYTES} bytes"),
    ],
)
def test_mistakes(tmp_path, text, message):
    got = error(tmp_path, text)
    assert message in got, got
    assert got.startswith(":")


def test_all_mistakes_are_told_at_once(tmp_path):
    got = error(tmp_path, "mode: x\nrate: 0\nparts: [{width: 0}]\nother: 1\n")
    for part in (":1: mode:", ":2: rate:", ":3: parts.0.width:", ":4: unknown key 'other'"):
        assert part in got


def test_a_typo_is_not_told_twice(tmp_path):
    """A key that is missing because it is misspelt is told once, as a misspelling."""
    got = error(tmp_path, "moed: fast\n")
    assert "did you mean 'mode'?" in got and "missing" not in got


def test_files_that_can_not_be_read(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.yaml: no such file or directory"):
        load(tmp_path / "absent.yaml", Whole)
    with pytest.raises(ConfigError, match=": is a directory$"):
        load(tmp_path, Whole)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10", 10),
        ("-3", -3),
        ("0o17", 15),
        ("0x1F", 31),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("2.", 2.0),
        ("true", True),
        ("~", None),
        ("'5'", "5"),
        ("yes", "yes"),
        ("2024-01-01", "2024-01-01"),
        ("1e", "1e"),
        ("0", 0),
        ("-0.25", -0.25),
    ],
)
def test_plain_values_are_those_of_yaml_1_2(text, value):
    found = parse(f"a: {text}\n", "text")[0]["a"]
    assert found == value and type(found) is type(value)


def test_a_byte_order_mark_is_no_text(tmp_path):
    path = tmp_path / "unit.yaml"
    path.write_bytes(b"\xef\xbb\xbfmode: fast\n")
    assert load(path, Whole).mode == "fast"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "b": {"c": 2, "c": 3}}', "f:1: key 'c' appears twice"),
        ('{"a": 1,\n"b": 2,\n"a": 3}', "f:3: key 'a' appears twice"),
        ('{"a": NaN}', "f: NaN is not a number of JSON"),
        ("[-Infinity]", "f: -Infinity is not a number of JSON"),
        ('{"a": 1e999}', "f: 1e999 is beyond every number"),
        ("[" * 200_000, "f: not valid JSON: nested too deeply"),
        ('{"a":\n1,}', "f:2: not valid JSON: "),
        ("", "f:1: not valid JSON: expecting value"),
        ("9" * 10_000, "f: not valid JSON: "),
    ],
)
def test_json_that_means_two_things_or_nothing(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_json(text, "f")
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_json():
    assert parse_json('{"a": [1, 2.5, null, "x"], "b": {"a": true}}', "f") == {
        "a": [1, 2.5, None, "x"],
        "b": {"a": True},
    }


def test_parse_gives_the_line_of_every_key():
    document, lines = parse("a: 1\nb:\n  - c: 2\n  - d: {e: 3}\n", "text")
    assert document == {"a": 1, "b": [{"c": 2}, {"d": {"e": 3}}]}
    assert lines["a",] == 1 and lines["b", 0, "c"] == 3 and lines["b", 1, "d", "e"] == 4


def test_validate_without_a_text():
    with pytest.raises(ConfigError, match=r"^--set: rate: input should be greater than 0, not 0$"):
        validate({"mode": "fast", "rate": 0}, Whole, "--set")


def test_errors():
    assert issubclass(ConfigError, BanksideError) and (ConfigError.exit_code, CheckFailed.exit_code) == (2, 1)
    assert ToolMissing.exit_code == 3
    assert (
        nearest("unit", "pam-up", ["pam-pu", "x"]) == "unknown unit 'pam-up'; did you mean 'pam-pu'? (valid: pam-pu, x)"
    )
    assert nearest("unit", "zzz", ["pam-pu"]) == "unknown unit 'zzz' (valid: pam-pu)"
    assert nearest("unit", "zzz", []) == "unknown unit 'zzz' (valid: none)"


YAML_TEXTS = st.text(alphabet="ab:-[]{},'\"#&*!|>? \n\t01.", max_size=40)


def read(text):
    """What a text is, with the lines of its keys, or the error."""
    try:
        return parse(text, "f")
    except ConfigError as told:
        return str(told)


@pytest.mark.parametrize(
    "text",
    [path.read_text() for path in sorted(FOLDER.glob("*.yaml"))[:4]]
    + [
        "a: '010'\nb: \"1\"\nc: |\n  12\nd: >-\n  e\n",
        "a: &x [1]\nb: *x\n",
        "a: \x01",
        "a:\n\t- b",
        "[" * 5000,
        "---",
        "\n---  # no value\n",
    ],
)
def test_both_parsers_read_the_same(text, monkeypatch):
    """Where PyYAML has no libyaml, Python's parser gives the same values, lines and errors."""
    fast = read(text)
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    assert fast == read(text)


@given(YAML_TEXTS)
@settings(max_examples=300)
def test_what_libyaml_reads_python_reads_alike(text):
    fast = read(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml, "__with_libyaml__", False)
        slow = read(text)
    assert fast == slow or isinstance(slow, str), (fast, slow)


def test_no_depth_is_too_much():
    """The composer of libyaml would overflow the stack of the process."""
    for text in ("[" * 200_000, "{a: " * 100_000, "- " * 100_000 + "a"):
        assert read(text) == "f: nested too deeply (at most 32 levels)"
