"""Every call of the manuals of vai_q_onnx and Quark that is valid Python runs as printed, on a bundled model.

Not run, because they are no valid Python or call for torch: the parameter listings of ``quant_pre_process`` (annotated
parameters inside a call) and the two ``torch.onnx.export`` calls.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import onnx
import pytest
from onnxruntime.quantization import QuantFormat, QuantType

import ort_vitis_plugin as vai_q_onnx
from tests.models import networks

if TYPE_CHECKING:
    from pathlib import Path

# As printed, the import of the package aside (it stands at the top of this file).
BLOCKS = {
    "overview: all arguments": """
vai_q_onnx.quantize_static(
 model_input,
 model_output,
 calibration_data_reader,
 quant_format=vai_q_onnx.QuantFormat.QDQ,
 calibrate_method=vai_q_onnx.PowerOfTwoMethod.MinMSE,
 input_nodes=[],
 output_nodes=[],
 op_types_to_quantize=[],
 random_data_reader_input_shape=[],
 per_channel=False,
 reduce_range=False,
 activation_type=vai_q_onnx.QuantType.QInt8,
 weight_type=vai_q_onnx.QuantType.QInt8,
 nodes_to_quantize=None,
 nodes_to_exclude=None,
 optimize_model=True,
 use_external_data_format=False,
 execution_providers=['CPUExecutionProvider'],
 enable_dpu=False,
 convert_fp16_to_fp32=False,
 convert_nchw_to_nhwc=False,
 inclue_cle=False,
 extra_options={},)
""",
    "CNNs on NPU": """
vai_q_onnx.quantize_static(
   model_input,
   model_output,
   calibration_data_reader,
   quant_format=vai_q_onnx.QuantFormat.QDQ,
   calibrate_method=vai_q_onnx.PowerOfTwoMethod.MinMSE,
   activation_type=vai_q_onnx.QuantType.QUInt8,
   weight_type=vai_q_onnx.QuantType.QInt8,
   enable_dpu=True,
   extra_options={'ActivationSymmetric':True}
)
""",
    "CNNs on NPU with LeakyRelu": """
extra_options={"ActivationSymmetric":True, 'RemoveQDQConvLeakyRelu':True, 'RemoveQDQConvPRelu':True}
vai_q_onnx.quantize_static(
   model_input,
   model_output,
   calibration_data_reader,
   quant_format=vai_q_onnx.QuantFormat.QDQ,
   calibrate_method=vai_q_onnx.PowerOfTwoMethod.MinMSE,
   activation_type=vai_q_onnx.QuantType.QUInt8,
   weight_type=vai_q_onnx.QuantType.QInt8,
   enable_dpu=True,
   extra_options=extra_options
)
""",
    "transformers on NPU": """
vai_q_onnx.quantize_static(
   model_input,
   model_output,
   calibration_data_reader,
   quant_format=vai_q_onnx.QuantFormat.QDQ,
   calibrate_method=vai_q_onnx.CalibrationMethod.MinMax,
   activation_type=vai_q_onnx.QuantType.QInt8,
   weight_type=vai_q_onnx.QuantType.QInt8,
)
""",
    "CNNs on CPU": """
vai_q_onnx.quantize_static(
   model_input,
   model_output,
   calibration_data_reader,
   quant_format=vai_q_onnx.QuantFormat.QDQ,
   calibrate_method=vai_q_onnx.CalibrationMethod.MinMax,
   activation_type=vai_q_onnx.QuantType.QUInt8,
   weight_type=vai_q_onnx.QuantType.QInt8
)
""",
    "int16": """
vai_q_onnx.quantize_static(
   model_input,
   model_output,
   calibration_data_reader,
   calibrate_method=vai_q_onnx.PowerOfTwoMethod.MinMSE,
   quant_format=vai_q_onnx.VitisQuantFormat.QDQ,
   activation_type=vai_q_onnx.VitisQuantType.QInt16,
   weight_type=vai_q_onnx.VitisQuantType.QInt16,
)
""",
    "float16": """
vai_q_onnx.quantize_static(
   model_input,
   model_output,
   calibration_data_reader,
   calibrate_method=vai_q_onnx.PowerOfTwoMethod.MinMSE,
   quant_format=vai_q_onnx.VitisQuantFormat.QDQ,
   activation_type=vai_q_onnx.VitisQuantType.QFloat16,
   weight_type=vai_q_onnx.VitisQuantType.QFloat16,
)
""",
    "mixed": """
vai_q_onnx.quantize_static(
   model_input,
   model_output,
   calibration_data_reader,
   calibrate_method=vai_q_onnx.PowerOfTwoMethod.MinMSE,
   quant_format=vai_q_onnx.VitisQuantFormat.QDQ,
   activation_type=vai_q_onnx.VitisQuantType.QInt16,
   weight_type=QuantType.QInt8,
)
""",
    "float16 models": """
vai_q_onnx.quantize_static(
   model_input,
   model_output,
   calibration_data_reader,
   quant_format=QuantFormat.QDQ,
   calibrate_method=vai_q_onnx.PowerOfTwoMethod.MinMSE,
   activation_type=QuantType.QUInt8,
   weight_type=QuantType.QInt8,
   enable_dpu=True,
   convert_fp16_to_fp32=True,
   extra_options={'ActivationSymmetric':True}
)
""",
    "NHWC": """
vai_q_onnx.quantize_static(
   model_input,
   model_output,
   calibration_data_reader,
   quant_format=QuantFormat.QDQ,
   calibrate_method=vai_q_onnx.PowerOfTwoMethod.MinMSE,
   activation_type=QuantType.QUInt8,
   weight_type=QuantType.QInt8,
   enable_dpu=True,
   extra_options={'ActivationSymmetric':True},
   convert_nchw_to_nhwc=True,
)
""",
    "CLE": """
vai_q_onnx.quantize_static(
   model_input,
   model_output,
   calibration_data_reader,
   quant_format=QuantFormat.QDQ,
   calibrate_method=vai_q_onnx.PowerOfTwoMethod.MinMSE,
   activation_type=QuantType.QUInt8,
   weight_type=QuantType.QInt8,
   enable_dpu=True,
   include_cle=True,
   extra_options={
      'ActivationSymmetric':True,
      'ReplaceClip6Relu': True,
      'CLESteps': 1,
      'CLEScaleAppendBias': True,
      },
)
""",
    "tutorial: FixNeuron": """
vai_q_onnx.quantize_static(
    model_input,
    model_output,
    calibration_data_reader,
    quant_format=vai_q_onnx.VitisQuantFormat.FixNeuron,
    calibrate_method=vai_q_onnx.PowerOfTwoMethod.MinMSE)
""",
    "tutorial: all arguments": """

vai_q_onnx.quantize_static(
    model_input,
    model_output,
    calibration_data_reader,
    quant_format=vai_q_onnx.VitisQuantFormat.FixNeuron,
    calibrate_method=vai_q_onnx.PowerOfTwoMethod.MinMSE,
    input_nodes=[],
    output_nodes=[],
    extra_options=None,)
""",
}
EVALUATE = """
import onnxruntime as ort

so = ort.SessionOptions()
so.register_custom_ops_library(quark.onnx.get_library_path())
session = ort.InferenceSession(quantized_model, so)
"""
DUMP = """
# This function dumps the simulation results of the quantized model,
# including weights and activation results.
quark.onnx.dump_model(
    model,
    dump_data_reader=None,
    random_data_reader_input_shape={},
    dump_float=False,
    output_dir='./dump_results',)
"""


@pytest.mark.parametrize("name", BLOCKS)
def test_call_runs_as_printed(name: str, tmp_path: Path) -> None:
    scope: dict[str, Any] = {
        "vai_q_onnx": vai_q_onnx,
        "QuantFormat": QuantFormat,
        "QuantType": QuantType,
        "model_input": str(networks.network("digits")),
        "model_output": str(tmp_path / "quantized.onnx"),
        "calibration_data_reader": networks.reader("digits", 4),
    }
    exec(BLOCKS[name], scope)
    onnx.checker.check_model(scope["model_output"], full_check=True)


def test_evaluating_and_dumping_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {
        "vai_q_onnx": vai_q_onnx,
        "model_input": str(networks.network("digits")),
        "model_output": "quantized.onnx",
        "calibration_data_reader": networks.reader("digits", 4),
        "quark": SimpleNamespace(onnx=vai_q_onnx),
        "quantized_model": "quantized.onnx",
        "model": "quantized.onnx",
    }
    exec(BLOCKS["tutorial: FixNeuron"], scope)
    exec(DUMP, scope)
    assert (tmp_path / "dump_results" / "image_DequantizeLinear_Output.bin").is_file()
    from ort_vitis_plugin.custom_ops import find_library

    if find_library() is None:
        pytest.skip("the custom-op library is not built")
    exec(EVALUATE, scope)
    assert scope["session"].run(None, networks.digits("digits", 1, 1).evaluation[0])[0].shape == (1, 10)
