"""Every argument of the manual beyond onnxruntime's own is an option too, and is checked like one."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect

import pytest

from ort_vitis_plugin.entry.quantize_static import quantize_static
from ort_vitis_plugin.errors import OptionError
from ort_vitis_plugin.options.host_options import CallOptions
from ort_vitis_plugin.plugin.catalog import shared_catalog

ARGUMENTS = {
    "enable_dpu": "EnableDPU",
    "input_nodes": "InputNodes",
    "output_nodes": "OutputNodes",
    "include_cle": "IncludeCLE",
    "convert_fp16_to_fp32": "ConvertFP16ToFP32",
    "convert_nchw_to_nhwc": "ConvertNCHWToNHWC",
    "execution_providers": "ExecutionProviders",
    "optimize_model": "OptimizeModel",
    "random_data_reader_input_shape": "RandomDataReaderInputShape",
}


def test_arguments_are_options_of_the_same_default() -> None:
    declared = {each.key: each for each in CallOptions.options()}
    parameters = inspect.signature(quantize_static).parameters
    for argument, key in ARGUMENTS.items():
        assert key in declared
        default = parameters[argument].default
        if argument == "execution_providers":
            assert "default: CPU" in declared[key].doc
            continue
        assert (default or None) == (declared[key].default or None), argument


def test_each_says_what_it_is_for() -> None:
    for each in CallOptions.options():
        assert each.doc.endswith((".", ")"))
        assert shared_catalog().options[each.key].type == each.type


@pytest.mark.parametrize(("key", "value"), [("EnableDPU", "yes"), ("FixShapes", [1]), ("InputNodes", "conv")])
def test_a_value_of_another_type_is_refused(key: str, value: object) -> None:
    with pytest.raises(OptionError, match=f"option {key} takes"):
        shared_catalog().options[key].validate(value)
