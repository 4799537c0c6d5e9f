"""What authors of plugins test with: graphs from text, plans from positions, and contracts that every step keeps.

model = graph("t (float[1, 3] x) => (float[1, 3] y) { y = Relu(x) }")
check_transform(my_transform, model)
rule(plan(model, {"x": 5, "y": 4}), node)
check_plugin(my_plugin)
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, TensorProto, helper, numpy_helper

from .graph import Graph
from .graph.element_types import FLOATS
from .graph.op_sets import WITH_BIAS
from .numerics.qtypes import QType, host_qtype
from .onnx_io.sessions import REFUSALS, SILENT, session_options
from .options.request import Request
from .plan import Plan, Role, TensorPlan
from .plugin.catalog import Catalog, bundled_catalog
from .plugin.declarations import Transform, declared_options
from .plugin.manager import new_manager
from .request.call import Call
from .request.ledger import Ledger
from .request.settings import settings_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .plugin.context import Context
    from .request.settings import Settings

    Tensors = dict[str, NDArray[Any]]

IR_VERSION = 8
LEVELS = (
    onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
)


def graph(
    text: str, opset: int = 17, constants: Mapping[str, NDArray[Any]] | None = None, *, ir_version: int = IR_VERSION
) -> ModelProto:
    """A model in ONNX's text form; without a header it gets this opset. Shapes are inferred.

    ``constants`` become initializers; an output written as ``float[] y`` takes the shape that follows.
    """
    if not text.lstrip().startswith("<"):
        text = f'<ir_version: {ir_version}, opset_import: ["" : {opset}]>\n{text}'
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in (constants or {}).items())
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


@cache
def runs(text: str, opset: int) -> bool:
    """Whether the installed onnxruntime has kernels for a graph in an opset."""
    options = session_options(severity=SILENT)
    model = graph(text, opset)
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except REFUSALS:
        return False
    return True


def opsets(text: str = "t (float[2] x) => (float[2] y) { y = Relu(x) }") -> list[int]:
    """Opsets 10, 11, 13, 15, 17, 18, 21 and the newest, of those in which onnxruntime runs the graph."""
    newest = next(opset for opset in range(onnx.defs.onnx_opset_version(), 20, -1) if runs(text, opset))
    return [*filter(lambda opset: opset < newest and runs(text, opset), (10, 11, 13, 15, 17, 18, 21)), newest]


def random_feeds(model: ModelProto, seed: int = 0) -> Tensors:
    """A value for every input that is no initializer: N(0, 1) for floats, 0 or 1 for integers; unknown sizes are 2."""
    generator = np.random.default_rng(seed)
    known = {tensor.name for tensor in model.graph.initializer}
    feeds: Tensors = {}
    for value in model.graph.input:
        if value.name in known:
            continue
        kind = value.type.tensor_type
        shape = [dim.dim_value if dim.HasField("dim_value") else 2 for dim in kind.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        sample: Any = generator.standard_normal(shape)
        if kind.elem_type not in FLOATS:
            sample = generator.integers(0, 2, shape)
        feeds[value.name] = np.asarray(sample).astype(dtype)
    return feeds


def run_model(
    model: ModelProto, feeds: Mapping[str, NDArray[Any]], level: Any = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
) -> Tensors:
    """Outputs by name, on one thread of the CPU."""
    options = session_options(level)
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feeds)), strict=True))


def plain_context(*plugins: object, **options: object) -> Call:
    """What a step sees of a call that selects nodes of every op type.

    ``options`` are keys of extra_options, or fields of a Request (activation_type, nodes_to_exclude, op_types...);
    ``plugins`` are registered beside the bundled ones. ``.report`` shows what the step noted, ``.ledger`` all of it.
    """
    settings = _every_op_type() if not plugins and not options else _settings(plugins, options)
    return Call(settings, Ledger.opened(settings))


@cache
def _every_op_type() -> Settings:
    return _settings((), {})


def _settings(plugins: Iterable[object], options: Mapping[str, object]) -> Settings:
    catalog = bundled_catalog()
    if plugins:
        manager = new_manager(entry_points=False)
        for plugin in plugins:
            manager.register(plugin)
        catalog = Catalog(manager)
    known = {entry.name for entry in fields(Request)}
    arguments: dict[str, Any] = {
        "model": "model.onnx",
        "output": None,
        "reader": None,
        "quant_format": "QuantFormat.QDQ",
        "calibrate_method": "MinMSE",
        "activation_type": "QUInt8",
        "weight_type": "QInt8",
        "op_types": tuple(sorted({schema.name for schema in onnx.defs.get_all_schemas()})),
        **{key: value for key, value in options.items() if key in known},
    }
    given = {key: value for key, value in options.items() if key not in known}
    return settings_of(Request(given=given, **arguments), catalog)


def check_transform(
    transform: Transform,
    model: ModelProto,
    context: Context | None = None,
    *,
    tolerance: float = 0.0,
    feeds: Mapping[str, NDArray[Any]] | None = None,
) -> ModelProto:
    """Hold a transform to its contract and return the transformed model; ``context`` is what the step sees of a call.

    A second run rewrites nothing; the argument is not touched; inputs that remain, and outputs, keep names, types
    and shapes; the full checker accepts the result; float outputs agree within ``tolerance`` times the output's
    largest value, with ORT's optimization off and on (unless the transform ``changes_function``).
    """
    context = context or plain_context()
    before = model.SerializeToString(deterministic=True)
    edited = Graph(model)
    rewrites = transform(edited, context)
    assert rewrites >= 0, f"{transform.key} counts {rewrites} rewrites"
    result = edited.to_model()
    assert model.SerializeToString(deterministic=True) == before, f"{transform.key} edits the caller's model"
    assert transform(Graph(result), context) == 0, f"{transform.key} rewrites its own result again"
    assert list(result.graph.output) == list(model.graph.output), f"{transform.key} changes the graph's outputs"
    inputs = {value.name: value for value in model.graph.input}
    for value in result.graph.input:
        assert inputs.get(value.name) == value, f"{transform.key} changes the input {value.name}"
    onnx.checker.check_model(result, full_check=True)
    if not transform.changes_function:
        samples = feeds if feeds is not None else random_feeds(model)
        for level in LEVELS:
            assert_same_outputs(run_model(model, samples, level), run_model(result, samples, level), tolerance)
    return result


def assert_same_outputs(expected: Tensors, found: Tensors, tolerance: float = 0.0) -> None:
    """Same names, types, shapes; values within ``tolerance`` times the largest magnitude of each output."""
    assert list(expected) == list(found)
    for name, wanted in expected.items():
        got = found[name]
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), f"{name}: {got.dtype}{got.shape}"
        if wanted.dtype.kind != "f" or not tolerance:
            np.testing.assert_array_equal(got, wanted, err_msg=name)
            continue
        largest = float(np.max(np.abs(wanted), initial=0.0))
        np.testing.assert_allclose(
            got.astype(np.float64), wanted.astype(np.float64), rtol=0, atol=tolerance * largest, err_msg=name
        )


def op_types(model: ModelProto) -> list[str]:
    """Op types in order: what a table of expected rewrites compares."""
    return [node.op_type for node in model.graph.node]


def plan(source: ModelProto | Graph | str, positions: Mapping[str, int], kind: object = TensorProto.INT8) -> Plan:
    """A plan with these tensors at these positions: ``plan(model, {"x": 5, "w": 7, "b": 9, "y": 4})``."""
    edited = source if isinstance(source, Graph) else Graph(graph(source) if isinstance(source, str) else source)
    planned = Plan(edited)
    common: QType = host_qtype(kind)
    zero = np.zeros((), dtype=np.int64)
    for name, position in positions.items():
        tensor = TensorPlan(name, _role(edited, name), common, np.ones((), dtype=np.float32), zero)
        tensor.move(position)
        planned.tensors[name] = tensor
    return planned


def _role(edited: Graph, name: str) -> Role:
    if name not in edited.initializers:
        return Role.ACTIVATION
    readers = edited.consumers(name)
    third = any(node.op_type in WITH_BIAS and list(node.input).index(name) == 2 for node in readers)
    return Role.BIAS if third else Role.WEIGHT


def check_plugin(module: ModuleType | object) -> list[Any]:
    """Register the plugin beside the bundled ones and return what it declares.

    Misspelt hooks, things that are no declaration, options whose default is not of their type, missing
    documentation, clashes with other plugins, and names that nobody has (of targets, steps, op types, arguments and
    options that a preset sets) are errors.
    """
    manager = new_manager(entry_points=False)
    name = getattr(module, "__name__", type(module).__name__)
    if not manager.is_registered(module):
        manager.register(module, name)
    manager.check_pending()
    registered = manager.get_name(module)
    catalog = Catalog(manager)
    declared = [entry.declaration for entry in catalog.entries if entry.plugin == registered]
    assert declared, f"{registered} declares nothing"
    flaws = catalog.flaws(str(registered), strict=True)
    assert not flaws, f"{registered}: {'; '.join(flaws)}"
    for declaration in declared:
        doc = declaration.__doc__ if isinstance(declaration, type) else getattr(declaration, "doc", "op")
        assert doc, f"{registered}: {declaration!r} has no documentation"
        for known in declared_options(declaration):
            known.validate(known.default)
            assert known.doc, f"{registered}: option {known.key} has no documentation"
    return declared
