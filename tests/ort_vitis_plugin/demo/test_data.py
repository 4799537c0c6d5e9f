"""The bundled network is real and small, and its digits are honest ones."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest

from ort_vitis_plugin.demo import data


@pytest.fixture(scope="module")
def session() -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(data.model_path(), providers=["CPUExecutionProvider"])


def pixels(feeds: list[dict[str, np.ndarray]]) -> list[bytes]:
    return [feed[data.INPUT].tobytes() for feed in feeds]


def test_files_are_under_500_kb() -> None:
    folder = data.model_path().parent
    assert sum((folder / name).stat().st_size for name in ("digits.onnx", "digits.npz")) < 500_000


def test_float_accuracy_is_at_least_96_percent(session: onnxruntime.InferenceSession) -> None:
    assert data.evaluate(session) >= 0.96


def test_network_has_the_layers_that_the_demo_is_about() -> None:
    model = onnx.load(data.model_path())
    onnx.checker.check_model(model, full_check=True)
    assert model.ir_version <= 9
    ops = Counter(node.op_type for node in model.graph.node)
    wanted = (
        "Conv",
        "BatchNormalization",
        "Clip",
        "Add",
        "Concat",
        "MaxPool",
        "AveragePool",
        "GlobalAveragePool",
        "Gemm",
    )
    assert [op for op in wanted if not ops[op]] == []
    groups = [a.i for node in model.graph.node for a in node.attribute if a.name == "group"]
    assert any(group > 1 for group in groups)


@pytest.mark.slow
def test_digits_are_scikit_learns_and_in_one_part_only() -> None:
    digits = pytest.importorskip("sklearn.datasets").load_digits()
    real = {
        (image / 16).astype(np.float32).tobytes(): int(label)
        for image, label in zip(digits.images, digits.target, strict=True)
    }
    calibration = pixels(list(iter(data.calibration_reader(200).get_next, None)))
    evaluation = pixels(data.evaluation_feeds())
    assert len(calibration) == 200
    assert [real[image] for image in evaluation] == data.evaluation_labels().tolist()
    assert set(calibration) <= set(real)
    assert not set(calibration) & set(evaluation)


def test_reader_rewinds() -> None:
    reader = data.calibration_reader(3)
    first = pixels(list(iter(reader.get_next, None)))
    assert reader.get_next() is None
    reader.rewind()
    assert pixels(list(iter(reader.get_next, None))) == first
    assert len(first) == len(reader) == 3


def test_evaluate_counts_right_answers(session: onnxruntime.InferenceSession) -> None:
    class Liar:
        """Names the right digit, save for every second one."""

        def __init__(self) -> None:
            self.at = 0

        def get_inputs(self) -> list[object]:
            return session.get_inputs()

        def run(self, _: None, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
            label = int(data.evaluation_labels()[self.at])
            answer = label if self.at % 2 else (label + 1) % 10
            self.at += 1
            return [np.eye(10, dtype=np.float32)[None, answer]]

    assert data.evaluate(Liar(), 100) == 0.5  # type: ignore[arg-type]
