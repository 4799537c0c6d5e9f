"""Declarations of all plugins as look-ups: who wins, who is shadowed, in which order steps run."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace

import pluggy
import pytest
from onnx import TensorProto
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat
from ort_vitis_plugin.api import (
    Declaration,
    Graph,
    OptionGroup,
    QType,
    QuantizedType,
    Stage,
    Target,
    hookimpl,
    option,
    qtype,
    transform,
)
from ort_vitis_plugin.errors import PluginError, UnknownNameError, UnsupportedError
from ort_vitis_plugin.plugin import catalog
from ort_vitis_plugin.plugin.catalog import Catalog
from ort_vitis_plugin.plugin.entries import full_name, name_of


def plugin(*declarations: object) -> SimpleNamespace:
    @hookimpl
    def vitis_declare() -> Iterable[object]:
        yield from declarations

    return SimpleNamespace(vitis_declare=vitis_declare)


def step(key: str, before: tuple[str, ...] = (), after: tuple[str, ...] = ()) -> Declaration:
    @transform(key, stage=Stage.PREPARE, target="mine", before=before, after=after)
    def rewrite(graph: Graph) -> int:
        """Nothing."""
        return 0

    return rewrite


@pytest.mark.parametrize(
    ("given", "key"),
    [
        (QuantFormat.QDQ, QuantFormat.QDQ),
        ("QDQ", QuantFormat.QDQ),
        ("QuantFormat.QDQ", QuantFormat.QDQ),
        ("VitisQuantFormat.QDQ", VitisQuantFormat.QDQ),
        ("FixNeuron", VitisQuantFormat.FixNeuron),
    ],
)
def test_formats_by_member_or_name(plugins: pluggy.PluginManager, given: object, key: object) -> None:
    assert Catalog(plugins).format(given).key is key


@pytest.mark.parametrize(
    ("given", "key"),
    [
        (PowerOfTwoMethod.MinMSE, PowerOfTwoMethod.MinMSE),
        ("MinMSE", PowerOfTwoMethod.MinMSE),
        ("MinMax", CalibrationMethod.MinMax),
        ("CalibrationMethod.Entropy", CalibrationMethod.Entropy),
    ],
)
def test_methods_by_member_or_name(plugins: pluggy.PluginManager, given: object, key: object) -> None:
    assert Catalog(plugins).method(given).key is key


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("target", "ipu_cn", "ipu_cn is not a known target .*did you mean ipu_cnn"),
        ("format", "QDP", "QDP is not a known format"),
        ("method", "MinMES", "MinMES is not a known calibration method"),
        ("method", 7, "7 is not a known calibration method"),
    ],
)
def test_unknown_names(plugins: pluggy.PluginManager, kind: str, given: object, message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        getattr(Catalog(plugins), kind)(given)


def test_a_later_plugin_wins_over_a_bundled_one(plugins: pluggy.PluginManager) -> None:
    mine = Target("cpu", "Mine.")
    plugins.register(plugin(mine), "mine")
    catalog = Catalog(plugins)
    assert catalog.target("cpu") is mine
    assert [entry.plugin for entry in catalog.explain("cpu")] == ["mine", "ort_vitis_upstream", "ort_vitis_upstream"]


def test_two_foreign_plugins_with_one_key(plugins: pluggy.PluginManager) -> None:
    plugins.register(plugin(Target("mine", "One.")), "one")
    plugins.register(plugin(Target("mine", "Two.")), "two")
    with pytest.raises(PluginError, match="two and one both declare the Target mine; block one of them"):
        Catalog(plugins)


def test_what_is_no_declaration_is_refused(plugins: pluggy.PluginManager) -> None:
    plugins.register(plugin("a string"), "mine")
    with pytest.raises(PluginError, match="plugin mine yields 'a string', which is no declaration"):
        Catalog(plugins)


def test_steps_run_as_declared_except_where_they_ask_otherwise(plugins: pluggy.PluginManager) -> None:
    plugins.register(plugin(step("A", after=("C",)), step("B"), step("C"), step("D", before=("B",))), "mine")
    order = [found.key for found in Catalog(plugins).steps(Stage.PREPARE, ["mine"]) if found.target == "mine"]
    assert order == ["C", "A", "D", "B"]


def test_a_foreign_step_can_run_between_bundled_ones(plugins: pluggy.PluginManager) -> None:
    plugins.register(plugin(step("A", before=("FoldBatchNorm",))), "mine")
    order = [found.key for found in Catalog(plugins).steps(Stage.PREPARE, ["mine"])]
    assert order.index("A") < order.index("FoldBatchNorm")


def test_steps_that_wait_for_each_other(plugins: pluggy.PluginManager) -> None:
    plugins.register(plugin(step("A", after=("B",)), step("B", after=("A",))), "mine")
    with pytest.raises(PluginError, match="wait for each other: A, B"):
        Catalog(plugins).steps(Stage.PREPARE, ["mine"])


def test_steps_of_other_targets_stay_out(plugins: pluggy.PluginManager) -> None:
    catalog = Catalog(plugins)
    assert {rule.target for rule in catalog.adjusters(["ipu_cnn"])} == {"ipu_cnn"}
    assert catalog.adjusters(["cpu"]) == []


def test_lineage_follows_bases(plugins: pluggy.PluginManager) -> None:
    plugins.register(plugin(Target("board", "A board.", base="ipu_cnn")), "mine")
    catalog = Catalog(plugins)
    lineage = catalog.lineage(catalog.target("board"))
    assert lineage == ["board", "ipu_cnn"]
    assert catalog.adjusters(lineage) == catalog.adjusters(["ipu_cnn"])


def test_explain_finds_option_keys_and_aliases(plugins: pluggy.PluginManager) -> None:
    class Mine(OptionGroup):
        """Mine."""

        some_thing: bool = option(False, "Something.", aliases=("AnyThing",))

    plugins.register(plugin(Mine), "mine")
    catalog = Catalog(plugins)
    assert [entry.plugin for entry in catalog.explain("SomeThing")] == ["mine"]
    assert [entry.plugin for entry in catalog.explain("AnyThing")] == ["mine"]
    assert [entry.plugin for entry in catalog.explain("AdjustShiftCut")] == ["ort_vitis_ipu"]
    with pytest.raises(UnknownNameError, match="did you mean AdjustShiftCut"):
        catalog.explain("AdjustShiftCat")


def test_upstream_keys_are_those_of_onnxruntime(plugins: pluggy.PluginManager) -> None:
    keys = Catalog(plugins).upstream_keys
    assert "AddQDQPairToWeight" in keys
    assert not {"EnableDPU", "MinMSEMode", "AdjustShiftCut"} & keys


def test_names_of_keys() -> None:
    assert (name_of(QuantFormat.QDQ), full_name(QuantFormat.QDQ)) == ("QDQ", "QuantFormat.QDQ")
    assert name_of(("Conv", None)) == "Conv"
    assert full_name("mine") == "mine"


def test_op_quantizers_go_from_the_target_to_anyone(plugins: pluggy.PluginManager) -> None:
    catalog = Catalog(plugins)
    assert catalog.op_quantizer("Conv", ["cpu"]) is catalog.op_quantizer("Conv", ["anything"])
    assert catalog.op_quantizer("NoSuchOp", ["ipu_cnn"]) is None


def test_types_by_the_names_that_plugins_declare(
    plugins: pluggy.PluginManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = QType("QMine", TensorProto.INT8, 6, -32, 31)
    plugins.register(plugin(QuantizedType(mine, "Six bits.")))
    monkeypatch.setattr(catalog, "shared_catalog", lambda: Catalog(plugins))
    assert qtype("QMine") == Catalog(plugins).qtype("QMine") == mine
    assert qtype(QuantType.QInt8) == qtype("QInt8") == Catalog(plugins).qtype(TensorProto.INT8)
    with pytest.raises(UnsupportedError, match=r"'QMin' is not a quantization type.*QMine\); did you mean QMine"):
        qtype("QMin")


def test_a_type_itself_needs_no_declaration(plugins: pluggy.PluginManager) -> None:
    mine = QType("QInt8", TensorProto.INT8, 6, -32, 31)
    assert Catalog(plugins).qtype(mine) is mine


def test_a_list_of_declarations_is_the_callers_own(plugins: pluggy.PluginManager) -> None:
    known = Catalog(plugins)
    names = [target.name for target in known.all(Target)]
    known.all(Target).clear()
    assert [target.name for target in known.all(Target)] == names
    assert names
