"""Networks that one scale per tensor ruins: what takes them back to float on the NPU, on digits that nobody saw."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.onnx_io.sessions import open_session
from tests.models import networks
from tests.zoo.configurations import NPU_CLE, NPU_CNN

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ort_vitis_plugin.errors.AccuracyWarning")]


def scores(name: str, configuration: dict[str, Any], **options: Any) -> tuple[float, float]:
    """Accuracy, and the logits' R2 against float's."""
    asked = {**configuration, "extra_options": {**configuration["extra_options"], **options}}
    result = quantize_static(networks.network(name), None, networks.reader(name), **asked)
    one, other = networks.session(networks.network(name)), open_session(result.model)
    known = networks.digits(name)
    f, q = networks.logits(one, known.evaluation), networks.logits(other, known.evaluation)
    explained = 1 - np.square(f - q).sum() / np.square(f - f.mean()).sum()
    return float(np.mean(q.argmax(1) == known.labels)), float(explained)


def float_accuracy(name: str) -> float:
    return networks.accuracy(networks.session(networks.network(name)), name)


def test_channels_that_differ_through_the_whole_depth_come_back_within_two_points_with_their_relu6() -> None:
    name = "depthwise_deep"
    assert scores(name, NPU_CNN, Recipe="plain")[0] < 0.3
    assert scores(name, NPU_CLE, CLEThroughClip=True)[0] >= float_accuracy(name) - 0.02


def test_channels_that_are_always_0_set_nobodys_step() -> None:
    name = "dead_channels"
    plain, auto = scores(name, NPU_CNN, Recipe="plain"), scores(name, NPU_CNN)
    assert auto[1] > plain[1]
    assert auto[1] >= 0.9
    assert auto[0] >= 0.9 * float_accuracy(name)
