"""The samples that judge run once through float, see past a Softmax, and look at each tensor no oftener than needed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from ort_vitis_plugin.data_readers.spread import spread
from ort_vitis_plugin.pipeline.held_out import HeldOut
from ort_vitis_plugin.plan import Role
from ort_vitis_plugin.plugin.methods import PositionMethod
from ort_vitis_plugin.testing import graph, plain_context
from tests.ort_vitis_plugin.pipeline.test_recipe import network, notes, quantized, samples
from tests.zoo.configurations import NPU_CNN

if TYPE_CHECKING:
    from onnx import ModelProto

    from ort_vitis_plugin.api import ErrorCurve, TensorFacts


def certain() -> ModelProto:
    """The network ends in a Softmax that gives one class all."""
    model = network()
    for constant in model.graph.initializer:
        if constant.name == "w3":
            constant.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(constant) * np.float32(1000), "w3"))
    model.graph.node[-1].output[0] = "logits"
    model.graph.node.append(helper.make_node("Softmax", ["logits"], ["y"], "softmax", axis=1))
    return model


def test_a_softmax_that_is_certain_hides_nothing() -> None:
    assert "are taken" in notes(quantized(NPU_CNN, samples(), model=certain()))


def test_float_is_run_once_and_a_plan_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Counter[str] = Counter()
    for name in ("__init__", "error_of"):
        real = getattr(HeldOut, name)

        def counted(self: HeldOut, *arguments: Any, real: Any = real, name: str = name, **keywords: Any) -> Any:
            seen[name] += 1
            return real(self, *arguments, **keywords)

        monkeypatch.setattr(HeldOut, name, counted)
    result = quantized(NPU_CNN, samples())
    assert "BiasCorrection: " in notes(result)
    assert seen["__init__"] == 1
    assert 3 <= seen["error_of"] <= 6  # without energies, with them, with biases, and shorter beginnings


@pytest.mark.parametrize("slow", [False, True])
def test_the_twin_says_the_same_to_the_bit(slow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ort_vitis_plugin.pipeline.held_out.TWIN_PAYS", 0.0 if slow else np.inf)
    told = notes(quantized(NPU_CNN, samples()))
    monkeypatch.undo()
    assert told == notes(quantized(NPU_CNN, samples()))


def test_the_method_looks_at_an_activation_once_and_at_a_weight_once_for_each_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: Counter[tuple[Role, str]] = Counter()
    real = PositionMethod.position_of

    def counted(self: PositionMethod, curve: ErrorCurve, tensor: TensorFacts) -> int:
        seen[tensor.role, tensor.name] += 1
        return real(self, curve, tensor)

    monkeypatch.setattr(PositionMethod, "position_of", counted)
    quantized(NPU_CNN, samples(), BiasCorrection=False)
    assert {role for role, _ in seen} >= {Role.ACTIVATION, Role.WEIGHT}
    # An input of a Relu takes the range of its output, for which the method is asked by the same name.
    assert max(count for (role, _), count in seen.items() if role is Role.WEIGHT) == 2
    assert max(count for (role, _), count in seen.items() if role is Role.ACTIVATION) <= 2


def test_the_float_model_has_no_error_and_others_have_theirs() -> None:
    def scaled(factor: float) -> ModelProto:
        text = "t (float[4, 3] x) => (float[4, 3] y) { y = Mul(x, w) }"
        return graph(text, constants={"w": np.full(3, factor, np.float32)})

    feeds = [{"x": np.random.default_rng(seed).standard_normal((4, 3)).astype(np.float32)} for seed in range(3)]
    judge = HeldOut(plain_context(), scaled(1.0), [0, 1, 2], feeds)
    assert judge.error_of(scaled(1.0)).mean == 0
    assert judge.error_of(scaled(1.1)).mean == pytest.approx(0.01, rel=1e-3)


def test_fewer_judges_are_spread_over_all() -> None:
    model = network()
    feeds = samples()[:16]
    judge = HeldOut(plain_context(), model, list(range(16)), feeds)
    few = judge.few(8)
    assert (len(judge), len(few), len(judge.few(99))) == (16, 8, 16)
    chosen = HeldOut(plain_context(), model, list(range(8)), [feeds[place] for place in spread(16, 8)])
    noisy = quantized(NPU_CNN, samples(), model=model).model
    np.testing.assert_array_equal(few.error_of(noisy).errors, chosen.error_of(noisy).errors)
