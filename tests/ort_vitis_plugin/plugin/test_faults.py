"""What a plugin raises names the plugin, and breaks nobody who does not use it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest

from ort_vitis_plugin.errors import PluginError, UnsupportedError
from tests.ort_vitis_plugin.plugin.sites import (
    DEVICE,
    Quantize,
    manager_of,
)

# A function that fails, of a plugin that is there: what it declares, and what the error says.
FAILING = {
    "rule": (
        '@adjuster("MineRule", ops=("Conv",), target="board")\ndef rule(plan, node):\n    """R."""\n    yield 1 / 0\n',
        "rule of the Adjuster MineRule raised ZeroDivisionError",
    ),
    "rule of nonsense": (
        '@adjuster("MineRule", ops=("Conv",), target="board")\ndef rule(plan, node):\n    """R."""\n    yield 3\n',
        "rule of the Adjuster MineRule gave 3 among its bounds",
    ),
    "rule of a wrong signature": (
        '@adjuster("MineRule", ops=("Conv",), target="board")\ndef rule(plan):\n    """R."""\n    yield 3\n',
        "rule of the Adjuster MineRule raised TypeError",
    ),
    "transform": (
        '@transform("MineStep", stage=Stage.PREPARE, target="board")\ndef rule(g):\n    """R."""\n    g.nope()\n',
        "apply of the Transform MineStep raised AttributeError",
    ),
    "transform of nonsense": (
        '@transform("MineStep", stage=Stage.PREPARE, target="board")\ndef rule(graph, context):\n    """R."""\n',
        "apply of the Transform MineStep gave None, not the number of rewrites",
    ),
    "fusion": (
        '@fusion("MinePair", producers=("Relu",), consumers=("Add",), target="board")\n'
        'def rule(graph, one, other):\n    """R."""\n    raise KeyError("z")\n',
        "applies of the Fusion MinePair raised KeyError: 'z'",
    ),
    "handler": (
        "class Handler(QDQOperatorBase):\n    def quantize(self):\n        raise IndexError('i')\n"
        'rule = OpQuantizer("Conv", Handler, "board")\n',
        "quantize of Handler of the OpQuantizer ('Conv', 'board') raised IndexError: i",
    ),
}


@pytest.mark.parametrize(("source", "message"), FAILING.values(), ids=FAILING.keys())
def test_a_failing_function_breaks_the_users_of_its_plugin(
    site: Path, quantize: Quantize, source: str, message: str
) -> None:
    declared = '@hookimpl\ndef vitis_declare():\n    yield Target("board", "B.", base="ipu_cnn")\n    yield rule\n'
    manager = manager_of(site, source + declared)
    assert quantize(manager).model.graph.node
    assert quantize(manager, EnableDPU=True).model.graph.node
    with pytest.raises(PluginError) as caught:
        quantize(manager, Target="board")
    for fact in ("plugin mine (ort-vitis-mine 0.3)", message, "ORT_VITIS_BLOCK=mine leaves the plugin out"):
        assert fact in str(caught.value)
    assert (caught.value.__cause__ is None) == ("gave" in message)


HOOKS = {
    "configure": ("def vitis_configure(request):\n    return request.nope\n", "vitis_configure raised AttributeError"),
    "configure to nonsense": ("def vitis_configure(request):\n    return 3\n", "vitis_configure gave 3, not a Request"),
    "observer": ("def vitis_stage_done(stage):\n    raise OSError('full')\n", "vitis_stage_done raised OSError: full"),
}


@pytest.mark.parametrize(("source", "message"), HOOKS.values(), ids=HOOKS.keys())
def test_a_failing_hook_names_its_plugin(site: Path, quantize: Quantize, source: str, message: str) -> None:
    manager = manager_of(site, DEVICE + "@hookimpl\n" + source)
    for _ in range(2):
        with pytest.raises(PluginError, match=r"plugin mine \(ort-vitis-mine 0.3\)") as caught:
            quantize(manager)
        assert message in str(caught.value)


def test_a_veto_passes_as_it_is(site: Path, quantize: Quantize) -> None:
    veto = "@hookimpl\ndef vitis_configure(request):\n    raise UnsupportedError('not on Sundays')\n"
    with pytest.raises(UnsupportedError, match=r"^not on Sundays$"):
        quantize(manager_of(site, DEVICE + veto))
