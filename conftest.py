"""Fixtures that all tests share."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os

# Before onnxruntime starts its threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pluggy
import pytest
from onnx import ModelProto

Feed = dict[str, np.ndarray[Any, Any]]


class ListReader:
    """A calibration reader over samples in memory."""

    def __init__(self, feeds: list[Feed]) -> None:
        self._feeds = feeds
        self.rewind()

    def __len__(self) -> int:
        return len(self._feeds)

    def rewind(self) -> None:
        self._rest: Iterator[Feed] = iter(self._feeds)

    def get_next(self) -> Feed | None:
        return next(self._rest, None)


@pytest.fixture
def plugins() -> pluggy.PluginManager:
    """A plugin manager of the test's own: bundled plugins, and no installed ones."""
    from ort_vitis_plugin.manager import new_manager

    return new_manager(entry_points=False)


@pytest.fixture
def graph() -> Callable[..., ModelProto]:
    """A model from ONNX's text form: ``graph("t (float[1, 3] x) => (float[1, 3] y) { y = Relu(x) }")``."""
    from ort_vitis_plugin.testing import graph as build

    return build


@pytest.fixture
def reader() -> Callable[..., ListReader]:
    """``reader(model, samples)``: seeded N(0, 1) samples for every input; ``reader(feeds)``: these samples."""
    from ort_vitis_plugin.testing import random_feeds

    def make(source: ModelProto | list[Feed], samples: int = 4, seed: int = 0) -> ListReader:
        if isinstance(source, list):
            return ListReader(source)
        return ListReader([random_feeds(source, seed + number) for number in range(samples)])

    return make
