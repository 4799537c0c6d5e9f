"""onnxruntime's quant_pre_process as a step in memory: symbolic shapes, graph optimization, ONNX shapes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from onnxruntime.quantization import quant_pre_process

from ..errors import ModelError
from ..onnx_io.save import LARGEST_FILE, model_size, save_model
from ..onnx_io.whole_file import scratch_folder

if TYPE_CHECKING:
    from onnx import ModelProto


def preprocess(
    model: ModelProto,
    *,
    skip_optimization: bool = False,
    skip_symbolic_shape: bool = False,
    auto_merge: bool = True,
) -> ModelProto:
    """The model after quant_pre_process. Symbolic shapes need the package sympy and are left out without it.

    Models beyond 2 GB are not optimized: onnxruntime cannot write them. The argument is not changed.

    Raises:
        ModelError: onnxruntime cannot preprocess the model.
    """
    large = model_size(model) >= LARGEST_FILE
    leftover = Path("sym_shape_infer_temp.onnx")  # what onnxruntime leaves where symbolic inference fails
    existed = leftover.exists()
    with scratch_folder() as folder:
        source, target = folder / "model.onnx", folder / "prepared.onnx"
        save_model(model, source, external_data=large)
        try:
            quant_pre_process(
                str(source),
                str(target),
                skip_symbolic_shape=skip_symbolic_shape or find_spec("sympy") is None,
                skip_optimization=skip_optimization or large,
                save_as_external_data=large,
                external_data_location="prepared.data" if large else None,
                all_tensors_to_one_file=large,
                auto_merge=auto_merge,
            )
        except Exception as error:  # shape inference raises plain Exception and AssertionError
            raise ModelError(
                f"quant_pre_process of onnxruntime fails on this model: {error}; leave Preprocess out, "
                "or skip its symbolic shapes (ort-vitis preprocess --skip-symbolic-shape)"
            ) from error
        finally:
            if not existed:
                leftover.unlink(missing_ok=True)
        return onnx.load(str(target))
