"""The custom ops: their compiled library, their meaning in numpy, and what lets a model run without the library."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.lazy import lazily

if TYPE_CHECKING:
    from ort_vitis_plugin.custom_ops.functions import add_functions, model_functions
    from ort_vitis_plugin.custom_ops.library import find_library, get_library_path, register
    from ort_vitis_plugin.custom_ops.names import CONTRIB_DOMAIN, QUARK_DOMAIN, VAI_DOMAIN
    from ort_vitis_plugin.custom_ops.reference import STORAGE_DTYPES, dequantize_linear, fix_neuron, quantize_linear
    from ort_vitis_plugin.custom_ops.schemas import reference_ops, register_schemas
    from ort_vitis_plugin.custom_ops.use import bit_width_of

_HOMES = {
    "CONTRIB_DOMAIN": "names",
    "QUARK_DOMAIN": "names",
    "STORAGE_DTYPES": "reference",
    "VAI_DOMAIN": "names",
    "add_functions": "functions",
    "bit_width_of": "use",
    "dequantize_linear": "reference",
    "find_library": "library",
    "fix_neuron": "reference",
    "get_library_path": "library",
    "model_functions": "functions",
    "quantize_linear": "reference",
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
    "model_functions",
    "quantize_linear",
    "reference_ops",
    "register",
    "register_schemas",
]


__getattr__ = lazily(__name__, _HOMES)
