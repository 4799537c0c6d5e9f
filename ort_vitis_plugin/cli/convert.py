"""``ort-vitis convert`` and ``preprocess``: one rewrite of a model, written to a new file."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from ..custom_ops.domains import VAI_DOMAIN
from .output import Output
from .verb import verb

if TYPE_CHECKING:
    from onnx import ModelProto

# Conversion: where its function lies, what it takes beside the model, and what it does.
CONVERTERS = {
    "fp16-to-fp32": ("ort_vitis_prepare.convert.fp16_to_fp32:convert_fp16_to_fp32", "report", "float16 to float32"),
    "nchw-to-nhwc": (
        "ort_vitis_prepare.convert.nchw_to_nhwc:convert_nchw_to_nhwc",
        "report",
        "let image inputs take channels last",
    ),
    "vitis-to-standard": (
        "ort_vitis_plugin.convert:vitis_to_standard",
        "skips",
        "Vitis QDQ and FixNeuron to ONNX's QuantizeLinear and DequantizeLinear",
    ),
    "standard-to-vitis": (
        "ort_vitis_plugin.convert:standard_to_vitis",
        "skips",
        "ONNX's QuantizeLinear and DequantizeLinear to Vitis QDQ",
    ),
    "qdq-to-qoperator": (
        "ort_vitis_plugin.convert:qdq_to_qoperator",
        "skips",
        "quantize/dequantize pairs to quantized operators",
    ),
    "npu-to-cpu": (
        "ort_vitis_plugin.convert.evaluation_twin:npu_to_cpu",
        "skips",
        "NPU models to what a CPU computes on integers, several times faster and to the same bits",
    ),
    "quantized-to-float": (
        "ort_vitis_plugin.convert:quantized_to_float",
        "skips",
        "undo quantization: remove the pairs",
    ),
    "domain": (
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


def _files(function: Any) -> Any:
    function = click.option("--external-data", is_flag=True, help="Weights in a file of their own.")(function)
    return click.option("-o", "--output", metavar="OUT", help="The file to write (default: MODEL.<WHAT>.onnx).")(
        function
    )


@verb(
    "convert",
    examples=("ort-vitis convert qdq-to-qoperator digits.ipu_cnn.onnx -o digits.qoperator.onnx",),
    help="Rewrite a model into another form.\n\n\b\nWHAT is one of\n"
    + "\n".join(
        f"  {what}\n      {text}" if len(what) + len(text) > 56 else f"  {what:20}{text}"
        for what, (_, _, text) in CONVERTERS.items()
    ),
)
@click.argument("what", metavar="WHAT", type=click.Choice(tuple(CONVERTERS)))
@click.argument("model", metavar="MODEL")
@_files
@click.option("--domain", metavar="NAME", help=f"For WHAT=domain: the one that ops shall have (default: {VAI_DOMAIN}).")
def convert_verb(
    out: Output, what: str, model: str, output: str | None, external_data: bool, domain: str | None
) -> None:
    """Rewrite a model into another form."""
    _convert(out, what, model, output, domain, external_data=external_data)


def _convert(
    out: Output, what: str, model: str, output: str | None, domain: str | None, *, external_data: bool
) -> None:
    """Rewrite and save.

    Raises:
        OptionError: a domain is given to a conversion that has no use for it.
    """
    from ort_vitis_plugin.errors import OptionError
    from ort_vitis_plugin.onnx_io.load import load_model
    from ort_vitis_plugin.report.report import Report

    report = Report()
    home, takes, _ = CONVERTERS[what]
    if domain is not None and takes != "domain":
        raise OptionError(f"--domain {domain}: {what} names no domain; leave it out, or run `ort-vitis convert domain`")
    extra: dict[str, list[Any]] = {
        "report": [report],
        "skips": [report.skips],
        "domain": [domain or VAI_DOMAIN],
        "": [],
    }
    converted = converter(home)(load_model(model), *extra[takes])
    said = [*report.notes, *(f"{skip.node} ({skip.op_type}) stays: {skip.reason}" for skip in report.skips)]
    for text in said:
        out.print(text)
    file = save(out, converted, output, model, suffix=what, external_data=external_data)
    out.data({"written": file, "notes": said})


def _alias(what: str) -> click.Command:
    """The verb that a conversion used to be."""
    name = what if what.startswith("remove") else f"convert-{what}"

    @verb(name, hidden=True, help=f"{CONVERTERS[what][2]} (now: convert {what})")
    @click.argument("model", metavar="MODEL")
    @_files
    @click.option("--domain", hidden=what != "domain", help="The domain that the ops shall have.")
    def aliased(out: Output, model: str, output: str | None, external_data: bool, domain: str | None) -> None:
        """See ``convert``."""
        _convert(out, what, model, output, domain, external_data=external_data)

    return aliased


ALIASES = tuple(_alias(what) for what in CONVERTERS)


@verb("preprocess", examples=("ort-vitis preprocess digits.onnx -o clean.onnx",))
@click.argument("model", metavar="MODEL")
@_files
@click.option("--skip-optimization", is_flag=True, help="Leave the graph as it is.")
@click.option("--skip-symbolic-shape", is_flag=True, help="Infer no symbolic shapes.")
@click.option("--auto-merge", is_flag=True, help="Merge symbolic dimensions that conflict.")
def preprocess_verb(
    out: Output,
    model: str,
    output: str | None,
    external_data: bool,
    skip_optimization: bool,
    skip_symbolic_shape: bool,
    auto_merge: bool,
) -> None:
    """Run onnxruntime's quant_pre_process: shapes and graph optimization."""
    from ort_vitis_plugin.onnx_io.load import load_model
    from ort_vitis_plugin.pipeline.preprocess import preprocess as run

    clean = run(
        load_model(model),
        skip_optimization=skip_optimization,
        skip_symbolic_shape=skip_symbolic_shape,
        auto_merge=auto_merge,
    )
    file = save(out, clean, output, model, suffix="preprocessed", external_data=external_data)
    out.data({"written": file})


def converter(home: str) -> Any:
    """The function behind ``module:name``; the plugins are on the path once the catalog is read."""
    from ort_vitis_plugin.plugin.catalog import shared_catalog

    shared_catalog()
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


def save(out: Output, model: ModelProto, output: str | None, source: str, *, suffix: str, external_data: bool) -> str:
    """Write the whole file or nothing; returns where, by default beside the source."""
    from ort_vitis_plugin.onnx_io.save import save_model

    if output is None:
        output = str(Path(source).with_suffix(f".{suffix}.onnx"))
    save_model(model, output, external_data=external_data)
    out.print(f"written: {output}")
    return output
