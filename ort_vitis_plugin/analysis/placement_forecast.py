"""What a device takes of a model can be known before it is quantized: the target says why a node cannot run there."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..custom_ops.stored_codes import holds_constant
from ..errors import UnsupportedError
from ..foreign import public
from ..options.request import PRESET_ARGUMENTS, Request
from ..pipeline.fixed_shapes import open_inputs
from ..pipeline.stages import load, normalize, prepare, simulate
from ..plugin.catalog import Catalog, shared_catalog
from ..report.device_causes import Cause, causes
from ..request.call import Call

if TYPE_CHECKING:
    from onnx import ModelProto


@dataclass(frozen=True)
class Placement:
    """A node of the prepared graph; ``reason`` says why the device does not take it (None: it does)."""

    node: str
    op_type: str
    reason: str | None


@dataclass(frozen=True)
class Forecast:
    """Placements of every node, and the inputs whose sizes are open when the model is prepared."""

    placements: tuple[Placement, ...]
    open_shapes: Mapping[str, list[int | str | None]]

    def causes(self) -> list[Cause]:
        """Why nodes stay away from the device, those of the most nodes first, with what to add."""
        away = {entry.node: entry.reason for entry in self.placements if entry.reason is not None}
        return causes(away, self.open_shapes)


def forecast(
    model: str | Path | ModelProto,
    target: str = "ipu_cnn",
    catalog: Catalog | None = None,
    *,
    fix_shapes: Mapping[str, Any] | None = None,
) -> list[Placement]:
    """The placement of every node, in the form that it has when it is quantized; no sample is run.

    ``fix_shapes`` fixes open sizes first, as the option FixShapes does.
    """
    return list(forecast_of(model, target, catalog, fix_shapes=fix_shapes).placements)


@public
def forecast_of(
    model: str | Path | ModelProto,
    target: str = "ipu_cnn",
    catalog: Catalog | None = None,
    *,
    fix_shapes: Mapping[str, Any] | None = None,
) -> Forecast:
    """What ``forecast`` gives, and why.

    Raises:
        UnsupportedError: the target cannot tell where its nodes run.
    """
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
        given={"Preset": target, "Target": target, **({"FixShapes": dict(fix_shapes)} if fix_shapes else {})},
        default=frozenset(PRESET_ARGUMENTS),
    )
    call = Call.of(request, catalog)
    graph = simulate(call, prepare(call, normalize(call, load(call))))
    device = graph.device_nodes
    placements = tuple(
        Placement(node.name, node.op_type, None if node.name in device else placement(graph, node))
        for node in graph
        if not holds_constant(node, graph.is_constant)
    )
    return Forecast(placements, open_inputs(graph.model))
