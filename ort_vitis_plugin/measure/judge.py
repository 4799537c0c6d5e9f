"""Many candidates are judged against one float model, whose answers are computed once."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort

from .. import custom_ops
from ..convert.evaluation_twin import evaluation_twin
from ..data_readers import adapt_feed
from ..errors import ModelError
from ..onnx_io.external_weights import lend_to_session
from ..onnx_io.sessions import QUIET, open_session
from ..report.verdict import QUANTIZED
from .answers import answer, float_answers
from .class_outputs import class_axes
from .output_parts import output_parts
from .verdict import judgements_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto

    from ..data_readers import Feed
    from ..report.verdict import Judgement


class Judge:
    """``feeds`` are samples as the float model takes them. Outputs count that hold floats and have the same shapes."""

    def __init__(
        self,
        original: ModelProto,
        feeds: Sequence[Feed],
        libraries: Sequence[Callable[[ort.SessionOptions], object]] = (),
    ) -> None:
        self.feeds, self.libraries = list(feeds), [custom_ops.register, *libraries]
        self._parts, self._axes = output_parts(original), class_axes(original)
        names = [value.name for value in original.graph.output]
        rows = float_answers(original, self.libraries, names, self.feeds)
        columns = {name: [row[at] for row in rows] for at, name in enumerate(names)}
        self.reference: dict[str, list[NDArray[Any]]] = {
            name: values for name, values in columns.items() if all(_is_float(value) for value in values)
        }

    def judgements(self, model: ModelProto) -> list[Judgement]:
        """Of a quantized model, worst first.

        Raises:
            ModelError: onnxruntime does not run the model, or it lacks an output.
        """
        return self.compared(model, self.session(model))

    def session(self, model: ModelProto, *, twin: bool = False) -> ort.InferenceSession:
        """A session of the quantized model, or of its evaluation twin: the same to the bit, and faster.

        Raises:
            ModelError: onnxruntime does not load it.
        """
        try:
            if not twin:
                return open_session(model, self.libraries)
            made = evaluation_twin(model)
            options = made.session_options()
            options.log_severity_level = QUIET
            for register in self.libraries[1:]:
                register(options)
            return lend_to_session(made.model, options)
        except Exception as error:
            raise ModelError(f"onnxruntime cannot load the quantized model: {error}") from error

    def compared(self, model: ModelProto, session: ort.InferenceSession) -> list[Judgement]:
        """The judgements of a session of ``model``.

        Raises:
            ModelError: the model lacks an output, or does not run on a sample.
        """
        names = list(self.reference)
        missing = set(names) - {value.name for value in session.get_outputs()}
        if missing:
            raise ModelError(f"the quantized model has no output {min(missing)!r}; is it made from this float model?")
        try:
            rows = [answer(session, names, adapt_feed(model, feed)) for feed in self.feeds]
        except Exception as error:
            raise ModelError(f"onnxruntime cannot run the quantized model on a sample: {error}") from error
        found = {name: [row[at] for row in rows] for at, name in enumerate(names)}
        alike = [
            name
            for name in names
            if all(f.shape == np.shape(q) for f, q in zip(self.reference[name], found[name], strict=True))
        ]
        return judgements_of(
            {name: self.reference[name] for name in alike},
            {QUANTIZED: {name: found[name] for name in alike}},
            self._parts,
            self._axes,
        )


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size > 0
