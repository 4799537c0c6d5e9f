"""A sample becomes what the converted model takes, and only its inputs travel for that."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.data_readers.convert_feed import CHANNELS_LAST, adapt_feed, adapter_to, copied, interface
from ort_vitis_plugin.errors import CalibrationError
from ort_vitis_plugin.testing import graph

X = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)


def model(shape: str, kind: str = "float"):
    return graph(f"t ({kind}[{shape}] x) => ({kind}[{shape}] y) {{ y = Relu(x) }}")


def test_what_fits_stays() -> None:
    assert adapt_feed(model("1,2,3,4"), {"x": X})["x"] is X


def test_channels_go_last_and_back() -> None:
    last = adapt_feed(model("1,3,4,2"), {"x": X})["x"]
    np.testing.assert_array_equal(last, X.transpose(0, 2, 3, 1))
    np.testing.assert_array_equal(adapt_feed(model("1,2,3,4"), {"x": last})["x"], X)


def test_a_shape_that_fits_either_way_follows_the_conversion() -> None:
    cube = np.arange(27, dtype=np.float32).reshape(1, 3, 3, 3)
    converted = model("1,3,3,3")
    converted.metadata_props.add(key=CHANNELS_LAST, value="x")
    np.testing.assert_array_equal(adapt_feed(converted, {"x": cube})["x"], cube.transpose(0, 2, 3, 1))
    assert adapt_feed(model("1,3,3,3"), {"x": cube})["x"] is cube


@pytest.mark.parametrize(("kind", "dtype"), [("float", np.float32), ("float16", np.float16)])
def test_float_types_follow_the_model(kind: str, dtype: type) -> None:
    for given in (np.float32, np.float16):
        assert adapt_feed(model("1,2,3,4", kind), {"x": X.astype(given)})["x"].dtype == dtype


def test_strangers_pass_and_weights_do_not_travel() -> None:
    whole = graph("t (float[2] x) => (float[2] y) { y = Add(x, w) }", 17, {"w": np.ones(2, np.float32)})
    assert adapter_to(whole)({"x": X[0, 0, 0, :2], "z": "text"})["z"] == "text"
    assert (len(interface(whole).graph.node), len(interface(whole).graph.initializer)) == (0, 0)


def test_what_is_no_tensor_passes() -> None:
    """A list, and what an input of sequences takes, are left to the checks of samples."""
    whole = model("1,2,3,4")
    assert adapt_feed(whole, {"x": [1.0]})["x"] == [1.0]
    whole.graph.input[0].type.sequence_type.elem_type.tensor_type.elem_type = 1
    assert adapt_feed(whole, {"x": X})["x"] is X


def test_a_sample_that_is_kept_is_nobody_elses() -> None:
    feed = {"x": X.copy(), "s": [["a"]]}
    kept = copied(feed)
    feed["x"][:] = 0
    feed["s"][0][0] = "b"
    assert kept["s"] == [["a"]]
    np.testing.assert_array_equal(kept["x"], X)
    with pytest.raises(CalibrationError, match=r"feeds x as memoryview, which cannot be copied .* give a numpy array"):
        copied({"x": memoryview(X)})
