"""Plugins whose hooks and declarations raise, or give nonsense."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import ort_vitis_plugin as vitis
from ort_vitis_plugin.api import Stage, hookimpl, transform
from ort_vitis_plugin.plugin.manager import new_manager

from .attack import Attack
from .models import conv
from .samples import ROWS

NONSENSE: tuple[Any, ...] = (None, 0, -1, 2.5, "x", b"x", [], [None], {}, {"x": 1}, object(), int, (1, 2), {1, 2})


def attack(rng: np.random.Generator, folder: Path, number: int) -> Attack:
    """A call beside a plugin that gives something odd, or raises, at one place."""
    value = NONSENSE[int(rng.integers(len(NONSENSE)))]
    raises = bool(rng.integers(2))
    place = str(rng.choice(["declare", "declared", "apply", "configure", "done"]))

    def odd(*_: Any, **__: Any) -> Any:
        if raises:
            raise KeyError("broken on purpose")
        return value

    @hookimpl
    def vitis_declare() -> Any:
        if place == "declare":
            return odd()
        if place == "declared":
            return [value]
        if place == "apply":
            return [transform("Odd", stage=Stage.PREPARE)(_named(odd))]
        return []

    @hookimpl
    def vitis_configure(request: Any) -> Any:
        return odd() if place == "configure" else None

    @hookimpl
    def vitis_stage_done(stage: str) -> Any:
        return odd() if place == "done" else None

    plugin = ModuleType("odd")
    for hook in (vitis_declare, vitis_configure, vitis_stage_done):
        setattr(plugin, hook.__name__, hook)

    def run() -> object:
        manager = new_manager(entry_points=False)
        manager.register(plugin, "odd")
        feeds = [{"x": row[None]} for row in ROWS[:1]]
        return vitis.quantize_static(conv(), str(folder / "out.onnx"), feeds, plugins=manager)

    return Attack(f"plugin: {place} {'raises' if raises else repr(value)}", run)


def _named(function: Any) -> Any:
    def step(graph: Any, context: Any) -> Any:
        """A step that does something odd."""
        return function(graph, context)

    return step
