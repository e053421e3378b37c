"""Parameters of the operators of the arithmetic library, as units of their own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, model_validator
from pydantic import Field as Key

from ..core.contract import Field, Layout, Port, Row, SimResult, Trial, Unit, UnitConfig, Workload, verdict_text
from ..core.errors import ConfigError
from ..core.formats import FloatFormat, IntegerFormat, float_format, number_format
from .activation import TableInterpolation

__all__ = [
    "FabricConfig",
    "FpActivation",
    "FpAdd",
    "FpCompare",
    "FpConvert",
    "FpDiv",
    "FpDot",
    "FpExp",
    "FpFma",
    "FpLog",
    "FpMul",
    "FpProduct",
    "FpRecip",
    "FpRsqrt",
    "FpSqrt",
    "FpUnary",
    "FpVector",
    "Operand",
    "OperatorConfig",
    "OperatorResult",
    "OperatorWorkload",
    "operand_layout",
    "presets",
]


@dataclass(frozen=True)
class Operand:
    """One field of an operator's operands or results: a number, or ``count`` of them side by side, the first lowest."""

    format: FloatFormat | IntegerFormat
    count: int = 1

    @property
    def width(self) -> int:
        return self.format.width * self.count


def operand_layout(operands: Mapping[str, Operand], meanings: Mapping[str, str] | None = None) -> Layout:
    """Payload of operands, the first lowest; a payload of a single operand is that operand."""
    if len(operands) == 1:
        [one] = operands.values()
        return Layout.plain(one.width, count=one.count, number=one.format)
    return Layout(
        tuple(
            Field(name, one.width, (meanings or {}).get(name, name), one.count, one.format)
            for name, one in operands.items()
        )
    )


def _float_name(name: str) -> str:
    try:
        return float_format(name).name
    except ConfigError as error:
        raise ValueError(str(error)) from None


def _number_name(name: str) -> str:
    try:
        return number_format(name).name
    except ConfigError as error:
        raise ValueError(str(error)) from None


FloatName = Annotated[str, AfterValidator(_float_name)]
NumberName = Annotated[str, AfterValidator(_number_name)]


class OperatorConfig(UnitConfig):
    """Keys and ports that all operators have in common."""

    format: FloatName = Key(default="fp16", description="format of the operands: fp16, bf16, fp32, or eEmF")
    depth: int = Key(default=0, ge=0, le=64, description="pipeline registers from operands to result; 0: combinational")
    flush_to_zero: bool = Key(default=False, description="subnormal operands and results are zero")
    clock_mhz: float = Key(default=500.0, gt=0, le=10000, strict=False, description="target clock")

    @property
    def fmt(self) -> FloatFormat:
        return float_format(self.format)

    @property
    @abstractmethod
    def operands(self) -> dict[str, Operand]:
        """Fields of the operands' payload, the lowest first."""

    @property
    def results(self) -> dict[str, Operand]:
        """Fields of the result's payload, the lowest first."""
        return {"result": Operand(self.fmt)}

    @property
    def meanings(self) -> dict[str, str]:
        """Meaning of each field, for the unit's description."""
        return {}

    def ports(self) -> tuple[Port, ...]:
        return (self._port("i", "in", "operands", self.operands), self._port("o", "out", "result", self.results))

    def _port(self, name: str, flow: Literal["in", "out"], all_of_them: str, operands: Mapping[str, Operand]) -> Port:
        layout = operand_layout(operands, self.meanings)
        return Port(
            name,
            flow,
            layout,
            self.meanings[next(iter(operands))] if layout.is_plain else self.meanings.get(name, all_of_them),
        )

    @property
    def extra_latency(self) -> int | None:
        """Cycles from operands to result where that is not ``depth``."""
        return None


class FabricConfig(OperatorConfig):
    """Keys of operators that are written for cells or for an FPGA. The bits of their results are the same."""

    # Left out at its default, so that configurations keep their hashes.
    fabric: Literal["asic", "xilinx"] = Key(
        default="asic",
        exclude_if=lambda value: value == "asic",
        description="asic: compressor trees and prefix adders; xilinx: * for DSP blocks and + for carry chains",
    )


class FpMul(OperatorConfig):
    """Multiplication: a b."""

    @property
    def operands(self) -> dict[str, Operand]:
        return {"a": Operand(self.fmt), "b": Operand(self.fmt)}

    @property
    def meanings(self) -> dict[str, str]:
        return {"a": "factor", "b": "factor", "result": "a b, rounded"}


class FpProduct(FabricConfig, FpMul):
    """Multiplication for cells or an FPGA: a b."""


class FpAdd(FpMul):
    """Addition: a + b, or a - b."""

    variant: Literal["add", "subtract"] = Key(default="add", description="a + b or a - b")

    @property
    def meanings(self) -> dict[str, str]:
        return {
            "a": "first operand",
            "b": "second operand",
            "result": f"a {'-' if self.variant == 'subtract' else '+'} b, rounded",
        }


class FpFma(FabricConfig):
    """Fused multiply-add: a b + c, rounded once."""

    acc_format: FloatName | Literal[""] = Key(
        default="", description="format of c and of the result; empty: format of the operands"
    )

    @property
    def acc(self) -> FloatFormat:
        return float_format(self.acc_format or self.format)

    @property
    def operands(self) -> dict[str, Operand]:
        return {"a": Operand(self.fmt), "b": Operand(self.fmt), "c": Operand(self.acc)}

    @property
    def results(self) -> dict[str, Operand]:
        return {"result": Operand(self.acc)}

    @property
    def meanings(self) -> dict[str, str]:
        return {"a": "factor", "b": "factor", "c": "addend", "result": "a b + c, rounded once"}


class FpCompare(FpMul):
    """Comparison, maximum and minimum (IEEE 754-2019 maximumNumber, minimumNumber)."""

    variant: Literal["compare", "max", "min"] = Key(default="compare", description="function that is computed")

    @property
    def results(self) -> dict[str, Operand]:
        if self.variant == "compare":
            return {name: Operand(IntegerFormat(1, False)) for name in ("less", "equal", "greater", "unordered")}
        return super().results

    @property
    def meanings(self) -> dict[str, str]:
        return {
            "a": "first operand",
            "b": "second operand",
            "less": "a < b",
            "equal": "a = b",
            "greater": "a > b",
            "unordered": "a or b is NaN",
            "result": f"{self.variant}imum of a and b",
        }


class FpUnary(OperatorConfig):
    """A function of one number."""

    @property
    def operands(self) -> dict[str, Operand]:
        return {"a": Operand(self.fmt)}


class FpLog(FpUnary):
    """Natural logarithm."""

    @property
    def meanings(self) -> dict[str, str]:
        return {"a": "operand", "result": "natural logarithm"}


class FpRecip(FpUnary):
    """Reciprocal."""

    @property
    def meanings(self) -> dict[str, str]:
        return {"a": "operand", "result": "reciprocal"}


class FpRsqrt(FpUnary):
    """Reciprocal square root."""

    @property
    def meanings(self) -> dict[str, str]:
        return {"a": "operand", "result": "reciprocal square root"}


class FpConvert(OperatorConfig):
    """Conversion between two formats, or a format and integers."""

    format: NumberName = Key(
        default="fp16",
        description="format of the operand: fp16, bf16, fp32, eEmF, or an integer: i32, u16 and the like",
    )
    target: NumberName = Key(default="fp32", description="format of the result")

    @model_validator(mode="after")
    def _check(self) -> FpConvert:
        if all(isinstance(number_format(x), IntegerFormat) for x in (self.format, self.target)):
            raise ValueError(f"format and target must not both be integers, not {self.format} and {self.target}")
        return self

    @property
    def source_format(self) -> FloatFormat | IntegerFormat:
        return number_format(self.format)

    @property
    def target_format(self) -> FloatFormat | IntegerFormat:
        return number_format(self.target)

    @property
    def operands(self) -> dict[str, Operand]:
        return {"a": Operand(self.source_format)}

    @property
    def results(self) -> dict[str, Operand]:
        return {"result": Operand(self.target_format)}

    @property
    def meanings(self) -> dict[str, str]:
        return {"a": "number to convert", "result": "the same number, rounded"}


class FpDiv(FpMul):
    """Division: a / b."""

    variant: Literal["pipelined", "iterative"] = Key(
        default="pipelined", description="a row of logic for every step, or one row used again"
    )
    bits_per_cycle: int = Key(default=2, ge=1, le=8, description="iterative: quotient bits of a clock cycle")

    @property
    def meanings(self) -> dict[str, str]:
        return {"a": "dividend", "b": "divisor", "result": "a / b, rounded"}


class FpSqrt(FpUnary):
    """Square root."""

    variant: Literal["pipelined", "iterative"] = Key(
        default="pipelined", description="a row of logic for every step, or one row used again"
    )
    bits_per_cycle: int = Key(default=2, ge=1, le=8, description="iterative: bits of the root of a clock cycle")

    @property
    def meanings(self) -> dict[str, str]:
        return {"a": "radicand", "result": "square root, rounded"}


class FpDot(FabricConfig):
    """Dot product of n lanes with an accumulator."""

    variant: Literal["fused", "tree", "accumulate"] = Key(
        default="fused",
        description="fused: one rounding; tree: of rounded products and sums; accumulate: beats of lanes, "
        "a beat every clock, rounded at the end",
    )
    lanes: int = Key(default=16, ge=2, le=64, description="products")
    acc_format: FloatName = Key(default="fp32", description="format of the accumulator and of the result")
    window: int | Literal["auto", "exact"] = Key(
        default="auto", description="bits kept of the largest term; auto: the precision of acc_format and three more"
    )
    beats: int = Key(default=1024, ge=1, le=1 << 20, description="accumulate: most beats of a sum")

    @model_validator(mode="after")
    def _check(self) -> FpDot:
        if isinstance(self.window, int) and not 2 <= self.window <= 4096:
            raise ValueError(f"window must be 2 to 4096 bits, auto or exact, not {self.window}")
        if self.variant == "accumulate" and not self.depth:
            raise ValueError("depth must be 1 or more with variant accumulate: a register holds the sum")
        return self

    @property
    def acc(self) -> FloatFormat:
        return float_format(self.acc_format)

    @property
    def window_bits(self) -> int | str | None:
        return None if self.window == "auto" else self.window

    @property
    def operands(self) -> dict[str, Operand]:
        factors = {"a": Operand(self.fmt, self.lanes), "b": Operand(self.fmt, self.lanes)}
        if self.variant == "accumulate":
            return {**factors, "first": Operand(IntegerFormat(1, False)), "last": Operand(IntegerFormat(1, False))}
        return {**factors, "c": Operand(self.acc)}

    @property
    def results(self) -> dict[str, Operand]:
        return {"result": Operand(self.acc)}

    @property
    def meanings(self) -> dict[str, str]:
        return {
            "i": "a beat of factors" if self.variant == "accumulate" else "operands",
            "a": "first factors, lane 0 lowest",
            "b": "second factors, lane 0 lowest",
            "c": "addend",
            "first": "begins a sum",
            "last": "the sum so far is wanted",
            "result": {
                "fused": "sum of products and c, rounded once",
                "tree": "sum of rounded products",
                "accumulate": "rounded sum",
            }[self.variant],
        }


class FpVector(FabricConfig):
    """Operations on vectors lane by lane: times a scalar, times a scalar plus a vector, product or sum of two
    vectors."""

    variant: Literal["scale", "mac", "multiply", "add"] = Key(
        default="scale", description="s x; s x + c, rounded once; x y; x + y"
    )
    lanes: int = Key(default=16, ge=2, le=64, description="elements of a vector")
    acc_format: FloatName | Literal[""] = Key(
        default="", description="mac: format of c and the result; empty: format of x"
    )

    @property
    def acc(self) -> FloatFormat:
        return float_format(self.acc_format or self.format)

    @property
    def operands(self) -> dict[str, Operand]:
        x = Operand(self.fmt, self.lanes)
        if self.variant in ("multiply", "add"):
            return {"x": x, "y": x}
        addend = {"c": Operand(self.acc, self.lanes)} if self.variant == "mac" else {}
        return {"s": Operand(self.fmt), "x": x, **addend}

    @property
    def results(self) -> dict[str, Operand]:
        return {"result": Operand(self.acc if self.variant == "mac" else self.fmt, self.lanes)}

    @property
    def meanings(self) -> dict[str, str]:
        return {
            "s": "scalar",
            "x": "vector, lane 0 lowest",
            "y": "vector",
            "c": "vector to be added",
            "result": "vector",
        }


class _Table(FpUnary):
    """Tables with linear interpolation."""

    entries: int = Key(default=128, ge=2, le=65536, description="table: chords, a power of two")
    limit: int = Key(default=8, ge=1, le=1024, description="table: it covers -limit to limit, a power of two")

    def table(self, function: str) -> TableInterpolation:
        return TableInterpolation(function, self.fmt, self.entries, self.limit)

    def check_table(self, function: str) -> None:
        try:
            self.table(function)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        if self.flush_to_zero:
            raise ValueError("flush_to_zero is not an option of tables: their results are never subnormal")


class FpActivation(_Table):
    """Activation function by table and linear interpolation, as AiM's."""

    variant: Literal["sigmoid", "tanh", "gelu", "gelu_tanh", "silu", "exp"] = Key(
        default="sigmoid", description="function; gelu by the error function, gelu_tanh by its approximation"
    )

    @model_validator(mode="after")
    def _check(self) -> FpActivation:
        self.check_table(self.variant)
        return self

    @property
    def meanings(self) -> dict[str, str]:
        return {"a": "operand", "result": f"{self.variant} of it"}


class FpExp(_Table):
    """Exponential."""

    variant: Literal[
        "faithful", "taylor", "taylor-reduced", "taylor-iterative", "taylor-reduced-iterative", "table"
    ] = Key(
        default="faithful",
        description="faithful: at most 1 ulp; taylor: series of fused multiply-adds; reduced: with "
        "range reduction; iterative: one multiply-add used again, else unrolled; table: linear interpolation",
    )
    order: int = Key(default=10, ge=1, le=16, description="taylor: order of the series")

    @model_validator(mode="after")
    def _check(self) -> FpExp:
        if self.variant == "table":
            self.check_table("exp")
        return self

    @property
    def range_reduced(self) -> bool:
        return "reduced" in self.variant

    @property
    def iterative(self) -> bool:
        return "iterative" in self.variant

    @property
    def meanings(self) -> dict[str, str]:
        return {"a": "operand", "result": "e to the operand"}


def presets(config: type[OperatorConfig], **formats: Mapping[str, object]) -> dict[str, OperatorConfig]:
    """One preset for each of the three formats, with the keys that differ from the defaults."""
    return {name: config(format=name, **formats.get(name, {})) for name in ("fp16", "bf16", "fp32")}  # type: ignore[arg-type]


FP_MUL_PRESETS = presets(FpProduct)
FP_ADD_PRESETS = presets(FpAdd)
FP_FMA_PRESETS = {
    **presets(FpFma),
    "fp16-fp32": FpFma(acc_format="fp32"),
    "bf16-fp32": FpFma(format="bf16", acc_format="fp32"),
}
FP_DOT_PRESETS = {
    **presets(FpDot),
    "fp16-exact": FpDot(window="exact"),
    "fp16-tree": FpDot(variant="tree", acc_format="fp16"),
    "fp16-accumulate": FpDot(variant="accumulate", depth=6),
    "bf16-accumulate": FpDot(format="bf16", variant="accumulate", depth=6),
}
FP_VECTOR_PRESETS = {
    **presets(FpVector),
    "fp16-mac": FpVector(variant="mac"),
    "bf16-mac": FpVector(format="bf16", variant="mac"),
    "bf16-add": FpVector(format="bf16", variant="add"),
}
FP_COMPARE_PRESETS = {**presets(FpCompare), "fp16-max": FpCompare(variant="max"), "fp16-min": FpCompare(variant="min")}
FP_CONVERT_PRESETS = {
    f"{source}-{target}": FpConvert(format=source, target=target)
    for source, target in (
        ("fp16", "fp32"),
        ("bf16", "fp32"),
        ("fp32", "fp16"),
        ("fp32", "bf16"),
        ("fp16", "bf16"),
        ("bf16", "fp16"),
        ("fp16", "i32"),
        ("fp32", "i32"),
        ("i32", "fp16"),
        ("i32", "fp32"),
    )
}
FP_DIV_PRESETS = {
    **presets(FpDiv),
    "fp16-iterative": FpDiv(variant="iterative"),
    "fp32-iterative": FpDiv(format="fp32", variant="iterative"),
}
FP_SQRT_PRESETS = {
    **presets(FpSqrt),
    "fp16-iterative": FpSqrt(variant="iterative"),
    "fp32-iterative": FpSqrt(format="fp32", variant="iterative"),
}
FP_EXP_PRESETS = {
    **presets(FpExp),
    "fp16-taylor": FpExp(variant="taylor"),
    "bf16-taylor": FpExp(format="bf16", variant="taylor"),
    "bf16-taylor-iterative": FpExp(format="bf16", variant="taylor-iterative"),
    "bf16-taylor-reduced": FpExp(format="bf16", variant="taylor-reduced"),
}
FP_ACTIVATION_PRESETS = {
    f"{name}-{function}": FpActivation(format=name, variant=function)
    for name in ("fp16", "bf16")
    for function in ("sigmoid", "tanh", "gelu", "exp")
}
FP_LOG_PRESETS = presets(FpLog)
FP_RECIP_PRESETS = presets(FpRecip)
FP_RSQRT_PRESETS = presets(FpRsqrt)


class OperatorWorkload(Workload):
    """Operands of an operator."""

    vectors: str | None = Key(
        default=None, description="operands and results in the text format of Berkeley TestFloat: a file"
    )
    count: int = Key(default=100_000, ge=1, le=1 << 30, description="random operands, beside the corners")


class OperatorResult(SimResult):
    """Measurements of the bench of an operator."""

    differences: list[str] = Key(default=[], description="results that differ, the first twenty")
    latency_cycles: int = Key(description="from the last operands to their result")
    cycles: int = Key(description="of the run with operands at every clock")
    items_per_cycle: float = Key(description="results a clock in that run, from the first to the last")

    UNRECORDED: ClassVar[tuple[str, ...]] = (*SimResult.UNRECORDED, "differences")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        file = workload.get("vectors_file")
        return [
            (
                "compared",
                f"{self.vectors} results with {f'the vectors of {file}' if file else 'the functional model'}: "
                f"{verdict_text(self, wrong='DIFFER')}",
            ),
            ("runs", ", ".join(f"{run.vectors} {name.replace('_', ' ')}" for name, run in self.runs.items())),
            *(("differs", text) for text in self.differences),
            ("latency", f"{self.latency_cycles} cycles, {self.items_per_cycle:.4f} results per cycle"),
        ]


def _unit(
    name: str,
    config: type[OperatorConfig],
    presets: Mapping[str, OperatorConfig],
    summary: str,
    published: tuple[str, ...] = ("fp16", "bf16"),
    trial: Mapping[str, Any] | None = None,
) -> Unit:
    trial = {"format": "e4m3"} if trial is None else trial
    module = name.replace("-", "_")
    return Unit(
        name,
        summary,
        "IEEE 754-2019",
        module=module,
        config=config,
        presets=presets,
        generator=f"bankside.gen.arith.units:{module}",
        model=f"bankside.models.arith.units:{module}",
        bench="bankside.cosim.arith.units:bench",
        page="docs/arith/units.md",
        workload=OperatorWorkload,
        result=OperatorResult,
        published=published,
        trial=Trial(trial, {"count": 2000}),
    )


FP_MUL = _unit("fp-mul", FpProduct, FP_MUL_PRESETS, "floating-point multiplication")
FP_ADD = _unit("fp-add", FpAdd, FP_ADD_PRESETS, "floating-point addition and subtraction")
FP_FMA = _unit("fp-fma", FpFma, FP_FMA_PRESETS, "fused multiply-add")
FP_COMPARE = _unit("fp-compare", FpCompare, FP_COMPARE_PRESETS, "floating-point comparison, maximum and minimum")
FP_CONVERT = _unit(
    "fp-convert",
    FpConvert,
    FP_CONVERT_PRESETS,
    "conversion between floating-point formats, and from and to integers",
    ("fp16-fp32", "bf16-fp32", "fp32-fp16", "fp32-bf16"),
    {"format": "e4m3", "target": "fp16"},
)
FP_DIV = _unit("fp-div", FpDiv, FP_DIV_PRESETS, "floating-point division")
FP_SQRT = _unit("fp-sqrt", FpSqrt, FP_SQRT_PRESETS, "floating-point square root")
FP_DOT = _unit(
    "fp-dot",
    FpDot,
    FP_DOT_PRESETS,
    "dot product of n lanes: fused, a tree, or accumulating beats",
    ("fp16-accumulate",),
    {"format": "e4m3", "acc_format": "e5m6", "lanes": 2},
)
FP_VECTOR = _unit(
    "fp-vector",
    FpVector,
    FP_VECTOR_PRESETS,
    "vectors lane by lane: times a scalar, multiply-accumulate, product, sum",
    (),
    {"format": "e4m3", "lanes": 2},
)
FP_EXP = _unit("fp-exp", FpExp, FP_EXP_PRESETS, "floating-point exponential")
FP_ACTIVATION = _unit(
    "fp-activation",
    FpActivation,
    FP_ACTIVATION_PRESETS,
    "activation function by table and linear interpolation",
    ("fp16-sigmoid", "bf16-sigmoid", "bf16-gelu"),
    {"entries": 16},
)
FP_LOG = _unit("fp-log", FpLog, FP_LOG_PRESETS, "floating-point natural logarithm")
FP_RECIP = _unit("fp-recip", FpRecip, FP_RECIP_PRESETS, "floating-point reciprocal")
FP_RSQRT = _unit("fp-rsqrt", FpRsqrt, FP_RSQRT_PRESETS, "floating-point reciprocal square root")
