"""Tensors inside the bodies of If, Loop and Scan are counted there, by nodes that hand them to Python.

A body's tensors cannot be fetched: a branch runs or not, a loop's shapes may change with every turn. So each observed
tensor gets a node of onnxruntime-extensions beside it, which calls back once a turn; nothing is kept or collected.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import GraphProto, ModelProto, TensorProto, helper

from ...calibration.observe import NonFinite, Sample
from ...custom_ops import CONTRIB_DOMAIN
from ...errors import CalibrationError
from ...graph import subgraphs
from ...graph.element_types import FLOATS
from ...sketch import Sketch
from .names import element_types

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import onnxruntime as ort
    from numpy.typing import NDArray

    from ...calibration.observe import Configure
    from ...request.call import Call

OP_TYPE = "VitisBodyObserver"
OBSERVED = FLOATS - {TensorProto.DOUBLE}

_numbers = count(1)
_open: dict[int, Sketch] = {}


@cache
def _declare_op() -> str:
    """Make the op known to onnxruntime-extensions; returns the path of its library."""
    from onnxruntime_extensions import PyCustomOpDef, get_library_path, onnx_op

    @onnx_op(  # type: ignore[untyped-decorator]
        op_type=OP_TYPE,
        inputs=[PyCustomOpDef.dt_float],
        outputs=[PyCustomOpDef.dt_uint8],
        attrs={"number": PyCustomOpDef.dt_int64},
    )
    def observe(values: NDArray[Any], **attributes: int) -> NDArray[np.uint8]:
        _open[attributes["number"]].add(values)
        return np.zeros(0, np.uint8)

    return str(get_library_path())


class BodyWatch:
    """A model whose bodies count their float tensors; ``sketches`` has them over all samples, empty where none ran.

    ``model`` is the one to run; it is the given one unless ``enabled``. Tensors that are counted ``outside`` are not
    counted a second time. To be used as a context: its numbers end with it.
    """

    def __init__(self, model: ModelProto, outside: Iterable[str] = (), *, enabled: bool = True) -> None:
        self.model = model
        self.sketches: dict[str, Sketch] = {}
        self.non_finite: list[NonFinite] = []
        self._now: dict[str, int] = {}
        self._outside = frozenset(outside)
        if not enabled:
            return
        watched = ModelProto()
        watched.CopyFrom(model)
        self._watch(watched.graph, element_types(watched.graph, {}), is_body=False)
        if self._now:
            self.model = watched
            if all(entry.domain != CONTRIB_DOMAIN for entry in watched.opset_import):
                watched.opset_import.append(helper.make_opsetid(CONTRIB_DOMAIN, 1))

    def __enter__(self) -> BodyWatch:
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._now.values():
            _open.pop(number, None)

    def configured(self, configure: Configure, libraries: list[str]) -> Configure:
        """``configure``, and the op's library unless it is among those that it registers."""
        if not self._now or _declare_op() in libraries:
            return configure

        def both(options: ort.SessionOptions) -> None:
            configure(options)
            options.register_custom_ops_library(_declare_op())

        return both

    def complete(self, sample: Sample, non_finite: str = "report") -> Sample:
        """The sample with what happened inside the bodies; with "error" the first NaN or Inf is one.

        Raises:
            CalibrationError: a value is not finite, and that is to be an error.
        """
        own: dict[str, Sketch] = {}
        found: list[NonFinite] = []
        for name, number in self._now.items():
            own[name] = sketch = _open[number].cut()
            nans, infinities = sketch.non_finite
            if nans or infinities:
                found.append(NonFinite(name, sample.index, nans, infinities))
            self.sketches[name].merge(sketch)
        if found and non_finite == "error":
            first = found[0]
            raise CalibrationError(
                f"sample {first.sample} puts {first.nans} NaN and {first.infinities} Inf into tensor {first.tensor}"
            )
        self.non_finite += found
        sketches = {**sample.sketches, **own} if sample.sketches else sample.sketches
        return replace(sample, sketches=sketches, non_finite=(*sample.non_finite, *found))

    # ------------------------------------------------------------------ inside

    def _watch(self, graph: GraphProto, types: Mapping[str, int], *, is_body: bool) -> None:
        names: dict[str, None] = {}
        for node in list(graph.node):
            for body in subgraphs(node):
                self._watch(body, element_types(body, types), is_body=True)
            if is_body:
                names.update(dict.fromkeys(name for name in (*node.input, *node.output) if name))
        for name in names:
            if types.get(name) in OBSERVED and name not in self._outside:
                self._observe(graph, name, types[name])

    def _observe(self, graph: GraphProto, name: str, kind: int) -> None:
        if name not in self._now:
            self._now[name] = next(_numbers)
            self.sketches[name] = Sketch()
            _open[self._now[name]] = Sketch()
        number = self._now[name]
        prefix = f"{OP_TYPE}_{number}_{len(graph.node)}"
        source = name
        if kind != TensorProto.FLOAT:
            source = f"{prefix}_float"
            graph.node.append(helper.make_node("Cast", [name], [source], f"{prefix}_cast", to=TensorProto.FLOAT))
        graph.node.append(
            helper.make_node(OP_TYPE, [source], [f"{prefix}_end"], prefix, domain=CONTRIB_DOMAIN, number=number)
        )


def watch(call: Call, model: ModelProto, outside: Iterable[str]) -> BodyWatch:
    """The model with counters in its bodies, where EnableSubgraph asks for it; ``outside`` is counted elsewhere."""
    return BodyWatch(model, outside, enabled=call.settings.quantizes_bodies)
