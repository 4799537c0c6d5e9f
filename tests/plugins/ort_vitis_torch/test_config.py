"""quant_config_file is read strictly: what the original accepts and means, and what cannot be combined."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")

import ort_vitis_torch as ovt  # noqa: E402
from ort_vitis_plugin.api import CalibrationMethod, PowerOfTwoMethod, QuantType  # noqa: E402
from ort_vitis_torch.config import configured  # noqa: E402

from .networks import digits  # noqa: E402


def read(tmp_path: Path, config: Any, target: str | None = None) -> Any:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    return configured(None, target, path)


DPU = {"method": "diffs", "scale_type": "poweroftwo", "symmetry": True, "bit_width": 8, "narrow_range": False}


def test_the_dpus_configuration_is_the_npus_target(tmp_path: Path) -> None:
    config = read(tmp_path, {"target_device": "DPU", "include_cle": True, "overall_quantize_config": DPU})
    assert config.settings.options["Target"] == "ipu_cnn"
    assert config.settings.arguments["include_cle"] is True
    assert config.settings.arguments["calibrate_method"] == PowerOfTwoMethod.MinMSE


def test_a_tensors_kind_beats_overall(tmp_path: Path) -> None:
    single = {"activation": {"method": "maxmin"}, "weights": {"bit_width": 4}}
    config = read(tmp_path, {"overall_quantize_config": DPU, "tensor_quantize_config": single})
    assert config.settings.arguments["calibrate_method"] == PowerOfTwoMethod.NonOverflow
    assert config.weight_bits == 4


def test_float_scales_and_channels(tmp_path: Path) -> None:
    overall = {"scale_type": "float", "method": "percentile", "percentage": 99.9, "symmetry": False, "signed": False}
    single = {"weights": {"per_channel": True, "method": "maxmin", "symmetry": True, "signed": True}}
    config = read(tmp_path, {"overall_quantize_config": overall, "tensor_quantize_config": single})
    arguments, options = config.settings.arguments, config.settings.options
    assert arguments["calibrate_method"] == CalibrationMethod.Percentile
    assert arguments["per_channel"] is True
    assert arguments["activation_type"] == QuantType.QUInt8
    assert options == {"ActivationSymmetric": False, "CalibPercentile": 99.9}


def test_the_file_beats_bitwidth_and_target(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"target_device": "CPU"}))
    with pytest.warns(UserWarning, match="bitwidth=4 gives way"):
        configured(4, None, path)
    with pytest.warns(UserWarning, match="target gives way to quant_config_file's target_device=CPU"):
        assert "Target" not in configured(None, "AMD_AIE2_Nx4_Overlay_cfg0", path).settings.options


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"include_cles": True}, "unknown key 'include_cles'"),
        ({"target_device": "TPU"}, "allowed are 'DPU', 'CPU', 'GPU', 'FLEXML'"),
        ({"include_cle": 1}, r"include_cle=1: allowed are True, False"),
        ({"overall_quantize_config": {"bit_widht": 8}}, "unknown key 'bit_widht'"),
        ({"overall_quantize_config": {"method": "kl"}}, "method='kl': allowed are 'maxmin'"),
        ({"overall_quantize_config": {"percentage": 0}}, "percentage=0"),
        ({"overall_quantize_config": {"bit_width": 33}}, "bit_width=33: allowed are 0 to 32"),
        ({"overall_quantize_config": {"datatype": "bfloat16"}}, "datatype='bfloat16'"),
        ({"overall_quantize_config": {"method": "entropy"}}, "method='entropy' with scale_type='poweroftwo'"),
        ({"overall_quantize_config": {"symmetry": False}}, "powers of two are symmetric"),
        ({"overall_quantize_config": {"narrow_range": True}}, "narrow_range=true"),
        ({"overall_quantize_config": {"per_channel": True}}, "only weights have a scale for each channel"),
        ({"overall_quantize_config": {"scale_type": "float", "method": "diffs"}}, "method='diffs' with scale_type"),
        ({"tensor_quantize_config": {"activation": {"bit_width": 4}}}, "activations of 8 or 16 bits"),
        ({"tensor_quantize_config": {"activation": {"round_mode": "std_round"}}}, "round_mode='std_round'"),
        ({"tensor_quantize_config": {"weights": {"scale_type": "float", "method": "maxmin"}}}, "one kind of scale"),
        ({"target_device": "DPU", "overall_quantize_config": {"scale_type": "float", "method": "maxmin"}}, "can only"),
        (
            {"target_device": "DPU", "tensor_quantize_config": {"weights": {"per_channel": True}}},
            "per_channel=true with target_device DPU: the NPU can only shift",
        ),
        ({"target_device": "FLEXML", "overall_quantize_config": {"symmetry": False}}, "powers of two are symmetric"),
        ({"layer_quantize_config": [{"layer_type": "Conv", "layer_name": "a"}]}, "either layer_type or layer_name"),
        ({"layer_quantize_config": [{"layer_type": "Conv", "overall_quantize_config": {"bit_width": 4}}]}, "8 or 16"),
        ({"convert_silu_to_hswish": True}, "use Hardswish"),
        ({"keep_add_layer_accuracy": True}, "never did anything"),
        ([], "holds a list"),
    ],
)
def test_what_cannot_be_is_refused_by_key_value_and_what_is_allowed(config: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(ovt.ConfigError, match=says):
        read(tmp_path, config)


def test_a_layer_may_have_wide_types_of_its_own(tmp_path: Path) -> None:
    layer = {"layer_name": "1", "overall_quantize_config": {"bit_width": 16}}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"onnx_opset_version": 21, "layer_quantize_config": [layer]}))
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 16), torch.nn.Linear(16, 10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calib = ovt.torch_quantizer("calib", model, digits().images[:2], output_dir=tmp_path, quant_config_file=path)
        calib.quant_model(digits().images[:32])
        info = json.loads(calib.export_quant_config().read_text())
    bits = {name: entry[0][0] for name, entry in info["param"].items()}
    assert bits["1.weight"] == 16
    assert bits["2.weight"] == 8
