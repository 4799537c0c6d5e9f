"""Who typed flags reads of flags: messages that name arguments of Python are told as they were typed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re

FLAGS = {
    "enable_dpu=True": "--preset ipu_cnn",
    "quant_format": "--format",
    "calibrate_method": "--method",
    "activation_type": "--activation-type",
    "weight_type": "--weight-type",
    "op_types_to_quantize": "--op-types",
    "nodes_to_quantize": "--nodes",
    "nodes_to_exclude": "--exclude",
    "input_nodes": "--input-nodes",
    "output_nodes": "--output-nodes",
    "per_channel": "--per-channel",
    "reduce_range": "--reduce-range",
    "include_cle": "--cle",
    "convert_fp16_to_fp32": "--fp16-to-fp32",
    "convert_nchw_to_nhwc": "--nchw-to-nhwc",
    "use_external_data_format": "--external-data",
    "optimize_model": "--no-optimize",
    "calibration_data_reader": "--data",
    "FixShapes: the model's inputs have no open dimension": "--fix-dim: the model's inputs have no open dimension",
    "FixShapes": "--fix-shape",
    "dump_float": "--float",
    "transform returns": "--preprocess returns",
}
_ARGUMENT = re.compile(rf"(?<![\w\-])({'|'.join(map(re.escape, FLAGS))})(?!\w)(=True|=False)?")
_OPTION = re.compile(r"extra_options=\{['\"](\w+)['\"]: ([^}]+)\}")


def as_typed(text: str) -> str:
    """The message with flags in place of quantize_static's arguments."""
    text = _OPTION.sub(r"--option \1=\2", text)
    return _ARGUMENT.sub(lambda found: FLAGS[found[1]], text)
