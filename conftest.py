"""Fixtures that all tests share."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import signal

# Before onnxruntime starts its threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import pluggy
import pytest
from onnx import ModelProto

if TYPE_CHECKING:
    from tests.models.networks import FeedReader

Feed = dict[str, np.ndarray[Any, Any]]


def pytest_configure() -> None:
    """A job in the background starts with interrupts ignored, and so do its children: tests of interrupts need them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class _Sleeping(onnxruntime.SessionOptions):  # type: ignore[misc]
    """Options of a session whose threads sleep while they wait: spinning ones take the cores of other test processes.

    What a session computes does not depend on it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.add_session_config_entry("session.intra_op.allow_spinning", "0")


onnxruntime.SessionOptions = _Sleeping


@pytest.fixture
def plugins() -> pluggy.PluginManager:
    """A plugin manager of the test's own: bundled plugins, and no installed ones."""
    from ort_vitis_plugin.plugin.manager import new_manager

    return new_manager(entry_points=False)


@pytest.fixture
def graph() -> Callable[..., ModelProto]:
    """A model from ONNX's text form: ``graph("t (float[1, 3] x) => (float[1, 3] y) { y = Relu(x) }")``."""
    from ort_vitis_plugin.testing import graph as build

    return build


@pytest.fixture
def reader() -> Callable[..., FeedReader]:
    """``reader(model, samples)``: seeded N(0, 1) samples for every input; ``reader(feeds)``: these samples."""
    from ort_vitis_plugin.testing import random_feeds
    from tests.models.networks import FeedReader

    def make(source: ModelProto | list[Feed], samples: int = 4, seed: int = 0) -> FeedReader:
        if isinstance(source, list):
            return FeedReader(source)
        return FeedReader([random_feeds(source, seed + number) for number in range(samples)])

    return make
