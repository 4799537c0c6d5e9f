"""Both models' scores in one pass: labels from a list, a file or folders; metrics by name or of the caller."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnxruntime.quantization import QuantFormat
from onnxruntime.quantization import quantize_static as ort_quantize_static

from ort_vitis_plugin import evaluate, quantize_static
from ort_vitis_plugin.errors import CalibrationError, MetricError, ModelError, OptionError
from ort_vitis_plugin.testing import graph
from tests.models import networks
from tests.zoo.configurations import NPU_CNN

ROWS = 40


@cache
def quantized() -> ModelProto:
    return quantize_static(networks.network("digits"), None, networks.reader("digits", 20), **NPU_CNN).model


def digits() -> networks.Digits:
    return networks.digits("digits", 0, ROWS)


def test_labels_count_for_both_models_in_one_pass() -> None:
    data = digits()
    found = evaluate(networks.network("digits"), quantized(), data.evaluation, "top1", list(data.labels))
    assert found.samples == ROWS
    assert found.float_score > 0.9
    assert abs(found.drop) <= 0.1
    assert all(each > 0 for each in found.latency)
    assert found.size[0] > found.size[1] > 0
    best = evaluate(networks.network("digits"), quantized(), data.evaluation, "top5", list(data.labels))
    assert best.quantized_score >= found.quantized_score


def test_a_csv_file_tells_what_a_list_tells(tmp_path: Path) -> None:
    data = digits()
    file = tmp_path / "labels.csv"
    file.write_text("name,class\n" + "".join(f"{at}.png,{label}\n" for at, label in enumerate(data.labels)))
    listed = evaluate(networks.network("digits"), quantized(), data.evaluation, "top1", list(data.labels))
    read = evaluate(networks.network("digits"), quantized(), data.evaluation, "top1", file)
    assert (read.float_score, read.quantized_score) == (listed.float_score, listed.quantized_score)


def test_a_file_that_is_no_csv_is_told(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(CalibrationError, match="cannot be read"):
        evaluate(networks.network("digits"), quantized(), digits().evaluation, "top1", file)


LABELS = {
    "words": (["cat"] * ROWS, "whole numbers from 0 on, not"),
    "no number": ([float("nan")] * ROWS, "whole numbers from 0 on, not"),
    "too few": ([1] * (ROWS - 1), "labels for 39 rows only"),
    "too many": ([1] * (ROWS + 2), "42 labels for 40 rows"),
    "not a class": ([99] * ROWS, "has 10 classes"),
    "no whole numbers": ([0.5] * ROWS, "whole numbers"),
    "no file": ("nowhere.csv", "cannot be read"),
    "none": (None, "needs labels"),
    "no list": (5, "labels take a list of whole numbers or the path of a CSV file, not 5"),
    "words of numpy": (np.array(["cat"]), "whole numbers from 0 on, not 'cat'"),
}


@pytest.mark.parametrize(("labels", "text"), LABELS.values(), ids=LABELS)
def test_labels_that_do_not_fit_are_told(labels: Any, text: str) -> None:
    with pytest.raises(CalibrationError, match=text):
        evaluate(networks.network("digits"), quantized(), digits().evaluation, "top1", labels)


def test_metrics_without_labels() -> None:
    by_name = {
        name: evaluate(networks.network("digits"), quantized(), digits().evaluation, name)
        for name in ("sqnr", "cosine", "psnr")
    }
    assert by_name["sqnr"].quantized_score == pytest.approx(by_name["sqnr"].outputs["logits"].sqnr)
    assert 0.9 < by_name["cosine"].quantized_score < 1 == by_name["cosine"].float_score
    assert by_name["psnr"].quantized_score > by_name["sqnr"].quantized_score
    assert by_name["psnr"].as_dict()["float_score"] is None


def test_a_metric_of_the_caller_is_given_each_session() -> None:
    found = evaluate(networks.network("digits"), quantized(), digits().evaluation, lambda s: len(s.get_outputs()))
    assert (found.float_score, found.quantized_score) == (1, 1)
    with pytest.raises(MetricError, match="gave nan"):
        evaluate(networks.network("digits"), quantized(), digits().evaluation, lambda session: math.nan)
    with pytest.raises(OptionError, match="did you mean top1"):
        evaluate(networks.network("digits"), quantized(), digits().evaluation, "top-1")


def test_a_model_of_another_tool_will_do(tmp_path: Path) -> None:
    file = tmp_path / "other.onnx"
    ort_quantize_static(networks.network("digits"), file, networks.reader("digits", 4), quant_format=QuantFormat.QDQ)
    assert evaluate(networks.network("digits"), file, digits().evaluation).quantized_score > 5


def test_models_whose_outputs_or_inputs_differ_are_refused() -> None:
    other = graph("t (float[1, 1, 8, 8] z) => (float[1, 1, 8, 8] y) { y = Relu(z) }")
    with pytest.raises(ModelError, match="no output 'logits'"):
        evaluate(networks.network("digits"), other, digits().evaluation)
    named = graph("t (float[1, 1, 8, 8] z) => (float[1, 1, 8, 8] logits) { logits = Relu(z) }")
    with pytest.raises(ModelError, match="input 'z' is none of the float model's"):
        evaluate(networks.network("digits"), named, digits().evaluation)


def test_of_equal_entries_the_first_counts() -> None:
    model = graph("t (float[N, 3] x) => (float[N, 3] y) { y = Relu(x) }")
    feeds = [{"x": np.zeros((2, 3), np.float32)}]
    assert evaluate(model, model, feeds, "top1", [0, 1]).float_score == 0.5


def test_no_sample_is_refused() -> None:
    with pytest.raises(CalibrationError, match="no sample"):
        evaluate(networks.network("digits"), quantized(), [])
