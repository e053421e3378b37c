"""``bankside kernels``: list measured kernel times of GPUs; import them."""

from __future__ import annotations

import argparse

from bankside.constraints.core.errors import ConfigError

from ..options import json_argument, show

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="origin",
        metavar="GPU/ENGINE",
        help="import from aiconfigurator-core, as h100_sxm/vllm or h100_sxm/vllm/0.24.0; needs -o",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="file for the imported kernel records")
    parser.add_argument(
        "--whole", action="store_true", help="import all shapes, also those that no built-in language model needs"
    )
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...results.terminal import steps
    from ...studies.kernels import import_kernels, kernel_list, kernels_text

    if (arguments.origin is None) != (arguments.output is None):
        raise ConfigError("--from and -o come together")
    if arguments.origin is None:
        result = kernel_list()
    else:
        with steps() as tell:
            result = import_kernels(arguments.origin, arguments.output, whole=arguments.whole, progress=tell)
    show(arguments, result, kernels_text)
    return 0
