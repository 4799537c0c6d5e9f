"""The C++ counters give the bytes that numpy gives, in every instruction-set copy."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ort_vitis_plugin.sketch import Sketch, merged
from ort_vitis_plugin.sketch import engine as sketch_engine
from ort_vitis_plugin.sketch.squares import PIECE

pytestmark = pytest.mark.skipif(not sketch_engine.library(), reason="the custom-op library was not built")

DTYPES = [np.float32, np.float16, ml_dtypes.bfloat16, np.float64]
SIZES = [0, 1, 5, 31, 32, 33, 1023, 1024, 1025, PIECE, PIECE + 1, 3 * PIECE + 1000]


def by_numpy(monkeypatch: pytest.MonkeyPatch, *arrays: np.ndarray) -> bytes:
    with monkeypatch.context() as patch:
        patch.setattr(sketch_engine, "library", lambda: None)
        sketch = Sketch()
        for array in arrays:
            sketch.add(array)
        assert sketch._counter is None
        return sketch.to_bytes()


def by_library(*arrays: np.ndarray) -> bytes:
    sketch = Sketch()
    sketch.counter()  # few values alone are counted by numpy
    for array in arrays:
        sketch.add(array)
    assert sketch._counter is not None
    return sketch.to_bytes()


def patterns(size: int, seed: int) -> np.ndarray:
    """Random bit patterns: every exponent, subnormals, NaN and Inf."""
    return np.random.default_rng(seed).integers(0, 1 << 32, size, np.uint32).view(np.float32)


def awkward(size: int, seed: int, dtype: Any) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(size).astype(dtype)
    if size > 4:
        values[size // 3], values[size // 2], values[1], values[2] = np.nan, -np.inf, -0.0, 0.0
    return values


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_same_bytes(dtype: Any, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [awkward(size, seed, dtype) for seed in range(2)] + [np.abs(awkward(size, 3, np.float32))]
    assert by_library(*arrays) == by_numpy(monkeypatch, *arrays)


def test_same_bytes_for_random_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    with np.errstate(invalid="ignore"):
        arrays = [patterns(200_000, 0), patterns(5, 1), patterns(PIECE, 2)]
        assert by_library(*arrays) == by_numpy(monkeypatch, *arrays)


def test_all_patterns_of_16_bit_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.arange(1 << 16, dtype=np.uint16)
    for dtype in (np.float16, ml_dtypes.bfloat16):
        assert by_library(codes.view(dtype)) == by_numpy(monkeypatch, codes.view(dtype))


def test_only_non_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.array([np.nan, np.inf, -np.inf], np.float32)
    assert by_library(values) == by_numpy(monkeypatch, values)


def test_counts_are_flushed_before_they_overflow() -> None:
    """More equal values than the 24 bits of a word hold."""
    values = np.full(1 << 20, np.float32(-0.3))
    sketch = Sketch()
    for _ in range(40):
        sketch.add(values)
    assert sketch.count == 40 << 20
    assert sketch.sum == float(values[0]) * (40 << 20)


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_every_instruction_set(isa: str) -> None:
    code = (
        "import numpy as np, sys; from ort_vitis_plugin.sketch import Sketch; s = Sketch(); s.counter();"
        "r = np.random.default_rng(0);"
        "[s.add(r.standard_normal(n).astype(t)) for n in (7, 5000, 70001) for t in ('f4', 'f2', 'f8')];"
        "s.add(r.integers(0, 1 << 32, 40000, np.uint32).view(np.float32));"
        "import hashlib; print(hashlib.sha256(s.to_bytes()).hexdigest())"
    )

    def digest(**environment: str) -> str:
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
        return subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True).stdout

    assert digest(ORT_VITIS_ISA=isa) == digest(ORT_VITIS_SKETCH="numpy")


def test_many_threads_on_one_sketch() -> None:
    arrays = [awkward(50_000 + seed, seed, np.float32) for seed in range(16)]
    expected = by_library(*arrays)
    sketch = Sketch()
    counter = sketch.counter()
    assert counter is not None
    threads = [
        threading.Thread(target=lambda part=part: [counter.add(a) for a in part])
        for part in (arrays[0::4], arrays[1::4], arrays[2::4], arrays[3::4])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sketch.to_bytes() == expected


def test_asking_in_between_changes_nothing() -> None:
    arrays = [awkward(3000, seed, np.float32) for seed in range(4)]
    sketch = Sketch()
    for array in arrays:
        sketch.add(array)
        assert sketch.non_finite[0] == sketch.nan_count
        sketch.percentile(99)
    assert sketch.to_bytes() == by_library(*arrays)


def test_cut_moves_what_was_counted() -> None:
    arrays = [awkward(3000, seed, np.float32) for seed in range(3)]
    sketch = Sketch()
    parts = []
    for array in arrays:
        sketch.add(array)
        parts.append(sketch.cut())
        assert sketch.count == 0
    assert [part.to_bytes() for part in parts] == [by_library(array) for array in arrays]
    assert merged(parts).to_bytes() == by_library(*arrays)


def test_few_values_need_no_table() -> None:
    few, many = awkward(100, 0, np.float16), awkward(5000, 1, np.float32)
    sketch = Sketch()
    sketch.add(few)
    assert sketch._counter is None
    sketch.add(many)
    assert sketch._counter is not None
    sketch.add(few)
    assert sketch.to_bytes() == by_library(few, many, few)


def test_memory_comes_back() -> None:
    """Counters are freed with their sketches."""
    resource = pytest.importorskip("resource")
    values = np.random.default_rng(0).standard_normal(100_000).astype(np.float32)

    def round_trip(count: int) -> int:
        for _ in range(count):
            Sketch().add(values)
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    first = round_trip(50)
    assert round_trip(500) - first < 20_000  # KiB; one counter alone is some 100


def test_an_unknown_number_is_no_sketch() -> None:
    native = sketch_engine.library()
    assert native is not None
    assert native.ort_vitis_sketch_clear(987654321) == 0
    assert native.ort_vitis_sketch_save(987654321, None, 0) == -1
    counter = sketch_engine.Counter(native)
    assert native.ort_vitis_sketch_merge(counter.number, b"no sketch", 9) == -2
    saved = Sketch()
    saved.add(np.ones(3, np.float32))
    data = saved.to_bytes()
    assert native.ort_vitis_sketch_merge(counter.number, data, len(data)) == 1
    assert native.ort_vitis_sketch_merge(counter.number, data, len(data) - 1) == -2
    assert counter.take() == data


EXTREMES = {
    "negative zero": [-0.0],
    "both zeros": [0.0, -0.0],
    "negative": [-1.0, -3e38],
    "subnormal": [1e-45, -1e-40],
    "far apart": [1e-45, 3e38, -1e-45, -3e38],
    "a negative NaN beside positive values": [1.0, -np.nan],
    "infinities alone": [np.inf, -np.inf],
}


@pytest.mark.parametrize("values", EXTREMES.values(), ids=EXTREMES.keys())
def test_every_touched_bin_is_read(values: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the part of a table between the least and the greatest magnitude is looked at; also after a merge."""
    array = np.array(values, np.float32)
    whole = np.concatenate([array, np.ones(50, np.float32), array])
    assert by_library(array) == by_numpy(monkeypatch, array)
    assert by_library(whole) == by_numpy(monkeypatch, whole)
    native = sketch_engine.library()
    assert native is not None
    counter = sketch_engine.Counter(native)
    data = by_library(array)
    counter.add(np.ones(50, np.float32))
    native.ort_vitis_sketch_merge(counter.number, data, len(data))
    assert counter.take() == by_numpy(monkeypatch, np.ones(50, np.float32), array)
