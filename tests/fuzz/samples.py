"""Files of samples, caches and calibrations, broken byte by byte, or well formed and wrong."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import ort_vitis_plugin as vitis
from ort_vitis_plugin.cli.main import main

from .attack import Attack, mutated
from .models import conv

ROWS = np.random.default_rng(2).standard_normal((4, 3, 6, 6)).astype(np.float32)


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _packed(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


WRONG: tuple[Callable[[], bytes], ...] = (
    lambda: _npz(x=ROWS.astype(">f4")),
    lambda: _npz(x=ROWS.astype("f2")),
    lambda: _npz(x=ROWS.astype("f8")),
    lambda: _npz(x=ROWS.astype("c8")),
    lambda: _npz(x=ROWS.astype("i8")),
    lambda: _npz(x=ROWS > 0),
    lambda: _npz(x=np.full((2, 3, 6, 6), "a")),
    lambda: _npz(x=np.zeros((2, 3, 6, 6), [("a", "f4"), ("b", "i4")])),
    lambda: _npz(x=np.zeros((2, 3, 6, 6), "M8[s]")),
    lambda: _npz(x=np.zeros((0, 3, 6, 6), "f4")),
    lambda: _npz(x=np.float32(1)),
    lambda: _npz(x=np.full((2, 3, 6, 6), np.nan, np.float32)),
    lambda: _npz(x=np.full((2, 3, 6, 6), 3e38, np.float32)),
    lambda: _npz(y=ROWS),
    lambda: _npz(x=ROWS, y=ROWS),
    lambda: _npz(x=ROWS, **{"": ROWS, "é/..": ROWS}),
    lambda: _npz(),
    lambda: b"",
    lambda: b"PK\x05\x06" + bytes(18),
)


@cache
def _calibration() -> bytes:
    found = vitis.calibrate(conv(), [{"x": row[None]} for row in ROWS])
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        found.save(Path(folder) / "c")
        return (Path(folder) / "c").read_bytes()


@cache
def _ranges() -> bytes:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "r.json"
        vitis.quantize_static(
            conv(),
            None,
            [{"x": row[None]} for row in ROWS],
            calibrate_method=vitis.CalibrationMethod.MinMax,
            calibration_cache_path=path,
            extra_options={"Target": "cpu"},
        )
        return path.read_bytes()


def _wrong_json(rng: np.random.Generator) -> bytes:
    payload = json.loads(_ranges())
    odd = [None, 1, -1e400, "x", [], {}, [[[]]], {"data": "x"}, True, 10**400]
    keys = list(payload)
    key = keys[int(rng.integers(len(keys)))]
    value = odd[int(rng.integers(len(odd)))]
    if key == "data" and rng.integers(2):
        names = list(payload["data"])
        payload["data"][names[int(rng.integers(len(names)))]][str(rng.choice(["lowest", "highest", "hist"]))] = value
    else:
        payload[key] = value
    return json.dumps(payload).encode() if rng.integers(8) else b"[" * 100_000


def samples(rng: np.random.Generator, folder: Path, number: int) -> Attack:
    """A verb that reads samples, with a broken file of them."""
    suffix = str(rng.choice([".npz", ".npy"]))
    if rng.integers(3) == 0:
        data, what = WRONG[int(rng.integers(len(WRONG)))](), "wrong arrays"
    else:
        whole = _npy(ROWS) if suffix == ".npy" else (_npz if rng.integers(2) else _packed)(x=ROWS)
        data, what = mutated(whole, rng), "other bytes"
    model, given = folder / "m.onnx", folder / f"x{suffix}"
    onnx.save(conv(), model)
    if rng.integers(4) == 0:
        (folder / "samples").mkdir(exist_ok=True)
        (folder / "samples" / f"0{suffix}").write_bytes(_npy(ROWS[:1]) if suffix == ".npy" else _npz(x=ROWS[:1]))
        given = folder / "samples" / f"1{suffix}"
    given.write_bytes(data)
    shown = given.parent if given.parent != folder else given
    verb = str(rng.choice(["quantize", "calibrate", "evaluate", "dump"]))
    arguments = {
        "quantize": [str(model), "-o", str(folder / "out.onnx"), "-q"],
        "calibrate": [str(model), "-o", str(folder / "c.npz")],
        "evaluate": [str(model), str(model)],
        "dump": [str(model), "-o", str(folder / "dump")],
    }[verb]
    return Attack(f"{verb}, samples with {what}", lambda: main([verb, *arguments, "--data", str(shown)]))


def caches(rng: np.random.Generator, folder: Path, number: int) -> Attack:
    """A call with a broken file of statistics or ranges."""
    model, output = folder / "m.onnx", folder / "out.onnx"
    onnx.save(conv(), model)
    kind = int(rng.integers(4))
    if kind == 0:
        (folder / "c").write_bytes(mutated(_calibration(), rng))
        given = [str(model), "-o", str(output), "-q", "--calibration", str(folder / "c")]
        return Attack("a broken calibration", lambda: main(["quantize", *given]))
    if kind == 1:
        (folder / "c").write_bytes(mutated(_calibration(), rng))
        data = folder / "x.npz"
        data.write_bytes(_npz(x=ROWS))
        given = [str(model), "-o", str(folder / "d"), "--data", str(data), "--checkpoint", str(folder / "c")]
        return Attack("a broken checkpoint", lambda: main(["calibrate", *given]))
    if kind == 2:
        (folder / "c").write_bytes(mutated(_calibration(), rng))
        options: dict[str, Any] = {"CalibrationCache": str(folder / "c")}
        method: Any = vitis.PowerOfTwoMethod.MinMSE
    else:
        (folder / "c").write_bytes(mutated(_ranges(), rng) if rng.integers(2) else _wrong_json(rng))
        options = {"CalibrationCachePath": str(folder / "c"), "Target": "cpu"}
        method = vitis.CalibrationMethod.MinMax
    return Attack(
        f"a broken {next(iter(options))}",
        lambda: vitis.quantize_static(
            str(model), str(output), [{"x": row[None]} for row in ROWS], calibrate_method=method, extra_options=options
        ),
    )
