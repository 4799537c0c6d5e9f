"""``ort-vitis convert-*`` and ``preprocess``: one rewrite of a model, written to a new file."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnx import ModelProto

# Verb: where its function lies, what it takes beside the model, and what it does.
CONVERTERS = {
    "convert-fp16-to-fp32": (
        "ort_vitis_prepare.convert.fp16_to_fp32:convert_fp16_to_fp32",
        "report",
        "float16 to float32",
    ),
    "convert-nchw-to-nhwc": (
        "ort_vitis_prepare.convert.nchw_to_nhwc:convert_nchw_to_nhwc",
        "report",
        "let image inputs take channels last",
    ),
    "convert-vitis-to-standard": (
        "ort_vitis_plugin.convert:vitis_to_standard",
        "skips",
        "Vitis QDQ and FixNeuron to ONNX's QuantizeLinear and DequantizeLinear",
    ),
    "convert-standard-to-vitis": (
        "ort_vitis_plugin.convert:standard_to_vitis",
        "skips",
        "ONNX's QuantizeLinear and DequantizeLinear to Vitis QDQ",
    ),
    "convert-qdq-to-qoperator": (
        "ort_vitis_plugin.convert:qdq_to_qoperator",
        "skips",
        "quantize/dequantize pairs to quantized operators",
    ),
    "convert-npu-to-cpu": (
        "ort_vitis_plugin.convert.evaluation_twin:npu_to_cpu",
        "skips",
        "NPU models to what a CPU computes on integers, several times faster and to the same bits",
    ),
    "convert-quantized-to-float": (
        "ort_vitis_plugin.convert:quantized_to_float",
        "skips",
        "undo quantization: remove the pairs",
    ),
    "convert-domain": (
        "ort_vitis_plugin.convert:rename_ops",
        "domain",
        "custom ops between com.vai.quantize and com.amd.quark",
    ),
    "remove-initializers-from-inputs": (
        "ort_vitis_plugin.convert:remove_initializers_from_inputs",
        "",
        "weights that are listed as graph inputs become constants",
    ),
}


def add(verbs: Any) -> None:
    """Declare the verbs."""
    for verb, (home, takes, text) in CONVERTERS.items():
        parser: argparse.ArgumentParser = verbs.add_parser(verb, help=text, description=text)
        parser.set_defaults(run=run, home=home, takes=takes)
        _files(parser)
        if takes == "domain":
            parser.add_argument("--domain", default="com.vai.quantize", help="the domain that the ops shall have")
    parser = verbs.add_parser("preprocess", help="onnxruntime's quant_pre_process: shapes and graph optimization")
    parser.set_defaults(run=run_preprocess)
    _files(parser)
    parser.add_argument("--skip-optimization", action="store_true")
    parser.add_argument("--skip-symbolic-shape", action="store_true")
    parser.add_argument("--auto-merge", action="store_true", help="merge symbolic dimensions that conflict")


def _files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("-o", "--output", metavar="OUT", required=True)
    parser.add_argument("--external-data", action="store_true", help="write the weights to a file of their own")


def converter(home: str) -> Any:
    """The function behind ``module:name``; the plugins are on the path once the catalog is read."""
    from ort_vitis_plugin.plugin.catalog import shared_catalog

    shared_catalog()
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


def save(model: ModelProto, output: str, *, external_data: bool) -> None:
    """Write the whole file or nothing."""
    from ort_vitis_plugin.onnx_io.save import save_model

    save_model(model, output, external_data=external_data)
    print(f"written: {output}")


def run(arguments: argparse.Namespace) -> int:
    """Convert, say what was done, write."""
    from ort_vitis_plugin.onnx_io.load import load_model
    from ort_vitis_plugin.report.report import Report

    report = Report()
    extra: dict[str, list[Any]] = {
        "report": [report],
        "skips": [report.skips],
        "domain": [getattr(arguments, "domain", None)],
        "": [],
    }
    model = converter(arguments.home)(load_model(arguments.model), *extra[arguments.takes])
    for text in (*report.notes, *(f"{skip.node} ({skip.op_type}) stays: {skip.reason}" for skip in report.skips)):
        print(text)
    save(model, arguments.output, external_data=arguments.external_data)
    return 0


def run_preprocess(arguments: argparse.Namespace) -> int:
    """Run quant_pre_process on a copy, then write."""
    from ort_vitis_plugin.onnx_io.load import load_model
    from ort_vitis_plugin.pipeline.preprocess import preprocess

    model = preprocess(
        load_model(arguments.model),
        skip_optimization=arguments.skip_optimization,
        skip_symbolic_shape=arguments.skip_symbolic_shape,
        auto_merge=arguments.auto_merge,
    )
    save(model, arguments.output, external_data=arguments.external_data)
    return 0
