"""Parameters of the operators of the arithmetic library, as units of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from ..document import Strict
from ..errors import ConfigError
from ..formats import FloatFormat, IntegerFormat, float_format, number_format

__all__ = ["FpAdd", "FpCompare", "FpConvert", "FpDiv", "FpFma", "FpMul", "FpSqrt", "FpUnary", "Operand",
           "OperatorConfig", "presets"]


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
    def operands(self) -> dict[str, Operand]:
        """Fields of the operands' payload, the lowest first."""
        raise NotImplementedError

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

    variant: Literal["pipelined", "iterative"] = FpDiv.model_fields["variant"]
    bits_per_cycle: int = FpDiv.model_fields["bits_per_cycle"]


def presets(config: type[OperatorConfig], **formats: Mapping[str, object]) -> dict[str, OperatorConfig]:
    """One preset for each of the three formats, with what differs from the defaults."""
    return {name: config(format=name, **formats.get(name, {})) for name in ("fp16", "bf16", "fp32")}  # type: ignore[arg-type]


FP_MUL_PRESETS = presets(FpMul)
FP_ADD_PRESETS = presets(FpAdd)
FP_FMA_PRESETS = {**presets(FpFma), "fp16-fp32": FpFma(acc_format="fp32"), "bf16-fp32": FpFma(format="bf16", acc_format="fp32")}
FP_COMPARE_PRESETS = presets(FpCompare)
FP_CONVERT_PRESETS = {
    f"{source}-{target}": FpConvert(format=source, target=target) for source, target in (
        ("fp16", "fp32"), ("bf16", "fp32"), ("fp32", "fp16"), ("fp32", "bf16"), ("fp16", "bf16"), ("bf16", "fp16"),
        ("fp16", "i32"), ("fp32", "i32"), ("i32", "fp16"), ("i32", "fp32"))}
FP_DIV_PRESETS = {**presets(FpDiv), "fp16-iterative": FpDiv(variant="iterative")}
FP_SQRT_PRESETS = {**presets(FpSqrt), "fp16-iterative": FpSqrt(variant="iterative")}
