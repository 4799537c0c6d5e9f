"""What a quantized model is worth to its user: its score and the float model's, on the same samples, in one pass."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data_readers import RandomDataReader
from ..data_readers.labels import labelled_samples
from ..errors import CalibrationError, MetricError, OptionError, suggest
from ..numerics.sqnr import decibels
from ..onnx_io.load import load_model
from ..onnx_io.save import model_size
from ..onnx_io.two_files import stored_bytes
from ..report.json_data import finite_or_none
from .evaluate import Comparison
from .top1 import among_best

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnxruntime as ort
    from numpy.typing import NDArray
    from onnx import ModelProto

    from .evaluate import Difference

SQNR, TOP1, TOP5, COSINE, PSNR = METRICS = ("sqnr", "top1", "top5", "cosine", "psnr")
BEST = {TOP1: 1, TOP5: 5}


@dataclass(frozen=True)
class Evaluation:
    """``float_score`` and ``quantized_score`` are of ``metric``, higher being better; of cosine (mean over samples and
    outputs), psnr and sqnr (decibels, of all outputs together) the float model's is the best possible. ``latency`` is
    the median of a run in milliseconds, ``size`` in bytes, of the float model and of the quantized one."""

    metric: str
    float_score: float
    quantized_score: float
    samples: int
    outputs: dict[str, Difference]
    latency: tuple[float, float]
    size: tuple[int, int]

    @property
    def drop(self) -> float:
        """What is lost: the float score less the quantized one."""
        return self.float_score - self.quantized_score

    def as_dict(self) -> dict[str, Any]:
        """Plain data; infinite numbers are None."""
        data = asdict(self)
        data["outputs"] = {
            name: {"sqnr": finite_or_none(each.sqnr), "largest": each.largest, "other_sizes": each.other_sizes}
            for name, each in self.outputs.items()
        }
        return {
            **data,
            "float_score": finite_or_none(self.float_score),
            "quantized_score": finite_or_none(self.quantized_score),
        }


class _Scores:
    """Sums of what a metric needs, over samples."""

    def __init__(self, metric: str) -> None:
        self.metric = metric
        self.right, self.rows = [0, 0], 0
        self.cosines: list[float] = []
        self.signal = self.noise = self.count = 0.0
        self.low, self.high = math.inf, -math.inf

    def add(self, found: Sequence[Sequence[Any]], labels: NDArray[Any] | None) -> None:
        if self.metric in BEST and labels is not None:
            self.rows += len(labels)
            for at, outputs in enumerate(found):
                self.right[at] += among_best(outputs, labels, BEST[self.metric])
        for f, q in zip(*found, strict=True):
            if isinstance(f, np.ndarray) and f.dtype.kind == "f" and f.size and f.shape == np.shape(q):
                self._compare(f.astype(np.float64).ravel(), np.asarray(q, np.float64).ravel())

    def _compare(self, f: NDArray[Any], q: NDArray[Any]) -> None:
        size = math.sqrt(float(f @ f) * float(q @ q))
        self.cosines.append(float(f @ q) / size if size else float(f @ f == q @ q))
        self.signal += float(f @ f)
        self.noise += float((f - q) @ (f - q))
        self.count += f.size
        self.low, self.high = min(self.low, float(f.min())), max(self.high, float(f.max()))

    def both(self) -> tuple[float, float]:
        """The float model's score and the quantized one's.

        Raises:
            CalibrationError: the metric needs labels, or outputs of floats, and there are none.
        """
        if self.metric in BEST:
            if not self.rows:
                raise CalibrationError(
                    f"metric {self.metric!r} needs labels: labels=[...], a CSV file, or a folder of pictures per class"
                )
            return self.right[0] / self.rows, self.right[1] / self.rows
        if not self.cosines:
            raise CalibrationError("no output holds floats of the same shape in both models")
        if self.metric == COSINE:
            return 1.0, statistics.fmean(self.cosines)
        if self.metric == PSNR:
            return math.inf, decibels((self.high - self.low) ** 2, self.noise / self.count)
        return math.inf, decibels(self.signal, self.noise)


def evaluate(
    float_model: ModelProto | str | Path,
    quantized_model: ModelProto | str | Path,
    data: Any = None,
    metric: str | Callable[[ort.InferenceSession], float] = SQNR,
    labels: Any = None,
) -> Evaluation:
    """Run both models side by side on ``data`` (None: one random sample), at basic optimization.

    ``metric`` is ``"sqnr"``, ``"top1"``, ``"top5"``, ``"cosine"``, ``"psnr"``, or a function of an onnxruntime session.
    ``labels`` are what ``labelled_samples`` takes: None, a list, or a CSV file. A quantized model of another tool will
    do.

    Raises:
        OptionError: there is no such metric.
        CalibrationError: there is no sample, or labels do not fit.
        MetricError: the function raises, or gives what is no number.
        ModelError: onnxruntime does not run one of the models, or their outputs differ in name.
    """
    if not callable(metric) and metric not in METRICS:
        raise OptionError(
            f"metric takes {', '.join(METRICS)} or a function of a session, not {metric!r}"
            f"{suggest(str(metric), METRICS)}"
        )
    models = load_model(float_model), load_model(quantized_model)
    comparison = Comparison(*models)
    scores = _Scores(metric if isinstance(metric, str) else "")
    source = RandomDataReader(models[0]) if data is None else data
    for feed, truth in labelled_samples(source, labels, models[0]):
        scores.add(comparison.run(feed), truth)
    if not comparison.seconds[0]:
        raise CalibrationError("there is no sample to compare on")
    if callable(metric):
        before, after = (checked_score(metric, session) for session in comparison.sessions)
    else:
        before, after = scores.both()
    milliseconds = [1e3 * statistics.median(each) for each in comparison.seconds]
    sizes = [_size(given, model) for given, model in zip((float_model, quantized_model), models, strict=True)]
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", type(metric).__name__)
    return Evaluation(
        name,
        before,
        after,
        len(comparison.seconds[0]),
        comparison.differences(),
        (milliseconds[0], milliseconds[1]),
        (sizes[0], sizes[1]),
    )


def checked_score(metric: Callable[[Any], float], session: ort.InferenceSession) -> float:
    """What a metric of the caller gives for a session.

    Raises:
        MetricError: it raises, or gives what is no number.
    """
    name = getattr(metric, "__name__", type(metric).__name__)
    try:
        value = float(metric(session))
    except Exception as error:
        raise MetricError(f"metric {name} raised {type(error).__name__}: {error}") from error
    if not math.isfinite(value):
        raise MetricError(f"metric {name} gave {value}")
    return value


def _size(given: ModelProto | str | Path, model: ModelProto) -> int:
    return stored_bytes(given) if isinstance(given, (str, Path)) else model_size(model)
