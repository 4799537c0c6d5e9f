"""Flags that say how to quantize, the same for every verb that has to know."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from .option_values import parse_options
from .shape_arguments import given_shapes, shape_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

HOW, WHICH = "How to quantize", "Which nodes"

# Flag, argument of quantize_static, and what the help says of it.
NAMED = (
    ("--format", "quant_format", "QDQ, QOperator, VitisQuantFormat.QDQ, FixNeuron, ..."),
    ("--method", "calibrate_method", "MinMSE, NonOverflow, MinMax, Percentile, ..."),
    ("--activation-type", "activation_type", "QInt8, QUInt8, QInt16, QBFloat16, ..."),
    ("--weight-type", "weight_type", "QInt8, QUInt8, QInt16, QBFloat16, ..."),
)
LISTS = (
    ("--nodes", "nodes_to_quantize", "The only ones: names or patterns ('/body/*', op:Conv, tensor:/x, re:REGEX)."),
    ("--exclude", "nodes_to_exclude", "Leave these float: names or patterns."),
    ("--op-types", "op_types_to_quantize", "Quantize these op types."),
    ("--input-nodes", "input_nodes", "What lies before them stays float."),
    ("--output-nodes", "output_nodes", "What lies behind them stays float."),
)
SWITCHES = (
    ("--per-channel", "per_channel", "Weights with one scale per channel."),
    ("--reduce-range", "reduce_range", "Weights with one bit less."),
    ("--cle", "include_cle", "Equalize consecutive layers first."),
    ("--fp16-to-fp32", "convert_fp16_to_fp32", "Turn a float16 model into float32 first."),
    ("--nchw-to-nhwc", "convert_nchw_to_nhwc", "Let image inputs take channels last."),
    ("--external-data", "use_external_data_format", "Weights in a file of their own."),
)


NO_KEYWORDS = ("preset", "samples", "model_input", "model_output")


def configuration_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare the flags."""
    function = shape_options(function)
    for flag, argument, text in reversed(LISTS):
        function = click.option(flag, argument, metavar="NAME", multiple=True, panel=WHICH, help=text)(function)
    function = click.option(
        "--no-optimize",
        "optimize_model",
        is_flag=True,
        default=True,
        panel=HOW,
        help="Skip onnxruntime's optimization.",
    )(function)
    for flag, argument, text in reversed(SWITCHES):
        function = click.option(flag, argument, is_flag=True, panel=HOW, help=text)(function)
    for flag, argument, text in reversed(NAMED):
        function = click.option(flag, argument, metavar="NAME", panel=HOW, help=text)(function)
    function = click.option(
        "--finetune",
        is_flag=True,
        panel=HOW,
        help="Round weights for the error of their layers (FastFinetune).",
    )(function)
    function = click.option(
        "--save-config", metavar="FILE", panel=HOW, help="Write what the flags say into a TOML file."
    )(function)
    function = click.option(
        "--config", metavar="FILE", panel=HOW, help="A TOML file that says what flags say; flags win."
    )(function)
    function = click.option(
        "--option",
        metavar="Key=Value",
        multiple=True,
        panel=HOW,
        help="Any key of `ort-vitis options`; repeatable.",
    )(function)
    return click.option(
        "--preset", metavar="NAME", panel=HOW, help="XINT8, A16W8, BF16, ipu_cnn, cpu, ...: what else is given wins."
    )(function)


def said(flags: Mapping[str, Any]) -> dict[str, Any]:
    """What file and flags say, by the names of a configuration file; with ``--save-config`` it is written down.

    Raises:
        OptionError: a flag, or a line of the file, is wrong.
    """
    from ort_vitis_plugin.plugin.catalog import shared_catalog
    from ort_vitis_plugin.presets.toml_file import from_file, read, toml

    from .data_arguments import said_of_samples

    found: dict[str, Any] = read(flags["config"]) if flags.get("config") else {}
    for _, argument, _ in (*NAMED, *LISTS, *SWITCHES):
        if value := flags[argument]:
            found[argument] = list(value) if isinstance(value, tuple) else value
    if not flags["optimize_model"]:
        found["optimize_model"] = False
    if flags["preset"] is not None:
        found["preset"] = flags["preset"]
    given = parse_options(flags["option"], shared_catalog().options)
    if flags["finetune"]:
        given = {"FastFinetune": True, **given}
    if shapes := given_shapes(flags["fix_shape"], flags["fix_dim"]):
        given["FixShapes"] = shapes
    found["extra_options"] = {**found.get("extra_options", {}), **given}
    found["samples"] = {**found.get("samples", {}), **said_of_samples(flags)}
    found = {key: value for key, value in found.items() if value != {}}
    if flags.get("save_config"):
        from ort_vitis_plugin.onnx_io.whole_file import write_text

        write_text(flags["save_config"], toml(from_file(found, flags["save_config"])))
    return found


def keywords_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of quantize_static, without the samples and the models, which a verb names itself."""
    keywords = {key: value for key, value in found.items() if key not in NO_KEYWORDS}
    options = keywords.get("extra_options", {})
    preset = {"Preset": found["preset"]} if "preset" in found else {}
    return {**keywords, "extra_options": {**preset, **options}}
