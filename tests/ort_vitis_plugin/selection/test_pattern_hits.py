"""Patterns in a request: as if the names that they hit were listed, and the report says which."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, save
from onnxruntime.quantization import QuantType

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.errors import OptionError, UnknownNameError
from ort_vitis_plugin.report.report import Result
from ort_vitis_plugin.testing import graph, random_feeds
from tests.models.serialized import without_provenance

W = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
NET = (
    "[S_body_S_a_S_MatMul] t = MatMul(x, w) [S_body_S_act] u = Relu(t) [S_head_S_a_S_MatMul] v = MatMul(u, w) "
    "[S_head_S_soft] p = Softmax(v) y = MatMul(p, w)"
)


def model(body: str = NET) -> ModelProto:
    made = graph(f"t (float[2, 4] x) => (float[2, 4] y) {{ {body} }}", constants={"w": W})
    for node in made.graph.node:
        node.name = node.name.replace("_S_", "/").replace("S_", "/").replace("STAR", "*")
    return made


def quantized(body: str = NET, **request: Any) -> Result:
    made = model(body)
    before = made.SerializeToString()
    result = quantize_static(made, None, [random_feeds(made)], **request)
    assert made.SerializeToString() == before
    return result


def test_names_with_stars_that_exist_are_names() -> None:
    body = NET.replace("S_body_S_act", "S_head_S_STAR")
    result = quantized(body, nodes_to_exclude=["/head/*"])
    assert result.report.patterns == {}
    assert set(result.report.left_float) == {"/head/*"}


# pattern -> the nodes that it hits
HITS: dict[str, list[str]] = {
    "/head/*": ["/head/a/MatMul", "/head/soft"],
    "*MatMul": ["/body/a/MatMul", "/head/a/MatMul"],
    "op:Softmax": ["/head/soft"],
    "op:MatMul": ["/body/a/MatMul", "/head/a/MatMul", "MatMul_y"],
    "tensor:u": ["/body/act"],
    "tensor:x": ["/body/a/MatMul"],
    "tensor:y": ["MatMul_y"],
    "re:/(body|head)/a/.*": ["/body/a/MatMul", "/head/a/MatMul"],
}


@pytest.mark.parametrize("pattern", HITS)
@pytest.mark.parametrize("argument", ["nodes_to_exclude", "nodes_to_quantize"])
def test_a_pattern_is_the_list_of_what_it_hits(pattern: str, argument: str) -> None:
    by_pattern, by_name = quantized(**{argument: [pattern]}), quantized(**{argument: HITS[pattern]})
    assert without_provenance(by_pattern.model) == without_provenance(by_name.model)
    assert by_pattern.report.patterns == {f"{argument} {pattern}": HITS[pattern]}
    assert by_pattern.report.left_float == by_name.report.left_float


def test_of_nodes_with_one_name_only_those_that_are_meant() -> None:
    body = NET.replace("S_head_S_soft", "S_body_S_act")
    result = quantized(body, nodes_to_exclude=["op:Softmax"])
    assert [text.split(":")[0] for text in result.report.left_float.values()] == ["Softmax"]
    both = quantized(body, nodes_to_exclude=["op:Softmax", "/body/act"])
    assert sorted(text.split(":")[0] for text in both.report.left_float.values()) == ["Relu", "Softmax"]


SIXTEEN = {"quant_type": QuantType.QInt16}


def test_keys_of_overrides_hit_what_is_computed_or_fed() -> None:
    for pattern, names in (("?", ["x", "t", "u", "v", "p", "y"]), ("op:MatMul", ["t", "v", "y"]), ("tensor:w", ["w"])):
        given = {"TensorQuantOverrides": {pattern: [SIXTEEN]}}
        result = quantized(extra_options=given)
        named = quantized(extra_options={"TensorQuantOverrides": {name: [SIXTEEN] for name in names}})
        hit = result.report.patterns[f"TensorQuantOverrides {pattern}"]
        assert sorted(hit) == sorted(set(names) & set(hit))
        assert {name for name in names if name in hit} == set(hit)
        assert without_provenance(result.model) == without_provenance(named.model)
        assert given == {"TensorQuantOverrides": {pattern: [SIXTEEN]}}


def test_a_name_goes_before_a_pattern() -> None:
    given = {"?": [SIXTEEN], "p": [{"quant_type": QuantType.QUInt8}]}
    types = quantized(extra_options={"TensorQuantOverrides": given}).report.types
    assert (types["v"], types["p"]) == ("QInt16", "QUInt8")


def test_patterns_for_tensors_keep_nothing_from_being_folded() -> None:
    body = "t = MatMul(x, w) i = Identity(t) y = Relu(i)"
    result = quantized(body, extra_options={"TensorQuantOverrides": {"*": [SIXTEEN]}})
    assert not any(node.op_type == "Identity" for node in result.model.graph.node)


def test_a_pattern_that_hits_only_shapes_selects_nothing_else() -> None:
    body = "s = Shape(x) t = MatMul(x, w) y = Reshape(t, s)"
    with pytest.raises(OptionError, match="nothing is left to quantize"):
        quantized(body, nodes_to_quantize=["op:Shape"])


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no node": (
        {"nodes_to_exclude": ["/haed/*"]},
        UnknownNameError,
        "pattern '/haed/.' hits no node",
    ),
    "no op type": (
        {"nodes_to_exclude": ["op:SoftMax"]},
        UnknownNameError,
        "op type; did you mean Softmax",
    ),
    "no tensor": (
        {"nodes_to_quantize": ["tensor:z"]},
        UnknownNameError,
        "the pattern 'tensor:z' hits no",
    ),
    "no such node": (
        {"nodes_to_exclude": ["/head/sofd"]},
        UnknownNameError,
        "did you mean /head/soft",
    ),
    "an expression": ({"nodes_to_exclude": ["re:["]}, OptionError, "is no regular expression"),
    "everything": (
        {"nodes_to_exclude": ["*"]},
        OptionError,
        r"left to quantize: nodes_to_exclude \* leaves",
    ),
    "nothing of the types": (
        {"nodes_to_quantize": ["op:Relu"], "op_types_to_quantize": ["MatMul"]},
        OptionError,
        "nothing is left to quantize: nodes_to_quantize op:Relu",
    ),
    "no tensor to override": (
        {"extra_options": {"TensorQuantOverrides": {"z*": [SIXTEEN]}}},
        UnknownNameError,
        r"TensorQuantOverrides: the pattern 'z\*' hits no tensor",
    ),
    "two that differ": (
        {"extra_options": {"TensorQuantOverrides": {"?": [SIXTEEN], "op:MatMul": [{"quant_type": QuantType.QUInt8}]}}},
        OptionError,
        r"'\?' and 'op:MatMul' say different things of t; name it itself",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refuses_in_one_line(case: str) -> None:
    request, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        quantized(**request)


def test_the_command_line_shows_what_patterns_hit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save(model(), "m.onnx")
    assert main(["quantize", "m.onnx", "-o", "q.onnx", "--exclude", "/head/*", "op:Relu"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "nodes_to_exclude /head/* 2 /head/a/MatMul, /head/soft" in shown
    assert main(["quantize", "m.onnx", "-o", "none.onnx", "--exclude", "/tail/*"]) != 0
    assert "the pattern '/tail/*' hits no node" in capsys.readouterr().err
    assert not (tmp_path / "none.onnx").exists()


BRANCHES = """t (float[2, 4] x, bool which) => (float[2, 4] y) {
  z = If(which) <then_branch = g () => (float[2, 4] a) { [m_then] t = MatMul(x, w) a = Tanh(t) },
                 else_branch = h () => (float[2, 4] b) { [m_else] u = MatMul(x, w) b = Relu(u) }>
  [m] y = MatMul(z, w) }"""


def test_inside_of_branches_nodes_are_hit_where_branches_are_quantized() -> None:
    made = graph(BRANCHES, constants={"w": W})
    feeds = [{"x": np.ones((2, 4), np.float32), "which": np.array(which)} for which in (True, False)]
    for pattern, hit in (("m_*", ["m_then", "m_else"]), ("op:MatMul", ["m", "m_then", "m_else"])):
        options = {"EnableSubgraph": True}
        by_pattern = quantize_static(made, None, feeds, nodes_to_exclude=[pattern], extra_options=options)
        by_name = quantize_static(made, None, feeds, nodes_to_exclude=hit, extra_options=options)
        assert sorted(by_pattern.report.patterns[f"nodes_to_exclude {pattern}"]) == sorted(hit)
        assert without_provenance(by_pattern.model) == without_provenance(by_name.model)
    with pytest.raises(UnknownNameError, match=r"'m_\*' hits no node"):
        quantize_static(made, None, feeds, nodes_to_exclude=["m_*"])
