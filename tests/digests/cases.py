"""All calls whose results are recorded: the demo, the networks of the tests, the graphs of every kind, a zoo."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto
from onnxruntime.quantization import QuantType

from tests.kinds.checks import CONFIGURATIONS, samples
from tests.kinds.graphs import GRAPHS
from tests.kinds.mutations import MUTATIONS, OTHERS
from tests.models import networks

from . import case as doors
from . import configurations
from .case import Case, Feed

DIGITS = 16  # calibration digits: enough for every method, few for a short run
SMALL = (
    "digits_cnn",
    "digits_cnn_fp16",
    "fmnist_resnet",
    "fmnist_mnv2",
    "fmnist_mnv2_relu",
    "fmnist_vit",
    "mtcnn_pnet",
    "mtcnn_rnet",
    "mtcnn_onet",
    "oww_embedding",
    "silero_vad_seq",
    "swift_f0",
    "syn_edges",
    "syn_loop",
)


@cache
def _digits(name: str) -> list[Feed]:
    return list(networks.digits(name, DIGITS, 0).calibration)


def _digits_model() -> ModelProto:
    return onnx.load(networks.network("digits"))


def _no_samples(_: ModelProto) -> None:
    return None


def _network(name: str) -> Callable[..., Case]:
    path = networks.network(name)
    return partial(Case, model=lambda: onnx.load(path), feeds=lambda _: _digits(name))


def of_networks() -> Iterator[Case]:
    """The demo in every configuration, the other networks in some."""
    for name in networks.NAMES:
        case = _network(name)
        listed = configurations.DEMO if name == "digits" else configurations.NETWORK
        for key, arguments in listed.items():
            if key == "random samples":
                yield case(f"{name}: {key}", arguments=arguments, feeds=_no_samples)
            else:
                yield case(f"{name}: {key}", arguments=arguments)


def of_doors() -> Iterator[Case]:
    """The demo through every door but the usual one."""
    case = _network("digits")
    for key, arguments in configurations.ASKED.items():
        yield case(f"onnxruntime's door, ours: {key}", arguments=arguments, door=doors.onnxruntimes)
    for key, arguments in configurations.PLAIN.items():
        yield case(f"onnxruntime's door, plain: {key}", arguments=arguments, door=doors.onnxruntimes)
    for key in ("Target ipu_cnn", "EnableDPU, IncludeCLE, BiasCorrection", "VitisQDQ bfloat16"):
        asked = configurations.ASKED[key]
        yield case(f"StaticQuantConfig, ours: {key}", arguments=asked, door=doors.onnxruntimes_config)
    for key in ("u8s8", "QOperator"):
        plain = configurations.PLAIN[key]
        yield case(f"StaticQuantConfig, plain: {key}", arguments=plain, door=doors.onnxruntimes_config)
    dynamic = {"weight_type": QuantType.QUInt8}
    yield case("quantize_dynamic, plain", arguments=dynamic, door=doors.onnxruntimes_dynamic)
    for key in ("NPU", "NPU, CLE, bias correction", "cpu, QDQ, Percentile", "VitisQDQ bfloat16"):
        ours = configurations.DEMO[key]
        yield case(f"ModelProto: {key}", arguments=ours, door=doors.ours_from_proto)
        yield case(f"calibrated before: {key}", arguments=ours, door=doors.ours_calibrated_before)


def of_converters() -> Iterator[Case]:
    """Quantized files of the demo, converted."""
    case = _network("digits")
    for verb, key in configurations.CONVERTED:
        yield case(f"{verb}: {key}", arguments=configurations.DEMO[key], door=doors.ours_then(verb))


def of_kinds() -> Iterator[Case]:
    """Each graph in each configuration; graphs with bodies also with EnableSubgraph, other types also converted."""
    for graph, build in GRAPHS.items():
        for key, arguments in (CONFIGURATIONS | configurations.KINDS).items():
            yield Case(f"{graph}; {key}", build, samples, arguments)
        if any(attribute.HasField("g") for node in build().graph.node for attribute in node.attribute):
            for key in ("u8s8", "npu", "vitis bfloat16"):
                inside = configurations.with_options(CONFIGURATIONS[key], EnableSubgraph=True)
                yield Case(f"{graph}; {key}, EnableSubgraph", build, samples, inside)
        if graph.startswith("types:"):
            for key in ("u8s8", "npu"):
                converted = {**CONFIGURATIONS[key], "convert_fp16_to_fp32": True}
                yield Case(f"{graph}; {key}, convert_fp16_to_fp32", build, samples, converted)


def _mutated(name: str, build: Callable[[], ModelProto]) -> ModelProto:
    return (MUTATIONS | OTHERS)[name](build(), np.random.default_rng(0))


def of_mutations() -> Iterator[Case]:
    """Each way to write a network differently, on the demo and on graphs that take turns."""
    graphs = list(GRAPHS)
    for number, name in enumerate(MUTATIONS | OTHERS):
        chosen = [graphs[(number * 7 + at * 50) % len(graphs)] for at in range(2)]
        for graph, build in [*((graph, GRAPHS[graph]) for graph in chosen), ("digits", _digits_model)]:
            for key in ("u8s8", "npu"):
                yield Case(
                    f"mutated, {name}: {graph}; {key}", partial(_mutated, name, build), samples, CONFIGURATIONS[key]
                )


def default() -> list[Case]:
    """All that needs no file beside the project."""
    return [*of_networks(), *of_doors(), *of_converters(), *of_kinds(), *of_mutations()]


def _module_at(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("zoo", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["zoo"] = module
    spec.loader.exec_module(module)
    return module


def of_zoo(path: Path) -> Iterator[Case]:
    """The small networks of a zoo: a Python file with functions `load_NAME() -> (path, feeds, evaluate)`."""
    zoo = _module_at(path)
    for name in SMALL:
        try:
            network: Any = getattr(zoo, f"load_{name}")()
        except Exception as error:
            print(f"{name} is left out, the zoo cannot load it: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        feeds = list(network[1])[:DIGITS]
        for key, arguments in configurations.ZOO.items():
            half = {"convert_fp16_to_fp32": True} if name.endswith("fp16") else {}
            yield Case(
                f"zoo: {name}: {key}",
                partial(onnx.load, network[0]),
                lambda _, feeds=feeds: feeds,  # type: ignore[misc]
                {**arguments, **half},
            )
