"""Training lifts few-bit networks to float's accuracy, and what trained is what is written, to the bit."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import copy
import importlib.util
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")

from torch import nn  # noqa: E402

import ort_vitis_torch as ovt  # noqa: E402
from ort_vitis_torch.conv_bn import ConvBN, pairs  # noqa: E402
from ort_vitis_torch.host_calls import run  # noqa: E402

from .networks import MobileS, ResNetM, ResNetS, accuracy, calibration_batches, digits, fit, trained  # noqa: E402


def groups(model: Any, rate: float = 1e-3) -> list[dict[str, Any]]:
    thresholds, others = list(model.quantizer_parameters()), list(model.non_quantizer_parameters())
    return [{"params": thresholds, "lr": 1e-2}, {"params": others, "lr": rate}]


def after_training(network: Any, folder: Path, bits: int) -> float:
    """What post-training quantization leaves of a network's accuracy."""
    calib = ovt.torch_quantizer("calib", network, digits().images[:2], output_dir=folder, bitwidth=bits)
    for batch in calibration_batches():
        calib.quant_model(batch)
    calib.export_quant_config()
    test = ovt.torch_quantizer("test", network, digits().images[:2], output_dir=folder, bitwidth=bits)
    return accuracy(test.quant_model)


def deployed(processor: Any, model: Any, folder: Path) -> tuple[Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        deployable = processor.to_deployable(model.eval(), folder)
    return deployable, onnx.load(processor.export_onnx_model())


def assert_same(model: Any, deployable: Any, written: Any) -> None:
    unseen = digits().unseen
    with torch.no_grad():
        there = deployable(unseen)
        assert torch.equal(model(unseen), there)
    assert np.array_equal(there.numpy(), run(written, {"x": unseen.numpy()})[0])


@pytest.mark.slow
def test_three_bits_come_back_in_two_epochs_and_are_written_as_they_trained(tmp_path: Path) -> None:
    network = trained(ResNetM)
    assert after_training(network, tmp_path / "ptq", bits=3) <= 88
    processor = ovt.QatProcessor(network, digits().images[:4], bitwidth=3)
    model = processor.trainable_model()
    model.eval()
    model(digits().images[:256])
    assert accuracy(model) <= 88
    assert len(model.pairs) == 12
    fit(model, 2, groups(model, rate=2e-3))
    assert accuracy(model) >= 94.5
    deployable, written = deployed(processor, model, tmp_path)
    assert_same(model, deployable, written)
    again = processor.deployable_model(tmp_path)
    assert torch.equal(again(digits().unseen), deployable(digits().unseen))


@pytest.mark.slow
@pytest.mark.parametrize(("bits", "target"), [(4, None), (8, None), (8, "AMD_AIE2_Nx4_Overlay_cfg0")])
def test_depthwise_networks_with_relu6_are_written_as_they_trained(
    bits: int, target: str | None, tmp_path: Path
) -> None:
    processor = ovt.QatProcessor(trained(MobileS), digits().images[:4], bitwidth=bits, target=target)
    model = processor.trainable_model()
    fit(model, 1, groups(model))
    deployable, written = deployed(processor, model, tmp_path)
    assert accuracy(deployable) >= accuracy(model) - 0.3
    if not processor.report.violations:
        assert_same(model, deployable, written)


def test_every_parameter_learns_and_thresholds_can_be_frozen() -> None:
    processor = ovt.QatProcessor(trained(ResNetS), digits().images[:4])
    model = processor.trainable_model()
    model(digits().images[:32]).square().mean().backward()
    names = {name for name, parameter in model.named_parameters() if parameter.grad is None}
    assert names <= {name for name, _ in model.named_parameters() if name.endswith("bias")}
    model.zero_grad(set_to_none=True)
    model.freeze_quant()
    model(digits().images[:32]).square().mean().backward()
    assert all(parameter.grad is None for parameter in model.quantizer_parameters())


def test_float_comes_back_where_quantizers_are_off() -> None:
    processor = ovt.QatProcessor(trained(MobileS), digits().images[:4])
    model = processor.trainable_model().eval()
    model.disable_quant()
    unseen = digits().unseen
    with torch.no_grad():
        assert float((model(unseen) - trained(MobileS)(unseen)).abs().max()) <= 1e-4
        model.enable_quant()
        assert float((model(unseen) - trained(MobileS)(unseen)).abs().max()) > 1e-4


def test_a_state_dict_brings_a_trained_model_back() -> None:
    processor = ovt.QatProcessor(trained(ResNetS), digits().images[:4], bitwidth=4)
    model = processor.trainable_model()
    fit(model, 1, groups(model))
    other = processor.trainable_model()
    other.load_state_dict(copy.deepcopy(model.state_dict()))
    assert torch.equal(other.eval()(digits().unseen), model(digits().unseen))


def test_training_may_start_at_calibrated_positions(tmp_path: Path) -> None:
    calib = ovt.torch_quantizer("calib", trained(ResNetS), digits().images[:4], output_dir=tmp_path)
    for batch in calibration_batches():
        calib.quant_model(batch)
    calib.export_quant_config()
    test = ovt.torch_quantizer("test", trained(ResNetS), digits().images[:4], output_dir=tmp_path)
    model = ovt.QatProcessor(trained(ResNetS), digits().images[:4]).trainable_model(tmp_path).eval()
    with torch.no_grad():
        assert torch.equal(model(digits().unseen), test.quant_model(digits().unseen))


def test_a_calibrated_file_that_was_changed_since_is_refused(tmp_path: Path) -> None:
    calib = ovt.torch_quantizer("calib", trained(ResNetS), digits().images[:4], output_dir=tmp_path)
    calib.quant_model(digits().images[:32])
    calib.export_quant_config()
    processor = ovt.QatProcessor(trained(ResNetS), digits().images[:4])
    processor.trainable_model(tmp_path)
    path = tmp_path / "ResNetS.onnx"
    changed = onnx.load(path)
    changed.graph.initializer[0].name += "_other"
    onnx.save(changed, path)
    with pytest.raises(ovt.MismatchError, match=r"ResNetS\.onnx, which calibration wrote .*, was changed"):
        processor.trainable_model(tmp_path)
    path.unlink()
    with pytest.raises(ovt.MismatchError, match="is not there; calibrate again"):
        processor.trainable_model(tmp_path)


def test_norms_that_were_never_trained_train_too() -> None:
    fresh = nn.Sequential(*(part for _ in range(2) for part in (nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2), nn.ReLU())))
    model = ovt.QatProcessor(fresh, torch.randn(8, 2, 6, 6)).trainable_model()
    assert len(model.pairs) == 2
    before = model.pairs[1].running_mean.clone()
    model(torch.randn(8, 2, 6, 6))
    assert not torch.equal(model.pairs[1].running_mean, before)


def test_norms_without_factors_follow_their_batches_and_learn_none(tmp_path: Path) -> None:
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4, affine=False), nn.ReLU(), nn.Conv2d(4, 2, 1))
    processor = ovt.QatProcessor(plain, digits().images[:8])
    model = processor.trainable_model()
    (pair,) = model.pairs
    before = pair.running_mean.clone()
    model(digits().images[:64]).square().mean().backward()
    assert not torch.equal(pair.running_mean, before)
    assert pair.weight.grad is not None
    assert pair.gamma.grad is None
    assert pair.gamma.tolist() == [1] * 4
    deployable, _ = deployed(processor, model, tmp_path)
    with torch.no_grad():
        assert torch.equal(model(digits().unseen), deployable(digits().unseen))


@pytest.mark.skipif(
    importlib.util.find_spec("onnxscript") is None,
    reason="only the dynamo exporter, with onnxscript, writes such norms",
)
@pytest.mark.skipif(
    torch.__version__.startswith("2.5"), reason="no exporter of torch 2.5 writes BatchNorm2d without statistics"
)
def test_norms_that_keep_no_statistics_train(tmp_path: Path) -> None:
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(4, track_running_stats=False)
    processor = ovt.QatProcessor(nn.Sequential(nn.Conv2d(1, 4, 3), norm, nn.ReLU()), digits().images[:8])
    model = processor.trainable_model()
    model(digits().images[:64]).square().mean().backward()
    assert all(p.grad is not None for p in model.non_quantizer_parameters() if p.requires_grad)


@pytest.mark.parametrize("momentum", [0.1, 0.3])
def test_a_convolution_with_its_norm_trains_like_the_two(momentum: float) -> None:
    torch.manual_seed(0)
    two = nn.Sequential(nn.Conv2d(2, 4, 3, bias=True), nn.BatchNorm2d(4, momentum=momentum))
    with torch.no_grad():
        two[1].weight.uniform_(-2, 2)
        two[1].bias.uniform_(-1, 1)
        two(torch.randn(8, 2, 8, 8))
    x = torch.randn(16, 2, 6, 6)
    kept = ovt.export(two, x, exporter="torchscript", keep_batch_norm=True)
    (pair,) = pairs(kept.model).values()
    one = ConvBN(pair, lambda x, w, b=None: nn.functional.conv2d(x, w, b)).train()
    two.train()
    here, there = one(x, one.folded_weight(), one.folded_bias()), two(x)
    assert torch.allclose(here, there, rtol=1e-4, atol=1e-5)
    assert torch.allclose(one.running_mean, two[1].running_mean, rtol=1e-5, atol=1e-6)
    assert torch.allclose(one.running_var, two[1].running_var, rtol=1e-5, atol=1e-6)
    here.square().sum().backward()
    there.square().sum().backward()
    assert torch.allclose(one.beta.grad, two[1].bias.grad, rtol=1e-3, atol=1e-3)
    one.eval()
    two.eval()
    assert torch.allclose(one(x, one.folded_weight(), one.folded_bias()), two(x), rtol=1e-5, atol=1e-5)


class Reused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = nn.Conv2d(1, 1, 3, padding=1), nn.Linear(64, 10)

    def forward(self, x: Any) -> Any:
        return self.fc(self.conv(torch.relu(self.conv(x))).flatten(1) + 1)


def test_reused_modules_share_one_set_of_weights_and_are_named_when_unwanted(tmp_path: Path) -> None:
    torch.manual_seed(0)
    processor = ovt.QatProcessor(Reused(), digits().images[:4])
    with pytest.raises(ovt.RefusedError, match="conv is called more than once"):
        processor.trainable_model(allow_reused_module=False)
    model = processor.trainable_model()
    fit(model, 1, groups(model))
    assert_same(model, *deployed(processor, model, tmp_path))


def test_stages_that_are_missing_are_named(tmp_path: Path) -> None:
    processor = ovt.QatProcessor(trained(ResNetS), digits().images[:4])
    with pytest.raises(ovt.StageError, match="call to_deployable"):
        processor.export_onnx_model()
    with pytest.raises(ovt.StageError, match=r"call to_deployable\(trained_model"):
        processor.deployable_model(tmp_path)
    with pytest.raises(ovt.StageError, match="what trainable_model"):
        processor.to_deployable(trained(ResNetS), tmp_path)
    with pytest.raises(ovt.RefusedError, match="mix_bit=True: give layers their bits in quant_config_file"):
        ovt.QatProcessor(trained(ResNetS), digits().images[:4], mix_bit=True)
    with pytest.raises(ovt.RefusedError, match="XIR"):
        processor.deployable_model(tmp_path, used_for_xmodel=True)


@pytest.mark.slow
def test_float_scales_by_channel_stay_and_weights_train_around_them(tmp_path: Path) -> None:
    overall = {"scale_type": "float", "method": "percentile", "percentage": 99.99, "symmetry": False, "signed": False}
    weights = {"per_channel": True, "method": "maxmin", "symmetry": True, "signed": True}
    config = {"overall_quantize_config": overall, "tensor_quantize_config": {"weights": weights}}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    processor = ovt.QatProcessor(trained(ResNetS), digits().images[:64], quant_config_file=path)
    model = processor.trainable_model()
    assert not list(model.quantizer_parameters())
    fit(model, 1, rate=1e-4)
    deployable, _ = deployed(processor, model, tmp_path)
    with torch.no_grad():
        assert torch.equal(model(digits().unseen), deployable(digits().unseen))
