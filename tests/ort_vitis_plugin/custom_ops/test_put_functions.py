"""Functions are put in once, others stay, and a model without any stays as old as it was."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import TensorProto, helper

from ort_vitis_plugin.custom_ops.domains import QUARK_DOMAIN, VAI_DOMAIN
from ort_vitis_plugin.custom_ops.put_functions import drop_unused_domains, put_functions
from ort_vitis_plugin.testing import graph


def function(domain: str, name: str, op_type: str = "Relu"):
    node = helper.make_node(op_type, ["x"], ["y"])
    return helper.make_function(domain, name, ["x"], ["y"], [node], [helper.make_opsetid("", 17)])


def test_owned_functions_are_replaced_and_others_stay() -> None:
    model = graph("t (float[2] x) => (float[2] y) { y = Relu(x) }", ir_version=7)
    model.functions.extend([function("a", "F"), function("b", "F")])
    put_functions(model, [function("a", "F", "Abs"), function("a", "G")], {("a", "F"), ("a", "G")}, {"a", ""})
    assert [(each.domain, each.name, each.node[0].op_type) for each in model.functions] == [
        ("b", "F", "Relu"),
        ("a", "F", "Abs"),
        ("a", "G", "Relu"),
    ]
    assert [entry.domain for entry in model.opset_import] == ["", "a"]
    assert model.ir_version == 8


def test_without_functions_the_version_stays() -> None:
    model = graph("t (float[2] x) => (float[2] y) { y = Relu(x) }", ir_version=7)
    put_functions(model, [], {("a", "F")}, set())
    assert (model.ir_version, len(model.functions), len(model.opset_import)) == (7, 0, 1)


def test_a_domain_goes_unless_a_node_in_a_body_is_of_it() -> None:
    model = graph("t (bool c, float[2] x) => (float[2] y) { y = Identity(x) }")
    bodies = {
        branch: helper.make_graph(
            [helper.make_node("BFPFixNeuron", ["x"], [branch], domain=VAI_DOMAIN)],
            branch,
            [],
            [helper.make_tensor_value_info(branch, TensorProto.FLOAT, [2])],
        )
        for branch in ("then_branch", "else_branch")
    }
    model.graph.node[0].CopyFrom(helper.make_node("If", ["c"], ["y"], **bodies))
    model.opset_import.extend(helper.make_opsetid(domain, 1) for domain in (VAI_DOMAIN, QUARK_DOMAIN, "mine"))
    drop_unused_domains(model)
    assert [entry.domain for entry in model.opset_import] == ["", VAI_DOMAIN, "mine"]
