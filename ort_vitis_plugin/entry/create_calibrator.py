"""A CalibraterBase on exact sketches, for users of onnxruntime's create_calibrator."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from onnxruntime.quantization.calibrate import CalibraterBase, TensorData, TensorsData
from onnxruntime.quantization.quant_utils import get_qmin_qmax_for_qType

from ..calibration.observe import observe
from ..data_readers import Samples
from ..errors import UnsupportedError
from ..numerics.positions import scale_of
from ..numerics.qtypes import PowerOfTwoMethod
from ..options.request import Request
from ..plan import Role
from ..plan.error_curve import ErrorCurve
from ..plugin.catalog import shared_catalog
from ..plugin.methods import CalibraterMethod, TensorFacts
from ..request.settings import settings_of


class SketchCalibrater(CalibraterBase):  # type: ignore[misc]
    """``collect_data`` fills sketches (memory does not grow with samples), ``compute_data`` gives ranges.

    For a power-of-two method the range of a tensor is [(qmin - z) 2^-p, (qmax - z) 2^-p]: what the codes can hold, and
    from which onnxruntime's quantizers compute the scale 2^-p. Where ``symmetric`` is asked for, they divide twice
    the greater end by the number of their codes (from -127 for int8, -32767 for int16), so the range is that of these.
    """

    def __init__(
        self,
        model: str | Path,
        op_types: list[str] | None,
        augmented_model_path: str,
        *,
        method: PowerOfTwoMethod = PowerOfTwoMethod.MinMSE,
        symmetric: bool | None = None,
        use_external_data_format: bool = False,
        providers: list[Any] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        self.halves_codes = symmetric is True
        symmetric = symmetric is not False
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
        if isinstance(self.settings.method, CalibraterMethod):
            raise UnsupportedError(f"{method} is a CalibraterBase itself: make one of its class")
        self.collector = self.settings.method.started_collector(self.settings)
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
            symmetric=None if options.get("symmetric") is None else bool(options["symmetric"]),
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

    def _codes(self, zero: int) -> tuple[float, float]:
        """The codes of the ends of a range, less the zero point, by onnxruntime's arithmetic."""
        kind = self.settings.activation
        if not self.halves_codes:
            return kind.min - zero, kind.max - zero
        least, greatest = get_qmin_qmax_for_qType(kind.element_type, symmetric=True)
        half = (int(greatest) - int(least)) / 2
        return -half, half

    def compute_data(self) -> TensorsData:
        """Tensor name -> range, as onnxruntime's quantizers take it."""
        kind = self.settings.activation
        ranges: dict[str, TensorData] = {}
        for name, sketch in self.sketches.items():
            curve = ErrorCurve(
                sketch, kind, kind.limits(), bool(self.symmetric), never_clips=self.settings.method.never_clips
            )
            position = self.settings.method.position_of(
                curve, TensorFacts(name, Role.ACTIVATION, self.settings, self.collector)
            )
            low, high = self._codes(curve.zero_point(position))
            step = scale_of(position)
            ranges[name] = TensorData(
                lowest=np.asarray(low * step, dtype=np.float32), highest=np.asarray(high * step, dtype=np.float32)
            )
        return TensorsData(self.settings.method.key, ranges)
