"""``ort-vitis calibrate``: run the samples once, for many calls of ``ort-vitis quantize --calibration``."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import contextlib
from typing import Any

import rich_click as click

from .configuration import configuration_options, keywords_of, said
from .data_arguments import data_options, data_reader
from .output import Output
from .verb import verb


@verb(
    "calibrate",
    examples=(
        "ort-vitis calibrate digits.onnx -o digits.npz --data samples.npz",
        "ort-vitis quantize digits.onnx --calibration digits.npz --method NonOverflow",
    ),
)
@click.argument("model", metavar="MODEL")
@click.option("-o", "--output", metavar="OUT", required=True, help="The file to write.")
@data_options(required=True)
@click.option("--workers", metavar="N", type=int, default=1, help="Processes that share the samples.")
@click.option("--checkpoint", metavar="FILE", help="Go on from this file when broken off.")
@click.option("--plot", metavar="FOLDER", help="Draw each tensor's distribution, and its error over positions.")
@configuration_options
def calibrate_verb(
    out: Output, model: str, output: str, workers: int, checkpoint: str | None, plot: str | None, **flags: Any
) -> None:
    """Statistics of every float tensor in one file, from which any method and type reads its ranges.

    What prepares the model (preset, --cle, converters) must be the same when the file is used.
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from ort_vitis_plugin.entry.quantize_static import calibrate as run_samples

    if plot is not None:
        from ort_vitis_plugin.analysis.plot import need_matplotlib

        need_matplotlib()
    said_so = said(flags)
    keywords = keywords_of(said_so)
    reader = data_reader(flags, said_so.get("samples"))
    with contextlib.ExitStack() as stack:
        executor = None
        if workers > 1:
            executor = stack.enter_context(ProcessPoolExecutor(workers, get_context("spawn")))
        found = run_samples(model, reader, executor=executor, checkpoint=checkpoint, **keywords)
    found.save(output)
    out.print(f"written: {output} ({found.samples} samples, {len(found.sketches)} tensors)")
    data: dict[str, Any] = {"written": output, "samples": found.samples, "tensors": len(found.sketches)}
    if plot is not None:
        data["plots"] = _draw(found, plot, keywords)
        out.print(f"written: {data['plots']} plots in {plot}")
    out.data(data)


def _draw(found: Any, folder: str, keywords: dict[str, Any]) -> int:
    from ort_vitis_plugin.analysis.plot import plot
    from ort_vitis_plugin.entry.quantize_static import settings_for
    from ort_vitis_plugin.options.ort_options import OrtOptions

    settings = settings_for(**keywords)
    symmetric = settings.options[OrtOptions].activation_symmetric
    return len(plot(found, folder, settings.activation, symmetric=symmetric))
