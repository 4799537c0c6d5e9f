"""A quantized file that says how it was made needs no flags, and tells a stranger from its float model."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import ModelProto


def as_recorded(quantized: ModelProto, given: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of quantize_static: what the file says, and over it what is given."""
    from ort_vitis_plugin.emission.provenance import recorded
    from ort_vitis_plugin.request.provenance_facts import keywords

    found = recorded(quantized)
    if found is None:
        return dict(given)
    said = keywords(found)
    return {**said, **given, "extra_options": {**said["extra_options"], **given.get("extra_options", {})}}


def warn_of_stranger(model: ModelProto, quantized: ModelProto, name: str) -> None:
    """Warn where the quantized file says that it was made from another float model."""
    from ort_vitis_plugin.emission.provenance import recorded
    from ort_vitis_plugin.onnx_io.model_hash import model_hash

    found = recorded(quantized)
    if found is not None and found.get("float_model") not in ("", None, model_hash(model)):
        warnings.warn(f"the quantized model says that it was made from another float model than {name!r}", stacklevel=2)
