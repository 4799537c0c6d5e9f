"""Messages name flags where they would name arguments of Python."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin.cli.flag_names import as_typed


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("nodes_to_exclude: no node", "--exclude: no node"),
        ("give per_channel=True", "give --per-channel"),
        ("extra_options={'SelfCheck': False}", "--option SelfCheck=False"),
        ("my_nodes_to_exclude", "my_nodes_to_exclude"),
        ("weight_types", "weight_types"),
        ("nothing of ours", "nothing of ours"),
    ],
)
def test_arguments_are_flags(text: str, typed: str) -> None:
    assert as_typed(text) == typed
