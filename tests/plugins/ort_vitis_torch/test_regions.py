"""Stubs enclose what is quantized: exactly those nodes, in torch and in the file, and nothing in the float parts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")

from torch import nn  # noqa: E402

import ort_vitis_torch as ovt  # noqa: E402
from ort_vitis_torch import DeQuantStub, QuantStub  # noqa: E402
from ort_vitis_torch.host_calls import run  # noqa: E402

from .networks import digits  # noqa: E402


class WholeModule(nn.Module):
    """The manual's: subm0 and subm2 are quantized, subm1 is not; the same stubs are called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.subm0 = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU())
        self.subm1 = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.Tanh())
        self.subm2 = nn.Sequential(nn.Flatten(), nn.Linear(256, 10))
        self.quant, self.dequant = QuantStub(), DeQuantStub()

    def forward(self, input: Any) -> Any:
        input = self.quant(input)
        output0 = self.dequant(self.subm0(input))
        output1 = self.quant(self.subm1(output0))
        return self.dequant(self.subm2(output1))


class ToTheEnd(nn.Module):
    """A region without a DeQuantStub ends where the graph does."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last, self.quant = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 2, 3), QuantStub()

    def forward(self, x: Any) -> Any:
        return self.last(self.quant(torch.tanh(self.first(x))))


class Pairs(nn.Module):
    """Several pairs of stubs, one of them around both tensors of a sum."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = (nn.Conv2d(1, 2, 3, padding=1) for _ in range(3))
        self.q1, self.d1, self.q2, self.d2 = QuantStub(), DeQuantStub(), QuantStub(), DeQuantStub()

    def forward(self, x: Any) -> Any:
        left = self.d1(self.a(self.q1(x)))
        right = self.b(torch.sin(x))
        left, right = self.q2((left, right))
        return self.d2(left + right) + self.c(torch.cos(x))


class Nested(nn.Module):
    """Modules with stubs of their own within a larger one."""

    def __init__(self) -> None:
        super().__init__()
        self.outside, self.again = nn.Conv2d(1, 1, 3), WholeModule()

    def forward(self, x: Any) -> Any:
        return self.again(torch.sigmoid(x)), torch.exp(self.outside(x))


CASES: dict[Any, set[str]] = {
    WholeModule: {"/subm0/subm0.0/Conv", "/subm2/subm2.1/Gemm"},
    ToTheEnd: {"/last/Conv"},
    Pairs: {"/a/Conv", "/Add"},
    Nested: {"/again/subm0/subm0.0/Conv", "/again/subm2/subm2.1/Gemm"},
}


def written(kind: Any, folder: Path) -> tuple[Any, onnx.ModelProto]:
    torch.manual_seed(0)
    model, images = kind().eval(), digits().images
    calib = ovt.torch_quantizer("calib", model, images[:2], output_dir=folder)
    calib.quant_model(images[:16])
    calib.export_quant_config()
    test = ovt.torch_quantizer("test", model, images[:2], output_dir=folder)
    return test, onnx.load(test.export_onnx_model())


@pytest.mark.parametrize("kind", CASES)
def test_exactly_the_enclosed_nodes_are_quantized(kind: Any, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test, model = written(kind, tmp_path)
    pairs = {name for node in model.graph.node if node.op_type == "DequantizeLinear" for name in node.output}
    weighted = [node for node in model.graph.node if node.op_type in ("Conv", "Gemm", "Add") and node.input[1] in pairs]
    assert {node.name for node in weighted} == CASES[kind]
    for node in model.graph.node:
        if node.op_type in ("Tanh", "Sin", "Cos", "Sigmoid", "Exp"):
            assert not pairs.intersection(node.output)
    for node in model.graph.node:
        if node.op_type in ("Sin", "Cos"):  # they read the input itself, which a region takes quantized
            assert not pairs.intersection(node.input)
    assert not [entry for entry in model.opset_import if entry.domain.startswith("ort_vitis_torch")]
    batch = digits().unseen[:5]
    with torch.no_grad():
        here = test.quant_model(batch)
    here = here if isinstance(here, tuple) else (here,)
    for result, wanted in zip(here, run(model, {model.graph.input[0].name: batch.numpy()}), strict=True):
        assert np.abs(result.numpy() - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_stubs_do_nothing_to_values_and_take_structures() -> None:
    x = torch.ones(2)
    assert QuantStub()(x) is x
    given = {"a": [x], "b": (x, x)}
    assert DeQuantStub()(given) is given


class Lonely(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.dequant = nn.Conv2d(1, 1, 3), DeQuantStub()

    def forward(self, x: Any) -> Any:
        return self.dequant(self.conv(x))


class Empty(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.quant, self.dequant = nn.Conv2d(1, 1, 3), QuantStub(), DeQuantStub()

    def forward(self, x: Any) -> Any:
        return self.conv(self.dequant(self.quant(x)))


@pytest.mark.parametrize(("kind", "says"), [(Lonely, "no QuantStub"), (Empty, "nothing lies between")])
def test_stubs_without_a_region_are_refused(kind: Any, says: str) -> None:
    with pytest.raises(ovt.ExportError, match=says):
        ovt.export(kind(), digits().images[:1])


def test_what_older_torch_cannot_write_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such an exporter tries other ways where a stub objects, and writes the graph without it."""
    with monkeypatch.context() as older:
        older.delattr(torch.compiler, "is_exporting", raising=False)
        x = torch.ones(2)
        assert ovt.QuantStub()(x) is x
    monkeypatch.delattr(torch.onnx, "ops", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    with pytest.raises(ovt.ExportError, match=r'writes QuantStub with exporter="torchscript" alone'):
        ovt.export(WholeModule(), digits().images[:1], exporter="dynamo")
