"""The file in onnxruntime and its graph in torch give the same numbers: codes differ by nothing, or one in few."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from onnx import ModelProto

from .errors import TorchFrontEndError
from .host_calls import run
from .modules import GraphModel

# Largest share of an output's largest value by which engines may differ.
TOLERANCE = 1e-2


class CheckError(TorchFrontEndError, ValueError):
    """onnxruntime computes something else than torch."""


def check_against_onnxruntime(written: ModelProto, model: GraphModel, example: Sequence[np.ndarray[Any, Any]]) -> None:
    """Raise CheckError where an output of ``written`` differs between onnxruntime and torch on ``example``."""
    with torch.no_grad():
        computed = model.graph.cpu().eval()(*[torch.from_numpy(array) for array in example])
    expected = run(written, dict(zip(model.exported.input_names, example, strict=True)))
    for name, here, there in zip(model.exported.output_names, computed, expected, strict=True):
        found, wanted = here.numpy().astype(np.float64), there.astype(np.float64)
        error = float(np.abs(found - wanted).max(initial=0))
        if error > TOLERANCE * float(np.abs(wanted).max(initial=0)):
            raise CheckError(f"the output {name} differs by {error:.3g} between onnxruntime and torch")
