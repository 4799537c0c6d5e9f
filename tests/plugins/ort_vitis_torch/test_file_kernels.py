"""A graph in torch gives the bits that onnxruntime gives for its file, and torch's gradients."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, RuntimeException
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")

import ort_vitis_torch as ovt  # noqa: E402
from ort_vitis_torch.executor import OnnxModule  # noqa: E402
from ort_vitis_torch.file_kernels import PRODUCTS, ROUNDED, file_kernel  # noqa: E402
from ort_vitis_torch.host_calls import run  # noqa: E402
from ort_vitis_torch.ops import function_of, operators  # noqa: E402

from .networks import Transformer, calibration_batches, digits  # noqa: E402
from .test_ops import by_operator  # noqa: E402

OPSET = 20

# {what: (operator, attributes, shapes of the inputs)}.
FUNCTIONS: dict[str, tuple[str, dict[str, Any], list[tuple[int, ...]]]] = {
    "Erf": ("Erf", {}, [(7, 301)]),
    "Exp": ("Exp", {}, [(7, 301)]),
    "Gelu": ("Gelu", {}, [(7, 301)]),
    "GeluByTanh": ("Gelu", {"approximate": "tanh"}, [(7, 301)]),
    "LayerNormalization": ("LayerNormalization", {"axis": -1}, [(7, 301), (301,), (301,)]),
    "MatMul": ("MatMul", {}, [(7, 301), (301, 5)]),
    "Sigmoid": ("Sigmoid", {}, [(7, 301)]),
    "Softmax": ("Softmax", {"axis": -1}, [(7, 301)]),
    "SoftmaxOfRows": ("Softmax", {"axis": 0}, [(7, 301)]),
    "Tanh": ("Tanh", {}, [(7, 301)]),
}


def tensors(shapes: list[tuple[int, ...]]) -> list[Any]:
    """Random values, and among them those that lie in the middle between codes of a step of 2^-4."""
    generator = torch.Generator().manual_seed(0)
    made = [3 * torch.randn(shape, generator=generator) for shape in shapes]
    made[0][::2] = torch.round(made[0][::2] * 16) / 16 + 1 / 32
    return made


def alone(op_type: str, attributes: dict[str, Any], count: int) -> onnx.ModelProto:
    names = [f"x{at}" for at in range(count)]
    inputs = [helper.make_tensor_value_info(name, 1, None) for name in names]
    graph = helper.make_graph(
        [helper.make_node(op_type, names, ["y"], "node", **attributes)],
        "graph",
        inputs,
        [helper.make_tensor_value_info("y", 1, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


@pytest.mark.parametrize(("op_type", "attributes", "shapes"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_values_are_onnxruntimes_and_gradients_torchs(
    op_type: str, attributes: dict[str, Any], shapes: list[tuple[int, ...]]
) -> None:
    model, given = alone(op_type, attributes, len(shapes)), tensors(shapes)
    wanted = run(model, {f"x{at}": each.numpy() for at, each in enumerate(given)})[0]
    node = model.graph.node[0]
    plain = function_of(node, OPSET)
    kernel = file_kernel(node, OPSET, plain)
    gradients = []
    for function in (kernel, plain):
        leaves = [each.clone().requires_grad_() for each in given]
        result = function(*leaves)
        if function is kernel:
            assert np.array_equal(result.detach().numpy(), wanted)
        gradients.append(torch.autograd.grad(result.square().sum() - result.detach().sum() * result.sum(), leaves))
    with torch.no_grad():
        assert np.array_equal(kernel(*given).numpy(), wanted)
    for here, there in zip(*gradients, strict=True):
        assert torch.allclose(here, there, rtol=1e-3, atol=1e-3 * float(there.abs().max()))


def test_inputs_that_onnxruntime_has_no_kernel_for_stay_with_torch() -> None:
    node = helper.make_node("Sin", ["x"], ["y"])
    x = torch.linspace(-3, 3, 9, dtype=torch.float64)
    assert torch.equal(file_kernel(node, OPSET, torch.sin)(x), torch.sin(x))
    odd = helper.make_node("Erf", ["x"], ["y"], no_such_attribute=1)
    assert torch.equal(file_kernel(odd, OPSET, torch.erf)(x.float()), torch.erf(x.float()))


def test_outputs_that_are_left_out_keep_their_places() -> None:
    node = helper.make_node("LayerNormalization", ["x", "s"], ["y", "", "d"], axis=-1)
    x, scale = tensors([(3, 5), (5,)])
    y, mean, deviation = file_kernel(node, OPSET, function_of(node, OPSET))(x, scale)
    there = function_of(node, OPSET)(x, scale)
    assert mean is None
    assert torch.allclose(y, there[0], atol=1e-5)
    assert torch.allclose(deviation, there[2], atol=1e-5)


@pytest.mark.parametrize("how", ["int8", "float scales", "16 bits"])
def test_a_transformer_gives_the_files_numbers(how: str, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    overall = {"scale_type": "float", "symmetry": True, "method": "maxmin"}
    config.write_text(json.dumps({"target_device": "CPU", "overall_quantize_config": overall}))
    asked: dict[str, Any] = {"float scales": {"quant_config_file": config}, "16 bits": {"bitwidth": 16}}.get(how, {})
    torch.manual_seed(0)
    model = Transformer().eval()
    calib = ovt.torch_quantizer("calib", model, digits().images[:2], output_dir=tmp_path, **asked)
    calib.quant_model(calibration_batches()[0])
    calib.export_quant_config()
    test = ovt.torch_quantizer("test", model, digits().images[:2], output_dir=tmp_path, **asked)
    with torch.no_grad():
        here = test.quant_model(digits().unseen).numpy()
    there = run(onnx.load(test.export_onnx_model()), {"x": digits().unseen.numpy()})[0]
    assert np.array_equal(here, there)


class Between(torch.nn.Module):
    """A part in float, of many products, before the part that is quantized."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.Linear(16 * 64, 10)
        self.mixed = torch.nn.Linear(16 * 64, 16 * 64)
        self.quant, self.dequant = ovt.QuantStub(), ovt.DeQuantStub()

    def forward(self, x: Any) -> Any:
        return torch.tanh(self.dequant(self.last(self.quant(self.mixed(self.first(x).flatten(1))))))


def test_what_stays_float_gives_the_files_numbers_too(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Between().eval()
    calib = ovt.torch_quantizer("calib", model, digits().images[:2], output_dir=tmp_path)
    calib.quant_model(calibration_batches()[0])
    calib.export_quant_config()
    test = ovt.torch_quantizer("test", model, digits().images[:2], output_dir=tmp_path)
    with torch.no_grad():
        here = test.quant_model(digits().unseen).numpy()
    there = run(onnx.load(test.export_onnx_model()), {"x": digits().unseen.numpy()})[0]
    assert np.array_equal(here, there)


def test_what_is_trained_is_what_is_deployed_in_a_transformer(tmp_path: Path) -> None:
    torch.manual_seed(0)
    processor = ovt.QatProcessor(Transformer().eval(), digits().images[:32])
    trainable = processor.trainable_model()
    optimizer = torch.optim.Adam(trainable.non_quantizer_parameters(), 1e-4)
    trainable(digits().images[:32]).square().mean().backward()
    optimizer.step()
    trainable.eval()
    x = digits().unseen[:64]
    deployable = processor.to_deployable(trainable, tmp_path)
    with torch.no_grad():
        here, there = trainable(x), deployable(x)
    assert torch.equal(here, there)
    assert np.array_equal(there.numpy(), run(onnx.load(processor.export_onnx_model()), {"x": x.numpy()})[0])


def other_values(array: Any, seed: int) -> Any:
    """Random floats in place of a node test's own, of their shape and, where they have but one, of their sign."""
    if array.dtype != np.float32 or array.size < 5:
        return np.array(array)
    drawn = np.random.default_rng(seed).uniform(-0.99, 0.99, array.shape).astype(np.float32)
    return np.abs(drawn) if array.min() >= 0 else drawn


REFUSALS = (ovt.OperatorError, NoKernel, InvalidArgument, RuntimeException)

# Dropout draws in its tests of training.
LISTED = ROUNDED | PRODUCTS | {"Dropout"}


@pytest.mark.slow
@pytest.mark.parametrize("op_type", sorted({op for domain, op in operators() if not domain} - LISTED))
def test_an_operator_that_is_not_listed_gives_onnxruntimes_bits_as_it_is(op_type: str) -> None:
    for case in by_operator().get(op_type, []):
        arrays = [other_values(np.asarray(_array(each)), at) for at, each in enumerate(case.data_sets[0][0])]
        feed = dict(zip((value.name for value in case.model.graph.input), arrays, strict=False))
        try:
            module = OnnxModule(case.model)
            wanted = run(case.model, feed)
        except REFUSALS:
            continue
        with torch.no_grad():
            results = module(*map(torch.from_numpy, arrays))
        for result, each in zip(results, wanted, strict=True):
            assert np.array_equal(result.numpy(), each, equal_nan=each.dtype.kind == "f"), case.name


def _array(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
