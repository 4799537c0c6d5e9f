"""The custom ops: their compiled library, their meaning in numpy, and what lets a model run without the library."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.lazy import lazily

if TYPE_CHECKING:
    from ort_vitis_plugin.custom_ops.domains import CONTRIB_DOMAIN, QUARK_DOMAIN, VAI_DOMAIN, imports_ours
    from ort_vitis_plugin.custom_ops.functions import add_functions, model_functions
    from ort_vitis_plugin.custom_ops.library import find_library, get_library_path, register
    from ort_vitis_plugin.custom_ops.numpy_reference import (
        STORAGE_DTYPES,
        dequantize_linear,
        fix_neuron,
        quantize_linear,
    )
    from ort_vitis_plugin.custom_ops.op_usage import bit_width_of
    from ort_vitis_plugin.custom_ops.schemas import reference_ops, register_schemas

_HOMES = {
    "CONTRIB_DOMAIN": "domains",
    "QUARK_DOMAIN": "domains",
    "STORAGE_DTYPES": "numpy_reference",
    "VAI_DOMAIN": "domains",
    "add_functions": "functions",
    "bit_width_of": "op_usage",
    "dequantize_linear": "numpy_reference",
    "find_library": "library",
    "fix_neuron": "numpy_reference",
    "imports_ours": "domains",
    "get_library_path": "library",
    "model_functions": "functions",
    "quantize_linear": "numpy_reference",
    "reference_ops": "schemas",
    "register": "library",
    "register_schemas": "schemas",
}

__all__ = [
    "CONTRIB_DOMAIN",
    "QUARK_DOMAIN",
    "STORAGE_DTYPES",
    "VAI_DOMAIN",
    "add_functions",
    "bit_width_of",
    "dequantize_linear",
    "find_library",
    "fix_neuron",
    "get_library_path",
    "imports_ours",
    "model_functions",
    "quantize_linear",
    "reference_ops",
    "register",
    "register_schemas",
]


__getattr__ = lazily(__name__, _HOMES)
