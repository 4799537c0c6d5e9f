"""Fine-tuning lifts what rounding broke, is never worse on what it did not see, and gives the same file twice."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import onnx
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")

import ort_vitis_plugin  # noqa: E402
import ort_vitis_torch as ovt  # noqa: E402
from ort_vitis_torch.finetune import _equalized  # noqa: E402
from ort_vitis_torch.host_calls import Settings  # noqa: E402

from .networks import MobileS, ResNetS, accuracy, digits, trained  # noqa: E402


def evaluate(model: Any, batches: Any) -> None:
    for batch in batches:
        model(batch)


def tuned(
    model: Any, folder: Path, bits: int | None, images: int = 512, quant_config_file: Any = None, **options: Any
) -> tuple[float, float]:
    """Accuracy before and after."""
    found = []
    given = {"output_dir": folder, "bitwidth": bits, "quant_config_file": quant_config_file}
    for tunes in (False, True):
        calib = ovt.torch_quantizer("calib", model, digits().images[:4], **given)
        loader = digits().images[:images].split(64)
        if tunes:
            calib.fast_finetune(evaluate, (calib.quant_model, loader), **options)
        else:
            evaluate(calib.quant_model, loader)
        calib.export_quant_config()
        test = ovt.torch_quantizer("test", model, digits().images[:4], **given)
        if tunes:
            test.load_ft_param()
        else:
            with pytest.raises(ovt.StageError, match="no fine-tuned weights"):
                test.load_ft_param()
        found.append(accuracy(test.quant_model))
    return found[0], found[1]


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "iterations"), [("adaquant", 100), ("adaround", 200)])
def test_three_bits_come_back_without_labels(algorithm: str, iterations: int, tmp_path: Path) -> None:
    before, after = tuned(trained(ResNetS), tmp_path, 3, algorithm=algorithm, iterations=iterations)
    assert before <= 93
    assert after >= 95


def skewed(model: Any, octaves: float) -> Any:
    """The same function with channels of very different ranges: what one channel gains, the next layer takes back."""
    model = copy.deepcopy(model)
    stem, blocks = model.features[:3], list(model.features)[3:]
    stem[2] = torch.nn.ReLU()
    pairs = [(stem[1], blocks[0][0])]
    for block, following in zip(blocks, [*[each[0] for each in blocks[1:]], model.fc], strict=True):
        block[2], block[5] = torch.nn.ReLU(), torch.nn.ReLU()
        pairs += [(block[1], block[3]), (block[4], following)]
    model.features[2] = stem[2]
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for norm, following in pairs:
            factor = torch.exp2((torch.rand(norm.num_features, generator=generator) * 2 - 1) * octaves)
            norm.weight.div_(factor)
            norm.bias.div_(factor)
            weight = following.weight
            axis = 0 if getattr(following, "groups", 1) > 1 else 1
            weight.mul_(factor.reshape([-1 if at == axis else 1 for at in range(weight.ndim)]))
    return model.eval()


@pytest.mark.slow
def test_a_channel_imbalanced_network_comes_back(tmp_path: Path) -> None:
    model = skewed(trained(MobileS, 10), 3.5)
    assert accuracy(model) >= 94
    before, after = tuned(model, tmp_path, 8, iterations=50)
    assert before <= 60
    assert after >= 93


def test_channels_are_made_alike_where_that_is_nearer_or_asked_for(tmp_path: Path) -> None:
    feeds = [{"x": batch.numpy()} for batch in digits().images[:64].split(16)]
    plain = Settings()
    for octaves, expected in ((0, False), (4, True)):
        model = ovt.export(skewed(trained(MobileS, 10), octaves), digits().images[:4]).model
        chosen = _equalized(model, feeds, plain, ovt.FinetuneOptions(), 8)
        if octaves:
            assert chosen.arguments == {"include_cle": expected}
        assert _equalized(model, feeds, plain, ovt.FinetuneOptions(equalize=False), 8) is plain
        given = _equalized(model, feeds, plain, ovt.FinetuneOptions(equalize=True), 8)
        assert given.arguments == {"include_cle": True}


def test_a_few_steps_move_weights_alone_and_give_the_same_file_twice(tmp_path: Path) -> None:
    files = []
    for run in ("first", "second"):
        tuned(trained(ResNetS), tmp_path / run, 4, images=128, iterations=20)
        files.append((tmp_path / run / "ResNetS.onnx").read_bytes())
    assert files[0] == files[1]
    model = onnx.load_from_string(files[0])
    calib = ovt.torch_quantizer("calib", trained(ResNetS), digits().images[:4], output_dir=tmp_path, bitwidth=4)
    evaluate(calib.quant_model, digits().images[:128].split(64))
    plain = onnx.load(calib.export_onnx_model())
    here, there = ({t.name: t for t in each.graph.initializer} for each in (model, plain))
    changed = {name for name in here if here[name] != there[name]}
    assert any(name.endswith("_quantized") for name in changed)
    codes = [onnx.numpy_helper.to_array(t) for name, t in here.items() if name.endswith("_quantized")]
    assert all(-8 <= array.min() <= array.max() < 8 for array in codes if array.ndim > 1)


@pytest.mark.parametrize("algorithm", ["adaquant", "hessian"])
def test_the_file_is_that_of_the_onnx_flow(algorithm: Any, tmp_path: Path) -> None:
    chosen = ovt.FinetuneOptions(algorithm, iterations=5, equalize=False)
    calib = ovt.torch_quantizer("calib", trained(ResNetS), digits().images[:4], output_dir=tmp_path)
    batches = digits().images[:128].split(16)
    calib.fast_finetune(evaluate, (calib.quant_model, batches), algorithm=algorithm, iterations=5, equalize=False)
    exported = ovt.export(trained(ResNetS), digits().images[:4])
    asked = {"FastFinetune": chosen.as_option()}
    feeds = [{"x": batch.numpy()} for batch in batches]
    there = ort_vitis_plugin.quantize_static(exported.model, None, feeds, extra_options=asked)
    written = onnx.load(calib.export_onnx_model())
    assert written.SerializeToString(deterministic=True) == there.model.SerializeToString(deterministic=True)


def test_samples_that_move_layers_are_left_whatever_share_judges(tmp_path: Path) -> None:
    calib = ovt.torch_quantizer("calib", trained(ResNetS), digits().images[:4], output_dir=tmp_path)
    calib.fast_finetune(
        evaluate, (calib.quant_model, digits().images[:8].split(4)), held_out=0.9, iterations=1, batch_size=4
    )


def test_in_test_mode_it_does_nothing_and_says_so(tmp_path: Path) -> None:
    calib = ovt.torch_quantizer("calib", trained(ResNetS), digits().images[:4], output_dir=tmp_path)
    calib.quant_model(digits().images[:64])
    calib.export_quant_config()
    test = ovt.torch_quantizer("test", trained(ResNetS), digits().images[:4], output_dir=tmp_path)
    with pytest.warns(UserWarning, match=r"call load_ft_param\(\)"):
        test.fast_finetune(evaluate, (test.quant_model, []))
    with pytest.raises(ovt.ConfigError, match="there are 'adaquant', 'adaround', 'hessian'"):
        ovt.FinetuneOptions(algorithm="sgd")  # type: ignore[arg-type]
