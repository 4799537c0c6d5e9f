"""A CalibraterBase on exact sketches, for users of onnxruntime's create_calibrator."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from onnxruntime.quantization.calibrate import CalibraterBase, TensorData, TensorsData

from ..calibration.observe import observe
from ..data_readers import Samples
from ..numerics.positions import scale_of
from ..numerics.qtypes import PowerOfTwoMethod
from ..options.request import Request
from ..plan.error_curve import ErrorCurve
from ..plugin.catalog import shared_catalog
from ..request.settings import settings_of


class SketchCalibrater(CalibraterBase):  # type: ignore[misc]
    """``collect_data`` fills sketches (memory does not grow with samples), ``compute_data`` gives ranges.

    For a power-of-two method the range of a tensor is [(qmin - z) 2^-p, (qmax - z) 2^-p]: what the codes can hold.
    """

    def __init__(
        self,
        model: str | Path,
        op_types: list[str] | None,
        augmented_model_path: str,
        *,
        method: PowerOfTwoMethod = PowerOfTwoMethod.MinMSE,
        symmetric: bool = True,
        use_external_data_format: bool = False,
        providers: list[Any] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(model, op_types, augmented_model_path, symmetric, use_external_data_format)
        given = {key: value for key, value in (options or {}).items() if key in shared_catalog().options}
        request = Request(
            model=model,
            output=None,
            reader=None,
            quant_format="QuantFormat.QDQ",
            calibrate_method=method,
            activation_type="QInt8",
            weight_type="QInt8",
            given={**given, "ActivationSymmetric": symmetric},
        )
        self.settings = settings_of(request, shared_catalog())
        self.execution_providers = providers or ["CPUExecutionProvider"]
        collector = self.settings.method.collector
        self.collector = collector(self.settings) if collector is not None else None
        self.sketches: dict[str, Any] = {}

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> SketchCalibrater:
        """The calibrator for a call of create_calibrator, all parameters by name."""
        options = dict(arguments.get("extra_options") or {})
        return cls(
            arguments["model"],
            arguments.get("op_types_to_calibrate"),
            arguments.get("augmented_model_path") or "augmented_model.onnx",
            method=arguments["calibrate_method"],
            symmetric=bool(options.pop("symmetric", True)),
            use_external_data_format=bool(arguments.get("use_external_data_format")),
            providers=arguments.get("providers"),
            options=options,
        )

    def augment_graph(self) -> None:
        """Nothing to write: tensors are observed without changing the model's file."""

    def create_inference_session(self) -> None:
        """Nothing to open before the samples come."""

    def collect_data(self, data_reader: Any) -> None:
        """Observe every calibrated tensor on every sample; may be called again with more samples."""
        collector = self.collector
        tensors, _ = self.select_tensors_to_calibrate(self.model)
        observation = observe(
            self.model,
            sorted(tensors),
            Samples(data_reader, self.model),
            providers=self.execution_providers,
            on_sample=None if collector is None else lambda sample: collector.observe(sample.sketches),
            apart=collector is not None,
        )
        if not observation.samples:
            raise ValueError("No data is collected.")
        for name, sketch in observation.items():
            if name in self.sketches:
                self.sketches[name].merge(sketch)
            else:
                self.sketches[name] = sketch

    def compute_data(self) -> TensorsData:
        """Tensor name -> range, as onnxruntime's quantizers take it."""
        kind = self.settings.activation
        ranges: dict[str, TensorData] = {}
        for name, sketch in self.sketches.items():
            curve = ErrorCurve(
                sketch, kind, kind.limits(), bool(self.symmetric), never_clips=self.settings.method.never_clips
            )
            position = self.settings.method.choose(curve, name, self.collector)
            zero, step = curve.zero_point(position), scale_of(position)
            ranges[name] = TensorData(
                lowest=np.asarray((kind.min - zero) * step, dtype=np.float32),
                highest=np.asarray((kind.max - zero) * step, dtype=np.float32),
            )
        return TensorsData(self.settings.method.key, ranges)
