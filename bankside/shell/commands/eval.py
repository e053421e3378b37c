"""``bankside eval``: evaluate a server built from the units with a language model."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from bankside.constraints.core.errors import ConfigError

from ..options import changes_argument, emit, json_argument, page, positive, records_argument

__all__ = ["fill", "run"]


#: Options of ``eval`` for a single layer of AttAcc.
EVAL_LAYER: dict[str, dict[str, Any]] = {
    "--tokens": {"metavar": "L", "type": positive, "help": "tokens of K and V"},
    "--heads-per-stack": {"metavar": "N", "type": positive, "help": "heads on the stack"},
    "--placement": {"metavar": "P", "help": "place of the units: bank, bank-group or buffer (default: bank)"},
    "--power-limit": {
        "action": argparse.BooleanOptionalAction,
        "help": "whether the memory's power limit holds (default: yes)",
    },
    "--bytes": {
        "metavar": "B",
        "type": positive,
        "dest": "element_bytes",
        "help": "bytes of an element: 1 or 2 (default: 2)",
    },
    "--head-dim": {"metavar": "D", "type": positive, "help": "head dimension (default: 128)"},
    "--quirks": {
        "metavar": "Q",
        "help": "attacc-simulator (the default) reproduces the public simulator with its "
        "defects; none leaves the defects out. Without --layer, the quirks of a system: cent-simulator",
    },
    "--trace": {"metavar": "FILE", "help": "write the layer as a trace for the public simulator"},
}


#: Options of ``eval`` that are keys of a system's file: flags, key, and what argparse needs.
EVAL_KEYS: dict[str, tuple[str, dict[str, Any]]] = {
    "--devices": ("device.count", {"metavar": "N", "type": positive, "help": "devices of cent (default: 32)"}),
    "--method": (
        "selection.method",
        {
            "metavar": "M",
            "help": "of starc: which tokens heads read; full, window, quest, sparq, infinigen, starc or "
            "top (default: starc)",
        },
    ),
    "--budget": (
        "selection.budget",
        {"metavar": "B", "type": int, "help": "of starc: tokens of a selection (default: 1024)"},
    ),
    "--prefill": (
        "selection.prompt_tokens",
        {
            "metavar": "P",
            "type": positive,
            "help": "of starc, in place of --context: tokens of the prompt; the first step attends to one "
            "more (default: 2048)",
        },
    ),
}


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", metavar="SYSTEM", help="system (see bankside list), or attacc with --layer")
    parser.add_argument(
        "--model",
        metavar="NAME|FILE",
        help="language model, or a Hugging Face config.json (default of starc: llama-7b)",
    )
    changes_argument(parser)
    parser.add_argument(
        "--context", metavar="N", type=positive, help="tokens in the KV cache of a request (default: 4096)"
    )
    parser.add_argument(
        "--batch",
        metavar="B",
        type=positive,
        help="requests that decode together (default: 16; of cent, a request for each stage)",
    )
    for flag, (_, options) in EVAL_KEYS.items():
        parser.add_argument(flag, **options)
    parser.add_argument(
        "--output-tokens",
        "--decode",
        metavar="N",
        type=positive,
        help="tokens to generate; the context grows by one with each (default: 1)",
    )
    parser.add_argument(
        "--instances", metavar="I", type=positive, help="copies of the system that share the batch (default: 1)"
    )
    parser.add_argument(
        "--workload",
        metavar="NAME|FILE",
        help="instead: decode in steady state, with the memory full of requests of a workload; new "
        "requests replace finished ones",
    )
    parser.add_argument(
        "--reference",
        metavar="FILE",
        help="instead: dgx, dgx-attacc and dgx-cpu against a CSV file of "
        "results of the AttAcc simulator, or GPUs against a YAML file of timed runs",
    )
    parser.add_argument("--refresh", action="store_true", help="memory timing with refresh")
    parser.add_argument(
        "--split",
        metavar="TPxPP",
        help="tensor and pipeline parallelism of GPUs or LoL-PIM's modules, such as 8x4; auto "
        "tries all splits and shows the fastest",
    )
    parser.add_argument("--measure", action="store_true", help="make measurement records that are missing")
    parser.add_argument(
        "--timeline",
        metavar="FILE",
        help="write the spans of a decode step, for ui.perfetto.dev; of inf2 the drives too, of pam the tiers",
    )
    records_argument(parser)
    layer = parser.add_argument_group("one attention layer on one stack of AttAcc")
    layer.add_argument("--layer", action="store_true", help="instead of a model: time one attention layer on one stack")
    for flags, options in EVAL_LAYER.items():
        layer.add_argument(flags, default=None, **options)
    json_argument(parser, page=True)


def run(arguments: argparse.Namespace) -> int:
    from ...studies.evaluate import system_changes

    names = {options.get("dest", flag[2:].replace("-", "_")): flag for flag, options in EVAL_LAYER.items()}
    given = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    if arguments.reference is not None:
        return _eval_reference(arguments, [names[name] for name in given])
    if arguments.layer:
        if arguments.model is not None:
            raise ConfigError("a layer has no --model: --tokens, --heads-per-stack and --head-dim give its shape")
        from ...studies.attention import evaluate_layer, layer_text

        timed = evaluate_layer(arguments.system, **{"tokens": None, "heads_per_stack": None, **given})
        page(arguments, timed)
        if arguments.json:
            emit(arguments, timed)
        else:
            print(layer_text(timed))
        return 0
    changes = system_changes(arguments.changes)
    if arguments.model is None and arguments.system != "attacc":
        from bankside.models.systems import load_system

        arguments.model = load_system(arguments.system).default_model
    if arguments.model is not None:  # keys of the system's file
        keys = [
            ("quirks", given.pop("quirks", None)),
            *((key, getattr(arguments, flag[2:])) for flag, (key, _) in EVAL_KEYS.items()),
        ]
        for key, value in keys:
            if value is not None:
                if key in changes:
                    raise ConfigError(f"--set {key} and its option can't be combined")
                changes[key] = value
    if arguments.prefill is not None:
        if arguments.context is not None:
            raise ConfigError("--prefill P is --context P+1 with a prompt of P tokens; give one of them")
        arguments.context = arguments.prefill + 1
    if given or (arguments.system == "attacc" and arguments.model is None):
        what = names[next(iter(given))] if given else "attacc"
        raise ConfigError(f"{what} needs --layer")
    if arguments.model is None:
        raise ConfigError("the following arguments are required: --model (see bankside eval --help)")
    from ...results.terminal import steps
    from ...studies.evaluate import evaluate, evaluate_workload

    common = {
        "refresh": arguments.refresh,
        "split": arguments.split,
        "measure": arguments.measure,
        "records": arguments.records,
        "changes": changes,
    }
    load = {
        "context": arguments.context,
        "batch": arguments.batch,
        "output_tokens": arguments.output_tokens,
        "instances": arguments.instances,
    }
    if arguments.workload is not None:
        for name, value in (load | {"timeline": arguments.timeline}).items():
            if value is not None:
                raise ConfigError(f"--{name.replace('_', '-')} can't be combined with --workload, which has its own")
        with steps() as tell:
            result = evaluate_workload(arguments.system, arguments.model, arguments.workload, **common, progress=tell)
    else:
        given = {name: value for name, value in load.items() if value is not None}
        with steps() as tell:
            result = evaluate(
                arguments.system,
                arguments.model,
                **{"context": 4096, "batch": None, **given},
                **common,
                timeline=arguments.timeline,
                progress=tell,
            )
    page(arguments, result)
    if arguments.json:
        emit(arguments, result)
    else:
        from ...results.text import evaluation_text, steady_text

        print(evaluation_text(result) if arguments.workload is None else steady_text(result))
    return 0


def _eval_reference(arguments: argparse.Namespace, others: list[str]) -> int:
    """``others``: options of a layer that were given."""
    from ...studies.attacc_reference import compare_reference, reference_text
    from ...studies.evaluate import system_changes

    words = (
        "model",
        "context",
        "batch",
        "output_tokens",
        "instances",
        "workload",
        "refresh",
        "split",
        "measure",
        "layer",
    )
    others += [f"--{name.replace('_', '-')}" for name in words if getattr(arguments, name) not in (None, False)]
    if others:
        raise ConfigError(f"{others[0]} goes without --reference, whose rows have their own conditions")
    changes = system_changes(arguments.changes)
    if arguments.reference.endswith((".yaml", ".yml")):
        from ...results.terminal import steps
        from ...studies.gpu_reference import compare_gpus, gpus_text

        with steps() as tell:
            result = compare_gpus(arguments.system, arguments.reference, changes, arguments.records, tell)
        text: Callable[[dict[str, Any]], str] = gpus_text
    else:
        result = compare_reference(arguments.system, arguments.reference, changes)
        text = reference_text
    page(arguments, result)
    if arguments.json:
        emit(arguments, result)
    else:
        print(text(result))
    return 0
