"""A second answer to one call begins anew, with the samples and libraries of the first."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.data_readers import Samples
from ort_vitis_plugin.request.ledger import Ledger
from ort_vitis_plugin.testing import graph, plain_context


def test_an_opened_ledger_names_the_configuration_and_nothing_else() -> None:
    settings = plain_context(Target="cpu").settings
    ledger = Ledger.opened(settings)
    assert ledger.report.configuration == settings.described()
    assert ledger.report.configuration["target"] == "cpu"
    assert not (ledger.excluded)
    assert not (ledger.stand_ins)
    assert not (ledger.libraries)
    assert len(ledger.renames) == 0
    assert ledger.samples is None
    assert ledger.statistics is None


def test_the_second_answer() -> None:
    settings = plain_context().settings
    first = Ledger.opened(settings)
    first.samples = Samples([], graph("t (float[2] x) => (float[2] y) { y = Relu(x) }"))
    first.libraries = ["library"]
    first.report.note("first")
    first.renames.node("a", "b")
    first.excluded["a"] = "why"
    first.stand_ins.add("HardSigmoid")
    again = first.next_answer(settings)
    assert again.samples is first.samples
    assert again.libraries == ["library"]
    assert not (again.report.notes)
    assert not (again.excluded)
    assert not (again.stand_ins)
    assert len(again.renames) == 0
    assert again.report.configuration == first.report.configuration
