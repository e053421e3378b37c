"""Parameters of the operators of the arithmetic library, as units of their own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from ..activation import TableInterpolation
from ..document import Strict
from ..errors import ConfigError
from ..formats import FloatFormat, IntegerFormat, float_format, number_format

__all__ = ["FpActivation", "FpAdd", "FpCompare", "FpConvert", "FpDiv", "FpDot", "FpExp", "FpFma", "FpMul", "FpSqrt",
           "FpUnary", "FpVector", "Operand", "OperatorConfig", "presets"]


@dataclass(frozen=True)
class Operand:
    """One field of an operator's operands or results: a number, or ``count`` of them side by side, the first lowest."""

    format: FloatFormat | IntegerFormat
    count: int = 1

    @property
    def width(self) -> int:
        return self.format.width * self.count


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


class OperatorConfig(Strict):
    """What all operators have in common."""

    format: FloatName = Field(default="fp16", description="format of the operands: fp16, bf16, fp32, or eEmF")
    depth: int = Field(default=0, ge=0, le=64, description="pipeline registers from operands to result; 0: combinational")
    flush_to_zero: bool = Field(default=False, description="subnormal operands and results are zero")
    clock_mhz: float = Field(default=500.0, gt=0, le=10000, strict=False, description="target clock")

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
    def extra_latency(self) -> int | None:
        """Cycles from operands to result where that is not ``depth``."""
        return None


class FpMul(OperatorConfig):
    """Multiplication: a b."""

    @property
    def operands(self) -> dict[str, Operand]:
        return {"a": Operand(self.fmt), "b": Operand(self.fmt)}


class FpAdd(FpMul):
    """Addition: a + b, or a - b."""

    variant: Literal["add", "subtract"] = Field(default="add", description="a + b or a - b")


class FpFma(OperatorConfig):
    """Fused multiply-add: a b + c, rounded once."""

    acc_format: FloatName | Literal[""] = Field(
        default="", description="format of c and of the result; empty: that of the operands")

    @property
    def acc(self) -> FloatFormat:
        return float_format(self.acc_format or self.format)

    @property
    def operands(self) -> dict[str, Operand]:
        return {"a": Operand(self.fmt), "b": Operand(self.fmt), "c": Operand(self.acc)}

    @property
    def results(self) -> dict[str, Operand]:
        return {"result": Operand(self.acc)}


class FpCompare(FpMul):
    """Comparison, maximum and minimum (IEEE 754-2019 maximumNumber, minimumNumber)."""

    variant: Literal["compare", "max", "min"] = Field(default="compare", description="what is computed")

    @property
    def results(self) -> dict[str, Operand]:
        if self.variant == "compare":
            return {name: Operand(IntegerFormat(1, False)) for name in ("less", "equal", "greater", "unordered")}
        return super().results


class FpUnary(OperatorConfig):
    """A function of one number."""

    @property
    def operands(self) -> dict[str, Operand]:
        return {"a": Operand(self.fmt)}


class FpConvert(OperatorConfig):
    """Conversion between two formats, or a format and integers."""

    format: NumberName = Field(default="fp16", description="format of the operand: fp16, bf16, fp32, eEmF, or an integer: "
                               "i32, u16 and the like")
    target: NumberName = Field(default="fp32", description="format of the result")

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


class FpDiv(FpMul):
    """Division: a / b."""

    variant: Literal["pipelined", "iterative"] = Field(
        default="pipelined", description="a row of logic for every step, or one row used again")
    bits_per_cycle: int = Field(default=2, ge=1, le=8, description="iterative: quotient bits of a clock cycle")


class FpSqrt(FpUnary):
    """Square root."""

    variant: Literal["pipelined", "iterative"] = Field(
        default="pipelined", description="a row of logic for every step, or one row used again")
    bits_per_cycle: int = Field(default=2, ge=1, le=8, description="iterative: bits of the root of a clock cycle")


class FpDot(OperatorConfig):
    """Dot product of n lanes with an accumulator."""

    variant: Literal["fused", "tree", "accumulate"] = Field(
        default="fused", description="fused: one rounding; tree: of rounded products and sums; accumulate: beats of lanes, "
        "a beat every clock, rounded at the end")
    lanes: int = Field(default=16, ge=2, le=64, description="products")
    acc_format: FloatName = Field(default="fp32", description="format of the accumulator and of the result")
    window: int | Literal["auto", "exact"] = Field(
        default="auto", description="bits kept of the largest term; auto: the precision of acc_format and three more")
    beats: int = Field(default=1024, ge=1, le=1 << 20, description="accumulate: most beats of a sum")

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


class FpVector(OperatorConfig):
    """Vectors lane by lane: times a scalar, that added to another vector, or with each other."""

    variant: Literal["scale", "mac", "multiply", "add"] = Field(
        default="scale", description="s x; s x + c, rounded once; x y; x + y")
    lanes: int = Field(default=16, ge=2, le=64, description="elements of a vector")
    acc_format: FloatName | Literal[""] = Field(default="", description="mac: format of c and the result; empty: that of x")

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


class _Table(FpUnary):
    """Tables with linear interpolation."""

    entries: int = Field(default=128, ge=2, le=65536, description="table: chords, a power of two")
    limit: int = Field(default=8, ge=1, le=1024, description="table: it covers -limit to limit, a power of two")

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

    variant: Literal["sigmoid", "tanh", "gelu", "gelu_tanh", "silu", "exp"] = Field(
        default="sigmoid", description="function; gelu by the error function, gelu_tanh by its approximation")

    @model_validator(mode="after")
    def _check(self) -> FpActivation:
        self.check_table(self.variant)
        return self


class FpExp(_Table):
    """Exponential."""

    variant: Literal["faithful", "taylor", "taylor-reduced", "taylor-iterative", "taylor-reduced-iterative",
                     "table"] = Field(
        default="faithful", description="faithful: at most 1 ulp; taylor: a series of fused multiply-adds, with or without "
        "range reduction, unrolled or with one multiply-add used again; table: linear interpolation")
    order: int = Field(default=10, ge=1, le=16, description="taylor: of the series")

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


def presets(config: type[OperatorConfig], **formats: Mapping[str, object]) -> dict[str, OperatorConfig]:
    """One preset for each of the three formats, with what differs from the defaults."""
    return {name: config(format=name, **formats.get(name, {})) for name in ("fp16", "bf16", "fp32")}  # type: ignore[arg-type]


FP_MUL_PRESETS = presets(FpMul)
FP_ADD_PRESETS = presets(FpAdd)
FP_FMA_PRESETS = {**presets(FpFma), "fp16-fp32": FpFma(acc_format="fp32"),
                  "bf16-fp32": FpFma(format="bf16", acc_format="fp32")}
FP_DOT_PRESETS = {**presets(FpDot), "fp16-exact": FpDot(window="exact"),
                  "fp16-tree": FpDot(variant="tree", acc_format="fp16"),
                  "fp16-accumulate": FpDot(variant="accumulate", depth=6),
                  "bf16-accumulate": FpDot(format="bf16", variant="accumulate", depth=6)}
FP_VECTOR_PRESETS = {**presets(FpVector), "fp16-mac": FpVector(variant="mac"),
                     "bf16-mac": FpVector(format="bf16", variant="mac"),
                     "bf16-add": FpVector(format="bf16", variant="add")}
FP_COMPARE_PRESETS = {**presets(FpCompare), "fp16-max": FpCompare(variant="max"), "fp16-min": FpCompare(variant="min")}
FP_CONVERT_PRESETS = {
    f"{source}-{target}": FpConvert(format=source, target=target) for source, target in (
        ("fp16", "fp32"), ("bf16", "fp32"), ("fp32", "fp16"), ("fp32", "bf16"), ("fp16", "bf16"), ("bf16", "fp16"),
        ("fp16", "i32"), ("fp32", "i32"), ("i32", "fp16"), ("i32", "fp32"))}
FP_DIV_PRESETS = {**presets(FpDiv), "fp16-iterative": FpDiv(variant="iterative"),
                  "fp32-iterative": FpDiv(format="fp32", variant="iterative")}
FP_SQRT_PRESETS = {**presets(FpSqrt), "fp16-iterative": FpSqrt(variant="iterative"),
                   "fp32-iterative": FpSqrt(format="fp32", variant="iterative")}
FP_EXP_PRESETS = {**presets(FpExp), "fp16-taylor": FpExp(variant="taylor"),
                  "bf16-taylor": FpExp(format="bf16", variant="taylor"),
                  "bf16-taylor-iterative": FpExp(format="bf16", variant="taylor-iterative"),
                  "bf16-taylor-reduced": FpExp(format="bf16", variant="taylor-reduced")}
FP_ACTIVATION_PRESETS = {f"{name}-{function}": FpActivation(format=name, variant=function)
                         for name in ("fp16", "bf16") for function in ("sigmoid", "tanh", "gelu", "exp")}
FP_LOG_PRESETS = presets(FpUnary)
FP_RECIP_PRESETS = presets(FpUnary)
FP_RSQRT_PRESETS = presets(FpUnary)
