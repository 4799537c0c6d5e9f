"""``ort-vitis dump``: the codes of every quantized tensor for one sample, in files to compare with a device."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import rich_click as click

from .data_arguments import data_options, data_reader
from .output import Output
from .verb import verb


@verb("dump", examples=("ort-vitis dump digits.ipu_cnn.onnx --data samples.npz -o codes",))
@click.argument("model", metavar="QUANTIZED")
@click.option("-o", "--output", metavar="FOLDER", default="dump_results", help="Default: dump_results.")
@data_options(otherwise="the first sample is run; default: a random one")
@click.option("--float", "floats", is_flag=True, help="Write the floats of every node's outputs too.")
def dump_verb(out: Output, model: str, output: str, floats: bool, **flags: Any) -> None:
    """Write what the quantized tensors hold for the first sample.

    Integer codes of weights and activations, as .bin and .txt, and an index.
    """
    from ort_vitis_plugin.analysis.dump import dump_model

    dump_model(model, data_reader(flags), dump_float=floats, output_dir=output)
    out.print(f"written: {output}")
    out.data({"written": output})
