"""The ONNX flow's file, positions and numbers, from torch; the life of a quantizer; and what it refuses."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import copy
import functools
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")

import ort_vitis_plugin  # noqa: E402
import ort_vitis_torch as ovt  # noqa: E402
from ort_vitis_torch.executor import OnnxModule  # noqa: E402
from ort_vitis_torch.host_calls import run  # noqa: E402
from ort_vitis_torch.structure import Structure, as_array  # noqa: E402

from .networks import (  # noqa: E402
    CLASSIFIERS,
    Block,
    Detector,
    MobileS,
    ResNetS,
    TwoInputs,
    UNet,
    accuracy,
    calibration_batches,
    digits,
    example,
    trained,
)

NPU = "AMD_AIE2_Nx4_Overlay_cfg0"
ALL = (*CLASSIFIERS, UNet, Detector, TwoInputs)


def fresh(kind: type) -> Any:
    torch.manual_seed(0)
    return kind().eval()


def flat(value: Any) -> list[Any]:
    return Structure.of(value)[0]


def batches(kind: type) -> list[tuple[Any, ...]]:
    if kind is TwoInputs:
        return [example(kind, size) for size in (4, 7)]
    return [(batch,) for batch in calibration_batches()[:2]]


def quantized(kind: type, folder: Path, **options: Any) -> tuple[Any, Any]:
    """The two quantizers of one flow: that of 'calib', and that of 'test' in which the file is read."""
    model = fresh(kind)
    calib = ovt.torch_quantizer("calib", model, example(kind), output_dir=folder, **options)
    for batch in batches(kind):
        calib.quant_model(*batch)
    calib.export_quant_config()
    return calib, ovt.torch_quantizer("test", model, example(kind), output_dir=folder, **options)


def cleared(model: onnx.ModelProto) -> bytes:
    model = copy.deepcopy(model)
    model.ClearField("producer_name")
    model.ClearField("producer_version")
    model.ClearField("doc_string")
    return model.SerializeToString(deterministic=True)


@pytest.mark.parametrize("kind", ALL)
def test_the_graph_in_torch_computes_what_the_module_does(kind: type) -> None:
    model = fresh(kind)
    exported = ovt.export(model, example(kind))
    graph = OnnxModule(exported.model)
    arguments = example(kind, 3)
    with torch.no_grad():
        for here, there in zip(graph(*flat(arguments)), flat(model(*arguments)), strict=True):
            assert float((here - there).abs().max()) <= 1e-5 * max(float(there.abs().max()), 1)


SLOW = {kind for kind in ALL if kind not in (ResNetS, MobileS, TwoInputs)}


@pytest.mark.parametrize("target", [None, NPU])
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind in SLOW)) for kind in ALL])
def test_the_file_is_that_of_the_onnx_flow_and_torch_computes_its_numbers(
    kind: type, target: str | None, tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # untrained networks may come out badly
        _, test = quantized(kind, tmp_path, target=target)
        exported = ovt.export(fresh(kind), example(kind))
        feeds = [dict(zip(exported.input_names, map(as_array, flat(batch)), strict=True)) for batch in batches(kind)]
        arguments = {"enable_dpu": True} if target else {}
        there = ort_vitis_plugin.quantize_static(exported.model, None, feeds, **arguments)
    written = onnx.load(test.export_onnx_model())
    onnx.checker.check_model(written)
    assert cleared(written) == cleared(there.model)
    arguments = example(kind, 3)
    with torch.no_grad():
        here = flat(test.quant_model(*arguments))
    feed = dict(zip(exported.input_names, map(as_array, flat(arguments)), strict=True))
    for result, wanted in zip(here, run(written, feed), strict=True):
        assert np.array_equal(result.numpy(), wanted)


def test_a_trained_network_keeps_its_accuracy_and_both_modes_agree_with_onnxruntime(tmp_path: Path) -> None:
    model = trained(ResNetS)
    calib = ovt.torch_quantizer("calib", model, digits().images[:2], output_dir=tmp_path)
    for batch in calibration_batches():
        assert torch.equal(calib.quant_model(batch), model(batch))
    calib.export_quant_config()
    test = ovt.torch_quantizer("test", model, digits().images[:2], output_dir=tmp_path)
    assert accuracy(test.quant_model) >= accuracy(model) - 0.5
    path = test.export_onnx_model(check_model=True)
    assert path == tmp_path / "ResNetS.onnx"
    assert (tmp_path / "ResNetS_int.onnx").read_bytes() == path.read_bytes()
    with torch.no_grad():
        here = test.quant_model(digits().unseen).numpy()
    assert np.array_equal(here, run(onnx.load(path), {"x": digits().unseen.numpy()})[0])


def test_float_scales_give_the_files_numbers_too(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    tensor = {"scale_type": "float", "symmetry": True}
    config.write_text(json.dumps({"target_device": "CPU", "overall_quantize_config": {**tensor, "method": "maxmin"}}))
    model = trained(ResNetS)
    calib = ovt.torch_quantizer("calib", model, digits().images[:2], output_dir=tmp_path, quant_config_file=config)
    for batch in calibration_batches():
        calib.quant_model(batch)
    calib.export_quant_config()
    test = ovt.torch_quantizer("test", model, digits().images[:2], output_dir=tmp_path, quant_config_file=config)
    there = run(onnx.load(test.export_onnx_model()), {"x": digits().unseen.numpy()})[0]
    with torch.no_grad():
        here = test.quant_model(digits().unseen).numpy()
    assert np.array_equal(here, there)


@pytest.mark.parametrize(("bits", "least"), [(4, 80.0), (3, 60.0)])
def test_fewer_bits_hold_for_weights_and_lie_in_bytes(bits: int, least: float, tmp_path: Path) -> None:
    model = trained(ResNetS)
    calib = ovt.torch_quantizer("calib", model, digits().images[:2], output_dir=tmp_path, bitwidth=bits)
    for batch in calibration_batches():
        calib.quant_model(batch)
    calib.export_quant_config()
    test = ovt.torch_quantizer("test", model, digits().images[:2], output_dir=tmp_path, bitwidth=bits)
    written = onnx.load(test.export_onnx_model())
    codes = [onnx.numpy_helper.to_array(t) for t in written.graph.initializer if t.name.endswith("_quantized")]
    weights = [array for array in codes if array.ndim > 1]
    assert len(weights) >= 8
    assert all(-(2 ** (bits - 1)) <= array.min() and array.max() < 2 ** (bits - 1) for array in weights)
    assert accuracy(test.quant_model) >= least


def test_quant_info_lists_positions_and_belongs_to_its_graph(tmp_path: Path) -> None:
    quantized(ResNetS, tmp_path)
    info = json.loads((tmp_path / "quant_info.json").read_text())
    assert set(info) >= {"param", "output", "input", "fast_finetuned", "bias_corrected", "version"}
    assert info["input"].keys() == {"x"}
    assert info["output"]
    assert all(entry[0][0] == 8 for entry in info["output"].values())
    other = fresh(ResNetS)
    with torch.no_grad():
        other.fc.weight += 1
    with pytest.raises(ovt.MismatchError, match=r"another graph or other weights than this ResNetS"):
        ovt.torch_quantizer("test", other, example(ResNetS), output_dir=tmp_path)
    with pytest.raises(ovt.MismatchError, match=r"calibration ran with bitwidth=8, and now it is 4"):
        ovt.torch_quantizer("test", fresh(ResNetS), example(ResNetS), output_dir=tmp_path, bitwidth=4)


def test_the_callers_module_is_never_touched(tmp_path: Path) -> None:
    model = fresh(MobileS).train()
    before = copy.deepcopy(model.state_dict())
    calib = ovt.torch_quantizer("calib", model, example(MobileS), output_dir=tmp_path)
    calib.quant_model(example(MobileS)[0])
    calib.export_quant_config()
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_a_traced_model_runs_without_this_package(tmp_path: Path) -> None:
    _, test = quantized(ResNetS, tmp_path)
    path = test.export_torch_script()
    (batch,) = example(ResNetS)
    np.save(tmp_path / "batch.npy", batch.numpy())
    script = "import sys, numpy, torch; x = torch.from_numpy(numpy.load('batch.npy')); "
    script += "numpy.save('result.npy', torch.jit.load(sys.argv[1])(x)[0].numpy())"
    subprocess.run([sys.executable, "-W", "ignore", "-c", script, str(path)], cwd=tmp_path, check=True)
    with torch.no_grad():
        assert np.array_equal(np.load(tmp_path / "result.npy"), test.quant_model(batch).numpy())


def test_the_batch_can_be_fixed_and_vitis_operators_written(tmp_path: Path) -> None:
    _, test = quantized(ResNetS, tmp_path)
    fixed = onnx.load(test.export_onnx_model(tmp_path / "fixed", dynamic_batch=False))
    assert fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 4
    vitis = onnx.load(test.export_onnx_model(tmp_path / "vitis", native_onnx=False))
    assert {node.op_type for node in vitis.graph.node} >= {"VitisQuantizeLinear", "VitisDequantizeLinear"}


def test_a_state_dict_file_is_loaded_into_a_copy(tmp_path: Path) -> None:
    torch.save(trained(ResNetS).state_dict(), tmp_path / "model.pth")
    model = fresh(ResNetS)
    calib = ovt.torch_quantizer("calib", model, digits().images[:2], tmp_path / "model.pth", tmp_path)
    batch = digits().images[:8]
    assert torch.equal(calib.quant_model(batch), trained(ResNetS)(batch))
    assert not torch.equal(model(batch), trained(ResNetS)(batch))


class Data(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x if x.sum() > 0 else {}[0]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        ({"quant_mode": "calibrate"}, ovt.StageError, "there are 'calib' and 'test'"),
        ({"quant_mode": "test"}, ovt.StageError, "run with quant_mode='calib' first"),
        ({"input_args": None}, ovt.StageError, "input_args is needed"),
        ({"input_args": (1, 2, 3)}, ovt.ExportError, "forward does not take the input_args"),
        ({"target": "DPUCZDX8G"}, ovt.ConfigError, "the known ones are AMD_AIE2_Nx4_Overlay_cfg0"),
        ({"bitwidth": 1}, ovt.ConfigError, "bitwidth=1"),
        ({"mix_bit": True}, ovt.RefusedError, "layer_quantize_config"),
        ({"lstm": True}, ovt.RefusedError, "recurrent bodies stay float"),
        ({"app_deploy": "NLP"}, ovt.RefusedError, "leave it out"),
        ({"dynamo": True}, ovt.RefusedError, 'exporter="dynamo"'),
        ({"quant_config_file": "none.json"}, ovt.ConfigError, "there is no quant_config_file none.json"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_one_line(
    call: dict[str, Any], error: type[Exception], says: str, tmp_path: Path
) -> None:
    given = {"quant_mode": "calib", "module": fresh(Block3), "input_args": digits().images[:2], **call}
    with pytest.raises(error) as caught:
        ovt.torch_quantizer(**given, output_dir=tmp_path / "empty")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ovt.TorchFrontEndError)


def Block3() -> Any:
    return Block(1, 2, 1)


def test_stages_are_named_that_are_missing(tmp_path: Path) -> None:
    calib = ovt.torch_quantizer("calib", fresh(ResNetS), example(ResNetS), output_dir=tmp_path)
    with pytest.raises(ovt.StageError, match="calibration saw no data"):
        calib.export_onnx_model()
    with pytest.raises(ovt.StageError, match="load_ft_param is for quant_mode='test'"):
        calib.load_ft_param()
    with pytest.raises(ovt.RefusedError, match="XIR"):
        calib.export_xmodel()


def test_cuda_that_is_not_there_and_wrappers_are_told_and_old_modes_deprecated(tmp_path: Path) -> None:
    if not torch.cuda.is_available():
        with pytest.warns(UserWarning, match="the CPU is used"):
            ovt.torch_quantizer("calib", fresh(ResNetS), example(ResNetS), output_dir=tmp_path, device="cuda")
    with pytest.warns(UserWarning, match="DataParallel is taken off"):
        ovt.torch_quantizer("calib", torch.nn.DataParallel(fresh(ResNetS)), example(ResNetS), output_dir=tmp_path)
    with pytest.warns(DeprecationWarning, match="write 'calib'"):
        ovt.torch_quantizer(1, fresh(ResNetS), example(ResNetS), output_dir=tmp_path)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_modules_of_other_floats_take_and_give_them(kind: Any, tmp_path: Path) -> None:
    model, x = fresh(Block3).to(kind), digits().images[:4].to(kind)
    calib = ovt.torch_quantizer("calib", model, x, output_dir=tmp_path)
    assert calib.quant_model(x).dtype is kind
    calib.export_quant_config()
    test = ovt.torch_quantizer("test", model, x, output_dir=tmp_path)
    with torch.no_grad():
        found, wanted = test.quant_model(x), model(x)
    assert found.dtype is kind
    assert float((found - wanted).abs().max()) <= 0.1 * float(wanted.abs().max())


class Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.fc = torch.nn.LSTM(8, 6, batch_first=True), torch.nn.Linear(6, 3)

    def forward(self, x: Any) -> Any:
        return self.fc(self.body(x[:, 0])[0][:, -1])


def test_what_torch_does_not_run_is_calibrated_and_written_all_the_same(tmp_path: Path) -> None:
    calib = ovt.torch_quantizer("calib", fresh(Recurrent), digits().images[:4], output_dir=tmp_path)
    calib.quant_model(digits().images[:32])
    calib.export_quant_config()
    written = onnx.load(calib.export_onnx_model())
    (body,) = [node for node in written.graph.node if node.op_type == "LSTM"]
    producers = {name: node.op_type for node in written.graph.node for name in node.output}
    assert "DequantizeLinear" not in {producers.get(name) for name in body.input[1:]}
    with pytest.raises(ovt.OperatorError, match=r"no LSTM \(node .*Calibration and export work without it"):
        ovt.torch_quantizer("test", fresh(Recurrent), digits().images[:4], output_dir=tmp_path)


def branched(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        return x * 2
    return x - 1


@functools.cache
def scripted() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.script(branched)


class Branching(Block):
    def __init__(self) -> None:
        super().__init__(1, 4, 2)

    def forward(self, x: Any) -> Any:
        return scripted()(super().forward(x))


def test_bodies_are_calibrated_and_written_where_the_script_is_exported_all_the_same(tmp_path: Path) -> None:
    """A scripted function keeps its If: the default exporters refuse what a graph cannot keep, TorchScript's can."""
    with pytest.raises(ovt.ExportError, match='exporter="torchscript" exports it all the same'):
        ovt.torch_quantizer("calib", fresh(Branching), digits().images[:4], output_dir=tmp_path)
    options: dict[str, Any] = {"output_dir": tmp_path, "exporter": "torchscript"}
    with pytest.warns(UserWarning, match="turns data of a tensor into a Python value"):
        calib = ovt.torch_quantizer("calib", fresh(Branching), digits().images[:4], **options)
    calib.quant_model(digits().images[:32])
    calib.export_quant_config()
    written = onnx.load(calib.export_onnx_model())
    assert {"If", "QuantizeLinear"} <= {node.op_type for node in written.graph.node}
    refused = pytest.raises(ovt.OperatorError, match=r"no If \(node .*torch.where. Calibration and export work without")
    with pytest.warns(UserWarning, match="turns data"), refused:
        ovt.torch_quantizer("test", fresh(Branching), digits().images[:4], **options)


def test_distributed_wrappers_are_taken_off(tmp_path: Path) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        wrapped = torch.nn.parallel.DistributedDataParallel(fresh(Block3))
        with pytest.warns(UserWarning, match="DistributedDataParallel is taken off"):
            assert ovt.export(wrapped, digits().images[:2]).name == "Block"
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_sixteen_bits_are_native_and_near_float(tmp_path: Path) -> None:
    model = trained(ResNetS)
    calib = ovt.torch_quantizer("calib", model, digits().images[:2], output_dir=tmp_path, bitwidth=16)
    for batch in calibration_batches():
        calib.quant_model(batch)
    calib.export_quant_config()
    test = ovt.torch_quantizer("test", model, digits().images[:2], output_dir=tmp_path, bitwidth=16)
    assert onnx.load(test.export_onnx_model()).opset_import[0].version == 21
    with torch.no_grad():
        here, there = test.quant_model(digits().unseen), model(digits().unseen)
    assert float((here - there).abs().max()) <= 1e-2 * float(there.abs().max())
