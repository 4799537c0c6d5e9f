"""``ort-vitis fix-shape``: a model with open sizes becomes one with fixed sizes, in a new file."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import rich_click as click

from .convert import save
from .output import Output
from .shape_arguments import given_shapes, shape_options
from .verb import verb


@verb("fix-shape", examples=("ort-vitis fix-shape digits.onnx -o fixed.onnx --fix-shape image=1,1,8,8",))
@click.argument("model", metavar="MODEL")
@click.option("-o", "--output", metavar="OUT", help="The file to write (default: MODEL.fixed.onnx).")
@click.option("--external-data", is_flag=True, help="Weights in a file of their own.")
@shape_options
def fix_shape_verb(
    out: Output,
    model: str,
    output: str | None,
    external_data: bool,
    fix_shape: tuple[str, ...],
    fix_dim: tuple[str, ...],
) -> None:
    """Fix the sizes of a model's inputs: a device takes nodes whose sizes are known beforehand.

    What follows from the sizes is inferred through the model; without flags the open sizes are listed.
    """
    from ort_vitis_plugin.onnx_io.load import load_model
    from ort_vitis_plugin.pipeline.fixed_shapes import fix_shapes, open_inputs
    from ort_vitis_plugin.report.device_causes import remedy

    sizes = given_shapes(fix_shape, fix_dim)
    loaded = load_model(model)
    if sizes:
        loaded = fix_shapes(loaded, sizes)
        save(out, loaded, output, model, suffix="fixed", external_data=external_data)
    still = open_inputs(loaded)
    for name, shape in still.items():
        out.print(f"{name}: [{', '.join('?' if dim is None else str(dim) for dim in shape)}]")
    if still:
        out.print(f"to fix them, add {remedy(still)}")
    elif not sizes:
        out.print("every size of the model's inputs is fixed")
    out.data({"open": still})
