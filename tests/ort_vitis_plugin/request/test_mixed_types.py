"""An entry names a type for data and weights alike, or each of them; what it leaves out is the call's own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin.errors import OptionTypeError, UnsupportedError
from ort_vitis_plugin.numerics.qtypes import host_qtype
from ort_vitis_plugin.plugin.catalog import shared_catalog
from ort_vitis_plugin.request.mixed_types import TypePair, mixed_types

INT8, INT16 = host_qtype("QInt8"), host_qtype("QInt16")
BASE = TypePair(INT8, INT8)


def test_both_forms_of_an_entry() -> None:
    found = mixed_types({"Conv": "QInt16", "a": {"weight_type": INT16}}, BASE, shared_catalog())
    assert found == {"Conv": TypePair(INT16, INT16), "a": TypePair(INT8, INT16)}
    assert mixed_types(None, BASE, shared_catalog()) == {}


@pytest.mark.parametrize("stated", [{"a": {}}, {"a": {"type": "QInt8"}}, {5: "QInt8"}])
def test_another_form_is_told_with_those_that_there_are(stated: dict[str, object]) -> None:
    with pytest.raises(OptionTypeError, match="it takes a type, or"):
        mixed_types(stated, BASE, shared_catalog())


def test_an_unknown_type_is_told_with_its_entry() -> None:
    with pytest.raises(UnsupportedError, match=r"MixedTypes\['a'\]: .*QInt7"):
        mixed_types({"a": "QInt7"}, BASE, shared_catalog())
