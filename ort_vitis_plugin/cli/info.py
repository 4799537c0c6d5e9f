"""``ort-vitis info``: what is in a model, and how it was quantized."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from typing import Any

import rich_click as click

from .output import Output
from .verb import verb


@verb("info", examples=("ort-vitis info digits.ipu_cnn.onnx", "ort-vitis info digits.ipu_cnn.onnx --json -"))
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
def info_verb(out: Output, models: tuple[str, ...]) -> None:
    """Print how models were made, their inputs and outputs, op counts and types."""
    found = {model: _described(model) for model in models}
    for model, each in found.items():
        _show(out, model, each)
    out.data(found[models[0]] if len(models) == 1 else found)


def _described(model: str) -> dict[str, Any]:
    from collections import Counter

    from onnx import TensorProto

    from ort_vitis_plugin.emission.provenance import recorded
    from ort_vitis_plugin.onnx_io.load import load_model
    from ort_vitis_plugin.onnx_io.two_files import stored_bytes

    loaded = load_model(model, data=False)
    constants = {tensor.name for tensor in loaded.graph.initializer}
    ops = Counter(f"{node.domain}::{node.op_type}".removeprefix("::") for node in loaded.graph.node)
    kinds = Counter(TensorProto.DataType.Name(tensor.data_type) for tensor in loaded.graph.initializer)
    return {
        "bytes": stored_bytes(model),
        "producer": f"{loaded.producer_name} {loaded.producer_version}".strip(),
        "opsets": {entry.domain or "ai.onnx": entry.version for entry in loaded.opset_import},
        "inputs": {value.name: _type(value) for value in loaded.graph.input if value.name not in constants},
        "outputs": {value.name: _type(value) for value in loaded.graph.output},
        "ops": dict(ops.most_common()),
        "constants": dict(kinds.most_common()),
        "made": recorded(loaded),
    }


def _type(value: Any) -> str:
    from onnx import TensorProto

    kind = value.type.tensor_type
    if not value.type.HasField("tensor_type"):
        return value.type.WhichOneof("value") or "?"
    element = TensorProto.DataType.Name(kind.elem_type).lower()
    if not kind.HasField("shape"):
        return f"{element}, rank unknown"
    dims = kind.shape.dim
    sizes = ", ".join(str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?" for dim in dims)
    return f"{element}[{sizes}]"


def _show(out: Output, model: str, found: dict[str, Any]) -> None:
    made = found["made"]
    rows = [("size", f"{found['bytes']:,} bytes"), ("producer", found["producer"])]
    rows.append(("opset", ", ".join(f"{domain} {version}" for domain, version in found["opsets"].items())))
    rows += [(f"input {name}", kind) for name, kind in found["inputs"].items()]
    rows += [(f"output {name}", kind) for name, kind in found["outputs"].items()]
    rows.append(("constants", ", ".join(f"{count} {kind}" for kind, count in found["constants"].items())))
    out.table(model, ("", "what"), rows)
    out.table("Operators", ("op type", "#nodes"), found["ops"].items())
    if made is None:
        out.print("the file does not say how it was made")
        return
    facts = {**{key: value for key, value in made.items() if key not in ("arguments", "options")}}
    facts |= {**made.get("arguments", {}), **made.get("options", {})}
    written = ((key, value if isinstance(value, str) else json.dumps(value)) for key, value in facts.items())
    out.table("How it was made", ("", "value"), written)
