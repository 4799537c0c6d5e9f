"""What a device takes of a model can be known before it is quantized: the target says why a node cannot run there."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UnsupportedError
from ..options.request import PRESET_ARGUMENTS, Request
from ..pipeline.stages import load, normalize, prepare, simulate
from ..plugin.catalog import Catalog, shared_catalog
from ..request.call import Call

if TYPE_CHECKING:
    from onnx import ModelProto


@dataclass(frozen=True)
class Placement:
    """A node of the prepared graph; ``reason`` says why the device does not take it (None: it does)."""

    node: str
    op_type: str
    reason: str | None


def forecast(
    model: str | Path | ModelProto, target: str = "ipu_cnn", catalog: Catalog | None = None
) -> list[Placement]:
    """The placement of every node, in the form that it has when it is quantized; no sample is run."""
    catalog = catalog or shared_catalog()
    placement = catalog.target(target).placement
    if placement is None:
        raise UnsupportedError(f"the target {target} has no forecast; `ort-vitis forecast --preset ipu_cnn` has one")
    request = Request(
        model=model,
        output=None,
        reader=None,
        quant_format="QuantFormat.QDQ",
        calibrate_method="MinMSE",
        activation_type="QInt8",
        weight_type="QInt8",
        given={"Preset": target, "Target": target},
        default=frozenset(PRESET_ARGUMENTS),
    )
    call = Call.of(request, catalog)
    graph = simulate(call, prepare(call, normalize(call, load(call))))
    device = graph.device_nodes
    return [
        Placement(node.name, node.op_type, None if node.name in device else placement(graph, node))
        for node in graph
        if node.op_type != "Constant"
    ]
