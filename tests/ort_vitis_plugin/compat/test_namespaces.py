"""vai_q_onnx has the public names of this package, and loads none of them before it is used."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ort_vitis_plugin
from ort_vitis_plugin.compat.namespaces import VAI_Q_ONNX


def test_public_names_are_there_or_come_when_asked_for() -> None:
    names = VAI_Q_ONNX.provider("vai_q_onnx")
    load = names["__getattr__"]
    assert callable(load)
    for name in ort_vitis_plugin.__all__:
        assert (names[name] if name in names else load(name)) is getattr(ort_vitis_plugin, name)


def test_nothing_of_the_module_itself_is_handed_on() -> None:
    assert {"__name__", "__spec__", "__loader__", "__path__", "__file__"}.isdisjoint(VAI_Q_ONNX.provider("vai_q_onnx"))
