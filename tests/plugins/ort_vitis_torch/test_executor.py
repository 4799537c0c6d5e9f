"""The executor computes what follows from shapes once, and what exporters took apart as one; values stay the same."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import onnx
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")

from torch import nn  # noqa: E402

import ort_vitis_torch as ovt  # noqa: E402
from ort_vitis_torch.executor import PROGRAMS, OnnxModule  # noqa: E402
from ort_vitis_torch.fused_steps import fused  # noqa: E402

from .networks import ResNetS, Transformer, example  # noqa: E402


class Attention(nn.Module):
    """A block of a vision transformer, with its mask where it has one."""

    def __init__(self, *, masked: bool = False) -> None:
        super().__init__()
        self.qkv, self.out, self.masked = nn.Linear(16, 48), nn.Linear(16, 16), masked

    def forward(self, x: Any) -> Any:
        n, tokens, width = x.shape
        q, k, v = self.qkv(x).reshape(n, tokens, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) * 0.35
        if self.masked:
            scores = scores + torch.ones(tokens, tokens).triu(1) * -10
        return x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(n, tokens, width))


def graph_of(text: str) -> OnnxModule:
    return OnnxModule(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g {text}'))


def functions(module: OnnxModule, *tensors: Any) -> list[str]:
    """What a call with these tensors runs, by name."""
    module(*tensors)
    (program,) = module._programs.values()
    called = [getattr(function, "func", function) for function, *_ in program._calls]
    return [getattr(function, "__name__", "") for function in called]


@pytest.mark.parametrize(
    ("module", "shape", "runs"),
    [
        (nn.Sequential(nn.Linear(4, 4), nn.GELU()), (2, 3, 4), ["gelu"]),
        (nn.Linear(4, 5), (2, 3, 4), ["_product_and_sum"]),
        (Attention(), (2, 5, 16), ["_attended"]),
        (Attention(masked=True), (2, 5, 16), ["_attended"]),
    ],
)
def test_what_was_one_operation_is_one_again(module: Any, shape: tuple[int, ...], runs: list[str]) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape)
    graph = OnnxModule(ovt.export(module, x).model)
    assert set(runs) <= set(functions(graph, x))
    with torch.no_grad():
        assert torch.allclose(graph(x)[0], module(x), rtol=1e-5, atol=1e-6)
        larger = torch.randn(7, *shape[1:])
        assert torch.allclose(graph(larger)[0], module(larger), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "(float[2,3] x, float[3,3] w, float[3] b) => (float[2,3] y, float[2,3] z) { z = MatMul(x, w) y = Add(z, b) }",
        "(float[2,3] x, float[3,3] w, float[3] b) => (float[2,3] y) { z = MatMul(x, w) a = Neg(z) c = Add(z, b) "
        "y = Mul(a, c) }",
    ],
)
def test_what_others_read_too_stays(text: str) -> None:
    graph = graph_of(text)
    assert fused(graph.steps, graph.outputs, lambda name: None) == graph.steps


def test_a_sum_of_a_product_and_a_matrix_is_no_bias() -> None:
    graph = graph_of("(float[2,3] x, float[3,3] w, float[2,3] r) => (float[2,3] y) { a = MatMul(x, w) y = Add(r, a) }")
    x, w, r = torch.randn(2, 3), torch.randn(3, 3), torch.randn(2, 3)
    assert torch.allclose(graph(x, w, r)[0], x @ w + r, atol=1e-6)


def test_shapes_are_computed_once_and_a_few_are_kept() -> None:
    graph = OnnxModule(ovt.export(Transformer().eval(), example(Transformer)).model)
    (x,) = example(Transformer, 3)
    assert len(functions(graph, x)) < len(graph.steps) / 2
    for size in range(1, PROGRAMS + 6):
        assert graph(x[:1].expand(size, *x.shape[1:]))[0].shape[0] == size
    assert len(graph._programs) == PROGRAMS


def test_what_follows_from_values_is_computed_anew() -> None:
    graph = graph_of(
        "(float[4] x) => (int64[1] count, float[n] ones) <float one = {1}> "
        "{ places = NonZero(x) flat = Reshape(places, minus) shape = Shape(flat) count = Identity(shape) "
        "ones = Expand(one, shape) }".replace("<float one = {1}>", "<float one = {1}, int64[1] minus = {-1}>")
    )
    for values, count in (([1.0, 0, 2, 0], 2), ([1.0, 1, 1, 0], 3), ([0.0, 0, 0, 0], 0)):
        found, ones = graph(torch.tensor(values))
        assert found.tolist() == [count]
        assert len(ones) == count


def test_parameters_that_change_between_calls_are_seen() -> None:
    graph = OnnxModule(ovt.export(ResNetS().eval(), example(ResNetS)).model)
    (x,) = example(ResNetS, 2)
    with torch.no_grad():
        before = graph(x)[0]
        for parameter in graph.parameters():
            parameter.mul_(0.5)
        assert not torch.equal(graph(x)[0], before)
        graph.replace(graph.steps[-1].node.name, lambda *tensors: torch.full((2, 10), 7.0))
        assert graph(x)[0].unique().tolist() == [7]


def test_a_call_with_too_few_tensors_names_the_inputs() -> None:
    graph = graph_of("(float[2] a, float[2] b) => (float[2] y) { y = Add(a, b) }")
    with pytest.raises(ovt.OperatorError, match=r"takes 2 tensors \(a, b\), not 1"):
        graph(torch.zeros(2))


def test_the_model_may_go_when_its_tensors_are_parameters() -> None:
    """A message of which one node is held stays in memory whole: weights would be there twice."""
    model = ovt.export(ResNetS().eval(), example(ResNetS)).model
    graph = OnnxModule(model)
    assert not any(isinstance(held, onnx.ModelProto) for held in vars(graph).values())
    assert not any(step.node is node for step, node in zip(graph.steps, model.graph.node, strict=True))
