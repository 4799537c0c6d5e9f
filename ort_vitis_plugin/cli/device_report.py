"""``ort-vitis device-report``: what the NPU's execution provider placed where, against the forecast."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import rich_click as click

from .data_arguments import data_options, data_reader
from .output import Output
from .verb import verb


@verb(
    "device-report",
    examples=(
        "ort-vitis device-report digits.ipu_cnn.onnx --float digits.onnx",
        "ort-vitis device-report --report vitisai_ep_report.json --float digits.onnx",
    ),
)
@click.argument("model", metavar="QUANTIZED", required=False)
@click.option("--float", "float_model", metavar="MODEL", help="The float model: hold its forecast against the report.")
@click.option("--report", metavar="FILE", help="Compile nothing: read this report.")
@click.option("--cache", metavar="FOLDER", default="vitis_cache", help="The provider's cache (default: vitis_cache).")
@click.option(
    "--provider-option", metavar="KEY=VALUE", multiple=True, help="Options of the provider, such as xclbin=FILE."
)
@click.option("--preset", metavar="NAME", default="ipu_cnn", help="The target of the forecast (default: ipu_cnn).")
@data_options(otherwise="default: one random sample")
def device_report_verb(
    out: Output,
    model: str | None,
    float_model: str | None,
    report: str | None,
    cache: str,
    provider_option: tuple[str, ...],
    preset: str,
    **flags: Any,
) -> None:
    """Compile and run a quantized model on the NPU, and read what was placed where.

    Needs VitisAIExecutionProvider, or a report that it wrote elsewhere.
    """
    from ort_vitis_plugin.analysis.device_report import ALL, read_report

    found = read_report(report if report is not None else _compiled(model, cache, provider_option, flags))
    rows = [
        (name, count, ", ".join(sorted(found.op_types[name]))) for name, count in found.nodes.items() if name != ALL
    ]
    out.table("Placed by VitisAIExecutionProvider", ("device", "#nodes", "op types"), rows)
    out.print(f"{found.on_device} of {found.total} nodes are on the device")
    data: dict[str, Any] = {"nodes": dict(found.nodes), "on_device": found.on_device, "total": found.total}
    if float_model is not None:
        from ort_vitis_plugin.analysis.placement_forecast import forecast

        differences = found.against(forecast(float_model, preset))
        if differences:
            out.table(f"Otherwise than the forecast for {preset}", ("op type", "what"), differences)
        else:
            out.print("every op type is where the forecast has it")
        data["differences"] = dict(differences)
    out.data(data)


def _compiled(model: str | None, cache: str, options: tuple[str, ...], flags: dict[str, Any]) -> Any:
    from ort_vitis_plugin.analysis.device_report import compile_and_run
    from ort_vitis_plugin.data_readers import RandomDataReader, Samples
    from ort_vitis_plugin.errors import OptionError
    from ort_vitis_plugin.onnx_io.load import load_model

    if model is None:
        raise OptionError("name the quantized model, or the report that the provider wrote: --report FILE")
    pairs = [text.partition("=") for text in options]
    if wrong := [key for key, equals, _ in pairs if not equals]:
        raise OptionError(f"--provider-option takes KEY=VALUE, not {wrong[0]!r}")
    loaded = load_model(model)
    reader = data_reader(flags)
    samples = Samples(RandomDataReader(loaded) if reader is None else reader, loaded)
    return compile_and_run(model, cache, {key: value for key, _, value in pairs}, next(iter(samples), None))
