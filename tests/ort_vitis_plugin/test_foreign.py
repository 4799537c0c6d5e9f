"""What leaves a public function is ours, or the caller's own."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ort_vitis_plugin
from ort_vitis_plugin import errors
from ort_vitis_plugin.foreign import callers_code, is_of_caller, ours_or_none, public

Build = Callable[..., onnx.ModelProto]
ONE = "t (float[N, 3] x) => (float[N, 3] y) { y = Relu(x) }"
ROW = np.zeros((1, 3), np.float32)


def raising(error: BaseException) -> None:
    @public
    def function() -> None:
        raise error

    function()


@pytest.mark.parametrize(
    "error",
    [errors.ModelError("a"), UserWarning("a"), KeyboardInterrupt(), SystemExit(1)],
    ids=lambda e: type(e).__name__,
)
def test_what_passes(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        raising(error)
    assert caught.value is error


FOREIGN: dict[str, tuple[Exception, type[Exception], str]] = {
    "no memory": (MemoryError(), errors.OutOfMemoryError, "ran out of memory"),
    "no memory in words": (RuntimeError("std::bad_alloc"), errors.OutOfMemoryError, "ran out of memory"),
    "deep": (RecursionError(), errors.ModelError, "nested too deeply"),
    "onnx": (onnx.checker.ValidationError("bad"), errors.ModelError, "cannot be used"),
    "full": (OSError(errno.ENOSPC, "full"), errors.OutputError, "cannot write"),
    "unknown": (KeyError("a"), errors.UnexpectedError, "KeyError: 'a'"),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_what_is_translated(case: str) -> None:
    error, kind, text = FOREIGN[case]
    with pytest.raises(kind, match=text) as caught:
        raising(error)
    assert isinstance(caught.value, errors.QuantizationError)
    assert caught.value.__cause__ is error


def test_the_callers_code_keeps_its_type_with_one_note() -> None:
    error = KeyError("mine")
    with pytest.raises(KeyError) as caught, ours_or_none("a call"), callers_code("outside"), callers_code("inside"):
        raise error
    assert caught.value is error
    assert is_of_caller(error)
    assert error.__notes__ == ["raised by inside"]


class Raising:
    def __init__(self, where: str) -> None:
        self.where = where

    def get_next(self) -> Any:
        if self.where == "get_next":
            raise ZeroDivisionError("mine")
        return {"x": ROW}

    def rewind(self) -> None:
        raise ZeroDivisionError("mine")


def generator() -> Any:
    yield {"x": ROW}
    raise ZeroDivisionError("mine")


class Indexed:
    def __len__(self) -> int:
        return 3

    def __getitem__(self, number: int) -> Any:
        raise ZeroDivisionError("mine")


def maker() -> Any:
    raise ZeroDivisionError("mine")


def picky(array: Any) -> Any:
    raise ZeroDivisionError("mine")


READERS: dict[str, Callable[[], Any]] = {
    "get_next": lambda: Raising("get_next"),
    "a generator": generator,
    "a data set": Indexed,
    "a function": lambda: maker,
    "a transform": lambda: ort_vitis_plugin.calibration_data(ROW, transform=picky),
}


CALLS = (ort_vitis_plugin.calibrate, partial(ort_vitis_plugin.quantize_static, model_output=None))


CALLS = (ort_vitis_plugin.calibrate, partial(ort_vitis_plugin.quantize_static, model_output=None))


@pytest.mark.parametrize("source", READERS)
@pytest.mark.parametrize("call", CALLS)
def test_readers_and_transforms_raise_their_own(graph: Build, source: str, call: Any) -> None:
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        call(graph(ONE), calibration_data_reader=READERS[source]())
    (note,) = caught.value.__notes__
    assert note.startswith("raised by the ")


def test_readers_with_a_broken_length_are_read(graph: Build) -> None:
    class Broken(list[Any]):
        def __len__(self) -> int:
            raise ZeroDivisionError("mine")

        def __bool__(self) -> bool:
            return True

    feeds = Broken([{"x": ROW + 1}])
    assert ort_vitis_plugin.quantize_static(graph(ONE), None, iter(feeds)).model.graph.node


def test_dump_model_and_converters_are_doors(graph: Build, tmp_path: Path) -> None:
    from ort_vitis_plugin.convert import qdq_to_qoperator

    with pytest.raises(errors.QuantizationError):
        qdq_to_qoperator("no model")  # type: ignore[arg-type]
    with pytest.raises(errors.QuantizationError):
        ort_vitis_plugin.dump_model(3, None, output_dir=str(tmp_path / "d"))  # type: ignore[attr-defined]
