"""Exporting: both exporters, any batch size, nested structures, the caller's module as it was, and plain refusals."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import copy
import importlib.util
import warnings
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")

from torch import nn  # noqa: E402

import ort_vitis_torch as ovt  # noqa: E402
from ort_vitis_torch.executor import OnnxModule  # noqa: E402
from ort_vitis_torch.structure import Structure  # noqa: E402

from .networks import MobileS, ResNetS, TwoInputs, UNet, digits, example  # noqa: E402
from .test_regions import WholeModule  # noqa: E402

needs_onnxscript = pytest.mark.skipif(
    importlib.util.find_spec("onnxscript") is None, reason="the dynamo exporter needs onnxscript"
)


first_dynamo = pytest.mark.skipif(
    torch.__version__.startswith("2.5"), reason="torch 2.5's dynamo exporter does not write BatchNorm2d"
)


@pytest.mark.slow
@needs_onnxscript
@pytest.mark.parametrize(
    "kind", [pytest.param(ResNetS, marks=first_dynamo), pytest.param(MobileS, marks=first_dynamo), UNet, TwoInputs]
)
def test_the_dynamo_exporters_graph_computes_the_same(kind: type) -> None:
    torch.manual_seed(0)
    model = kind().eval()
    graph = OnnxModule(ovt.export(model, example(kind), exporter="dynamo").model)
    arguments = example(kind, 3)
    with torch.no_grad():
        results = graph(*Structure.of(arguments)[0])
        for here, there in zip(results, Structure.of(model(*arguments))[0], strict=True):
            assert float((here - there).abs().max()) <= 1e-5 * max(float(there.abs().max()), 1)


@pytest.mark.slow
@needs_onnxscript
@pytest.mark.skipif(not hasattr(torch.onnx, "ops"), reason="dynamo exporters before torch 2.8 write no stubs")
def test_stubs_are_seen_by_the_dynamo_exporter() -> None:
    exported = ovt.export(WholeModule().eval(), digits().images[:2], exporter="dynamo")
    assert exported.regions is not None
    inside = {node.op_type for node in exported.model.graph.node if node.name in exported.regions.nodes}
    outside = {node.op_type for node in exported.model.graph.node if node.name in exported.regions.outside}
    assert {"Conv", "Gemm"} <= inside
    assert outside == {"Conv", "Tanh"}


@pytest.mark.parametrize("exporter", ["torchscript"])
def test_the_module_stays_in_its_mode_with_its_statistics(exporter: Any) -> None:
    model = MobileS().train()
    before = copy.deepcopy(model.state_dict())
    ovt.export(model, digits().images[:2], exporter=exporter)
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_norms_and_the_names_of_parameters_can_be_kept() -> None:
    model = MobileS()
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    exported = ovt.export(model, digits().images[:2], keep_batch_norm=True)
    assert sum(node.op_type == "BatchNormalization" for node in exported.model.graph.node) == 7
    names = {tensor.name for tensor in exported.model.graph.initializer}
    assert {name for name, _ in model.named_parameters()} <= names


Pair = namedtuple("Pair", "left right")


class Structures(nn.Module):
    def forward(self, pair: Any, by_name: Any, number: int = 2) -> Any:
        return {"sum": pair.left + by_name["x"], "rest": [pair.right * number, (by_name["y"], None)]}


def test_structures_go_in_and_come_out() -> None:
    a, b, c, d = torch.randn(4, 3, 2).unbind()
    arguments = (Pair(a, b), {"x": c, "y": d}, 3)
    exported = ovt.export(Structures(), arguments)
    assert exported.input_names == ["pair_0", "pair_1", "by_name_0", "by_name_1"]
    graph = OnnxModule(exported.model)
    results = exported.outputs.fill(graph(*exported.tensors(arguments)))
    wanted = Structures()(*arguments)
    assert torch.equal(results["sum"], wanted["sum"])
    assert torch.equal(results["rest"][0], wanted["rest"][0])
    assert results["rest"][1][1] is None
    with pytest.raises(ovt.ExportError, match="was exported for arguments of the structure"):
        exported.tensors((a, b))


@dataclass
class Boxes:
    corners: Any
    count: int = 3


class Moved(nn.Module):
    def forward(self, boxes: Any) -> Any:
        return [Boxes(boxes.corners + 1, boxes.count), {"inner": (Boxes(boxes.corners * 2),)}]


def test_dataclasses_are_opened_and_closed_again() -> None:
    exported = ovt.export(Moved(), Boxes(torch.zeros(2, 4), 5))
    assert exported.input_names == ["boxes_0"]
    graph = OnnxModule(exported.model)
    first, rest = exported.outputs.fill(graph(*exported.tensors((Boxes(torch.ones(3, 4), 5),))))
    assert torch.equal(first.corners, torch.full((3, 4), 2.0))
    assert first.count == 5
    assert type(rest["inner"][0]) is Boxes


class Masked(nn.Module):
    def forward(self, x: Any, mask: Any = None, *, scale: float = 1.0) -> Any:
        return x * scale if mask is None else x * mask


def test_arguments_may_be_given_by_name_in_a_call() -> None:
    x, mask = torch.ones(2, 3), torch.zeros(2, 3)
    both = ovt.export(Masked(), (x, mask))
    for given, named in (((x, mask), {}), ((x,), {"mask": mask}), ((), {"mask": mask, "x": x})):
        assert all(tensor is wanted for tensor, wanted in zip(both.tensors(given, named), (x, mask), strict=True))
    alone = ovt.export(Masked(), x)
    assert alone.tensors((), {"x": x}) == [x]
    with pytest.raises(ovt.ExportError, match="exported for the arguments x, so it does not take mask"):
        alone.tensors((x,), {"mask": mask})
    with pytest.raises(ovt.ExportError, match="so it does not take scale; what input_args do not hold keeps"):
        alone.tensors((x,), {"scale": 2.0})
    with pytest.raises(ovt.ExportError, match="was exported for the argument x too; give it in the call"):
        both.tensors((), {"mask": mask})


def test_sizes_that_the_graph_does_not_take_are_refused_at_the_call() -> None:
    exported = ovt.export(nn.Conv2d(3, 4, 3), torch.ones(2, 3, 8, 8))
    exported.tensors((torch.ones(5, 3, 8, 8),))
    for shape in ((2, 3, 9, 9), (2, 4, 8, 8), (3, 8, 8)):
        with pytest.raises(ovt.ExportError, match=r"exported for \['batch', 3, 8, 8\]; give input_args"):
            exported.tensors((torch.ones(shape),))


def test_a_compiled_module_is_the_one_inside() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of torch about itself
        compiled = torch.compile(nn.Linear(2, 3))
    assert ovt.export(compiled, torch.ones(2, 2)).name == "Linear"


class Complex(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.nonzero(x > 0).to(torch.complex64)


class Nothing(nn.Module):
    def forward(self, x: Any) -> Any:
        return None


@pytest.mark.parametrize(
    ("module", "given", "says"),
    [
        (Complex(), torch.ones(2), "exporter cannot export Complex"),
        (Nothing(), torch.ones(2), "returns no tensor"),
        (nn.ReLU(), "text", "hold no tensor"),
        (nn.ReLU(), torch.ones(2, dtype=torch.complex64), "the input input is complex"),
        (lambda x: x, torch.ones(2), "a torch.nn.Module is needed, not function"),
        (nn.ReLU(), torch.ones(2).to_sparse(), "the input input is sparse"),
    ],
)
def test_what_cannot_be_exported_is_refused_in_one_line(module: Any, given: Any, says: str) -> None:
    with pytest.raises(ovt.ExportError) as caught:
        ovt.export(module, given, exporter="torchscript")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_module_that_cannot_be_copied_is_refused() -> None:
    module = nn.ReLU()
    module.held = iter(nn.ReLU().modules())  # type: ignore[assignment]
    with pytest.raises(ovt.ExportError, match=r"ReLU cannot be copied, .*: cannot pickle 'generator' object; keep"):
        ovt.export(module, torch.ones(2))


def test_scripted_modules_and_quantized_tensors_are_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls both old
        scripted = torch.jit.script(nn.ReLU())
        codes = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
    with pytest.raises(ovt.ExportError, match="the input input is quantized"):
        ovt.export(nn.ReLU(), codes)
    with pytest.raises(ovt.ExportError, match=r"give the torch\.nn\.Module that was scripted or traced"):
        ovt.export(scripted, torch.ones(2))


def test_half_precision_modules_are_exported_in_float32() -> None:
    exported = ovt.export(ResNetS().half(), digits().images[:2].half())
    assert exported.model.graph.input[0].type.tensor_type.elem_type == 1


def test_without_onnxscript_a_refusal_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """TorchScript has no BatchNormalization that keeps no statistics."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    norm = torch.nn.BatchNorm2d(4, track_running_stats=False)
    with pytest.raises(ovt.ExportError, match=r"TorchScript exporter cannot export.*pip install onnxscript"):
        ovt.export(norm, torch.zeros(2, 4, 3, 3))


@pytest.mark.parametrize("keep_batch_norm", [False, True])
def test_weights_beyond_a_messages_limit_go_through_files(
    keep_batch_norm: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ResNetS().eval()
    whole = ovt.export(module, digits().images[:2], keep_batch_norm=keep_batch_norm).model
    monkeypatch.setattr("ort_vitis_torch.exported.LARGEST_MESSAGE", 0)
    assert ovt.export(module, digits().images[:2], keep_batch_norm=keep_batch_norm).model == whole


def test_operator_sets_above_torchscripts_are_reached_by_conversion() -> None:
    lower, higher = (ovt.export(WholeModule(), digits().images[:2], opset=opset) for opset in (20, 21))
    assert [entry.version for entry in higher.model.opset_import if not entry.domain] == [21]
    assert [node.name for node in higher.model.graph.node] == [node.name for node in lower.model.graph.node]
    assert higher.regions == lower.regions
    assert higher.model.ir_version <= 10
