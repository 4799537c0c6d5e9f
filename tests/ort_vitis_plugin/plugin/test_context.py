"""What a call shows to steps is what the Context promises, and settings are what a Configuration promises."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin.plugin.context import Configuration, Context
from ort_vitis_plugin.testing import plain_context


def promised(protocol: type) -> set[str]:
    return {name for kind in protocol.__mro__ for name in vars(kind) if not name.startswith("_")}


@pytest.mark.parametrize("protocol", [Configuration, Context])
def test_a_call_keeps_the_promises(protocol: type) -> None:
    call = plain_context()
    assert [name for name in promised(protocol) if not hasattr(call, name)] == []


def test_settings_keep_those_of_a_configuration() -> None:
    settings = plain_context().settings
    assert [name for name in promised(Configuration) if not hasattr(settings, name)] == []


def test_a_context_is_narrow() -> None:
    assert promised(Configuration) < promised(Context)
    assert len(promised(Context)) == 19
    assert promised(Context).isdisjoint({"ledger", "settings", "catalog", "report", "samples"})
