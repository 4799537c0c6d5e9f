"""``ort-vitis quantize``: the main job, from a float model and samples to a quantized file and a closing table."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .data_arguments import add_data, data_reader
from .option_values import parse_options
from .shape_arguments import add_shapes, given_shapes

if TYPE_CHECKING:
    from ort_vitis_plugin.plugin.catalog import Catalog

# Flag, argument of quantize_static, and what the help says of it.
NAMED = (
    ("--format", "quant_format", "QDQ, QOperator, VitisQuantFormat.QDQ, FixNeuron, or a plugin's"),
    ("--method", "calibrate_method", "MinMSE, NonOverflow, MinMax, Entropy, Percentile, Distribution, or a plugin's"),
    ("--activation-type", "activation_type", "QInt8, QUInt8, QInt16, QBFloat16, ..."),
    ("--weight-type", "weight_type", "QInt8, QUInt8, QInt16, QBFloat16, ..."),
)
LISTS = (
    ("--op-types", "op_types_to_quantize", "op types to quantize"),
    (
        "--nodes",
        "nodes_to_quantize",
        "the only nodes to quantize: names, '/body/*', op:Conv, tensor:/x, re:REGEX",
    ),
    ("--exclude", "nodes_to_exclude", "nodes to leave float: names or patterns as for --nodes"),
    ("--input-nodes", "input_nodes", "what lies before these nodes stays float"),
    ("--output-nodes", "output_nodes", "what lies behind these nodes stays float"),
)
SWITCHES = (
    ("--per-channel", "per_channel", "weights with one scale per channel"),
    ("--reduce-range", "reduce_range", "weights with one bit less"),
    ("--cle", "include_cle", "equalize consecutive layers first"),
    ("--fp16-to-fp32", "convert_fp16_to_fp32", "turn a float16 model into float32 first"),
    ("--nchw-to-nhwc", "convert_nchw_to_nhwc", "let image inputs take channels last"),
    ("--external-data", "use_external_data_format", "write the weights to a file of their own"),
)


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "quantize", help="quantize a float model", description="Quantize a float ONNX model with calibration samples."
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="the float model, an .onnx file")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the file to write")
    add_data(parser, otherwise="without it one random sample calibrates, for trying out only")
    parser.add_argument("--calibration", metavar="FILE", help="what `ort-vitis calibrate` wrote, in place of --data")
    add_configuration(parser)
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON too")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no tables")


def add_configuration(parser: argparse.ArgumentParser) -> None:
    """The arguments that say how to quantize."""
    parser.add_argument(
        "--preset",
        metavar="NAME",
        help="ipu_cnn, ipu_transformer, cpu, or a plugin's: a named configuration, over which what else is given wins "
        "(default: what quantize_static does by default)",
    )
    parser.add_argument(
        "--option",
        metavar="Key=Value",
        nargs="+",
        action="extend",
        default=[],
        help="any key of `ort-vitis options`; repeatable",
    )
    for flag, argument, text in NAMED:
        parser.add_argument(flag, dest=argument, metavar="NAME", help=text)
    for flag, argument, text in LISTS:
        parser.add_argument(flag, dest=argument, metavar="NAME", nargs="+", help=text)
    for flag, argument, text in SWITCHES:
        parser.add_argument(flag, dest=argument, action="store_true", help=text)
    parser.add_argument(
        "--finetune", action="store_true", help="round weights anew for the error of their layers (FastFinetune)"
    )
    parser.add_argument(
        "--no-optimize", dest="optimize_model", action="store_false", help="skip onnxruntime's graph optimization"
    )
    add_shapes(parser)


def configuration(arguments: argparse.Namespace, catalog: Catalog) -> dict[str, Any]:
    """Keyword arguments of quantize_static: the preset's name, and what the flags say."""
    given = parse_options(arguments.option, catalog.options)
    keywords: dict[str, Any] = {}
    if arguments.preset is not None:
        given = {"Preset": arguments.preset, **given}
    if shapes := given_shapes(arguments):
        given = {**given, "FixShapes": shapes}
    if arguments.finetune:
        given = {"FastFinetune": True, **given}
    for _, argument, _ in (*NAMED, *LISTS, *SWITCHES):
        value = getattr(arguments, argument)
        if value:
            keywords[argument] = value
    return {**keywords, "optimize_model": arguments.optimize_model, "extra_options": given}


def run(arguments: argparse.Namespace) -> int:
    """Quantize, write, show."""
    from ort_vitis_plugin.entry.quantize_static import quantize_static
    from ort_vitis_plugin.onnx_io.whole_file import write_text
    from ort_vitis_plugin.plugin.catalog import shared_catalog

    keywords = configuration(arguments, shared_catalog())
    reader = data_reader(arguments)
    if arguments.calibration is not None:
        from ort_vitis_plugin.calibration import Calibration

        keywords["calibration"] = Calibration.load(arguments.calibration)
    result = quantize_static(arguments.model, arguments.output, reader, **keywords)
    if not arguments.quiet:
        result.report.print()
        print(f"written: {result.path}")
    if arguments.json:
        write_text(arguments.json, result.report.to_json() + "\n")
    return 0
