"""Models that need more memory than there is are refused before work, with the figure that would do."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from ort_vitis_plugin import errors, quantize_static
from ort_vitis_plugin.pipeline.memory_estimate import bytes_of, estimate, peak
from ort_vitis_plugin.testing import graph

CHAIN = "t (float[1, 1000] x) => (float[1, 1000] y) { a = Relu(x) b = Neg(a) y = Relu(b) }"
HUGE = "t (float[1, 1000000, 1] x) => (float[1, 1000000, 1000000] y) { h = Relu(x) y = Expand(h, s) }"


def inferred(text: str) -> onnx.ModelProto:
    return onnx.shape_inference.infer_shapes(graph(text))


def test_tensors_count_while_they_are_read() -> None:
    assert peak(inferred(CHAIN)) == 2 * 4000
    both = "t (float[1, 1000] x) => (float[1, 1000] y) { a = Relu(x) b = Neg(a) c = Add(a, b) y = Add(c, x) }"
    assert peak(inferred(both)) == 4 * 4000
    assert estimate(inferred(CHAIN)) == 2 * peak(inferred(CHAIN))


@pytest.mark.parametrize(("given", "size"), [(5, 5), ("5", 5), ("4 GB", 2**32), ("1.5k", 1536), ("2MiB", 2**21)])
def test_sizes(given: Any, size: int) -> None:
    assert bytes_of(given) == size


class NeverRead:
    def get_next(self) -> Any:
        raise AssertionError("work began")


@pytest.mark.parametrize("given", [{}, {"MaxMemory": "16 GB"}])
def test_a_huge_constant_shape_is_refused(given: dict[str, Any]) -> None:
    model = graph(HUGE, constants={"s": np.array([1, 10**6, 10**6])})
    with pytest.raises(errors.LimitError, match=r"set MaxMemory to at least 7\.45e\+03 GiB"):
        quantize_static(model, None, NeverRead(), extra_options=given)


def test_a_limit_that_would_do_does() -> None:
    feeds = [{"x": np.ones((1, 1000), np.float32)}]
    with pytest.raises(errors.LimitError, match=r"more than the 0\.00954 MiB of MaxMemory"):
        quantize_static(graph(CHAIN), None, NeverRead(), extra_options={"MaxMemory": 10_000})
    assert quantize_static(graph(CHAIN), None, feeds, extra_options={"MaxMemory": "16 KB"}).model.graph.node


@pytest.mark.parametrize("value", ["much", "-1", "", 0, -5])
def test_what_is_no_size(value: Any) -> None:
    with pytest.raises(errors.OptionError, match="MaxMemory"):
        quantize_static(graph(CHAIN), None, NeverRead(), extra_options={"MaxMemory": value})


def test_a_random_sample_is_not_drawn_at_any_size() -> None:
    with pytest.raises(errors.LimitError, match="give samples of your own"):
        quantize_static(graph("t (float[1, 100000, 100000] x) => (float[1, 100000, 100000] y) { y = Relu(x) }"), None)
