"""``bankside calibrate``: find ratios of importance at which the tiers of a system take equal time."""

from __future__ import annotations

import argparse

from bankside.constraints.core.errors import ConfigError

from ..options import changes_argument, json_argument, positive, records_argument, show, study_arguments

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", metavar="SYSTEM", help="system that moves tokens between tiers (pam), or its file")
    parser.add_argument("--model", metavar="NAME|FILE", help="language model")
    changes_argument(parser)
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="instead: find parameters of synthetic activations that reproduce an attention trace, "
        "as --set options of eval",
    )
    parser.add_argument("--context", metavar="N", type=positive, help="tokens of each request (default: 738)")
    parser.add_argument("--rounds", metavar="N", type=positive, help="most rounds (default: 10)")
    parser.add_argument(
        "--output", metavar="FILE", help="table of ratios to which the result is added; other models in the table stay"
    )
    parser.add_argument("--measure", action="store_true", help="make measurement records that are missing")
    records_argument(parser)
    json_argument(parser, page=True)


def run(arguments: argparse.Namespace) -> int:
    from ...results.terminal import steps
    from ...studies.calibrate import calibrate, calibration_text, fit_activations, fitted_text

    if arguments.trace is not None:
        for name in ("model", "context", "rounds", "output"):
            if getattr(arguments, name) is not None:
                raise ConfigError(f"--trace fits activations, not ratios: it can't be combined with --{name}")
        show(arguments, fit_activations(**study_arguments(arguments, fit_activations)), fitted_text)
        return 0
    if arguments.model is None:
        raise ConfigError("the following arguments are required: --model, or --trace (see bankside calibrate --help)")
    with steps() as tell:
        result = calibrate(**study_arguments(arguments, calibrate), progress=tell)
    show(arguments, result, calibration_text)
    return 0
