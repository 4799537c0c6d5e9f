"""A module becomes an ONNX graph once; everything after that is about the graph.

The caller's module is never touched: tracing runs in a copy, because it changes statistics of BatchNormalization.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import copy
import importlib.util
import io
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import onnx
import onnx.version_converter
import torch
from numpy.typing import NDArray
from onnx import ModelProto
from torch import nn

from .data_reads import watched
from .errors import ExportError, first_line
from .regions import Regions, find_regions
from .structure import Structure, as_arguments, input_names, positional
from .stubs import check_dynamo_writes_stubs

Exporter = Literal["auto", "torchscript", "dynamo"]

BATCH = "batch"
LOWEST_DYNAMO_OPSET = 18
# torch 2.5 refuses higher ones, and later releases write the nodes of this one under a higher number.
HIGHEST_TORCHSCRIPT_OPSET = 20
# Bytes of weights from which a graph goes through files: protobuf's limit is 2 GiB, nodes and shapes included.
LARGEST_MESSAGE = 2**30 * 7 // 4


@dataclass(frozen=True)
class Exported:
    """The float graph of a module; ``inputs`` and ``outputs`` put its tensors into the module's own structures.

    ``regions`` says which nodes the caller's stubs enclose (None: there are no stubs, all is to be quantized).
    ``parameters`` are the names by which ``forward`` takes its arguments.
    """

    name: str
    model: ModelProto
    inputs: Structure
    outputs: Structure
    regions: Regions | None
    example: tuple[NDArray[Any], ...] = ()
    parameters: tuple[str, ...] = ()

    @property
    def input_names(self) -> list[str]:
        """The graph's inputs, in the order of the tensors in a call."""
        constants = {tensor.name for tensor in self.model.graph.initializer}
        return [value.name for value in self.model.graph.input if value.name not in constants]

    @property
    def output_names(self) -> list[str]:
        """The graph's outputs, in the order of the tensors in a result."""
        return [value.name for value in self.model.graph.output]

    def arguments(self, given: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments of a call by their places, also those that were given by name."""
        count = len(self.parameters)
        names = self.parameters[len(given) : count]
        unknown = ", ".join(keywords.keys() - set(names))
        if unknown:
            known = ", ".join(self.parameters)
            raise ExportError(
                f"{self.name} was exported for the arguments {known}, so it does not take {unknown}; "
                "what input_args do not hold keeps its default"
            )
        missing = ", ".join(name for name in names if name not in keywords)
        if keywords and missing:
            raise ExportError(f"{self.name} was exported for the argument {missing} too; give it in the call")
        return (*given, *(keywords[name] for name in names if name in keywords))

    def tensors(self, arguments: tuple[Any, ...], keywords: dict[str, Any] | None = None) -> list[torch.Tensor]:
        """The tensors of a call; raises ExportError where a call has another structure or other sizes than the
        exported one."""
        tensors, structure = Structure.of(self.arguments(arguments, keywords or {}))
        if structure.spec != self.inputs.spec:
            raise ExportError(
                f"{self.name} was exported for arguments of the structure {self.inputs.spec}, not {structure.spec}; "
                "give input_args of the form that you call the model with"
            )
        values = {value.name: value for value in self.model.graph.input}
        for name, tensor in zip(self.input_names, tensors, strict=True):
            sizes = [dim.dim_value or dim.dim_param for dim in values[name].type.tensor_type.shape.dim]
            if not _fits(tuple(tensor.shape), sizes):
                raise ExportError(
                    f"{name} has the shape {list(tensor.shape)}, and {self.name} was exported for {sizes}; "
                    "give input_args of the sizes that you call the model with"
                )
        return tensors


def _fits(shape: tuple[int, ...], sizes: list[int | str]) -> bool:
    pairs = zip(shape, sizes, strict=False)
    return len(shape) == len(sizes) and all(isinstance(size, str) or size == given for given, size in pairs)


def unwrapped(module: nn.Module) -> nn.Module:
    """The module inside DataParallel or DistributedDataParallel, with a warning, or inside torch.compile; any other
    as it is."""
    if not isinstance(module, nn.Module):
        raise ExportError(f"a torch.nn.Module is needed, not {type(module).__name__}")
    if isinstance(module, torch.jit.ScriptModule):
        raise ExportError(
            f"a {type(module).__name__} cannot be exported: give the torch.nn.Module that was scripted or traced"
        )
    compiled = getattr(module, "_orig_mod", None)
    if isinstance(compiled, nn.Module):
        return compiled
    if isinstance(module, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
        warnings.warn(
            f"{type(module).__name__} is taken off; the module inside is quantized", UserWarning, stacklevel=3
        )
        inner: nn.Module = module.module
        return inner
    return module


def copied(module: nn.Module) -> nn.Module:
    """A copy to trace, to load and to calibrate in; raises ExportError where the module holds what cannot be copied."""
    try:
        return copy.deepcopy(module)
    except Exception as error:  # whatever __deepcopy__ and pickle raise
        raise ExportError(
            f"{type(module).__name__} cannot be copied, and the one given must stay as it is: {first_line(error)}; "
            "keep scripted functions, streams and locks out of its attributes"
        ) from error


def evaluation_copy(module: nn.Module, arguments: tuple[Any, ...]) -> tuple[nn.Module, tuple[Any, ...]]:
    """A copy of the module in evaluation mode, and the arguments, both in float32 on the CPU."""
    return copied(module).eval().float().cpu(), _on_cpu(arguments)


def watched_call(module: nn.Module, arguments: tuple[Any, ...], called: Callable[[str], None]) -> None:
    """Call a copy of ``module`` in evaluation mode; ``called`` is told the name of each part as it is entered."""
    clone, arguments = evaluation_copy(module, arguments)
    for name, part in clone.named_modules():
        if name:
            part.register_forward_pre_hook(lambda *_, name=name: called(name))
    with torch.no_grad():
        clone(*arguments)


def export(
    module: nn.Module,
    input_args: Any,
    *,
    exporter: Exporter = "auto",
    opset: int = 17,
    dynamic_batch: bool = True,
    keep_batch_norm: bool = False,
) -> Exported:
    """The float ONNX graph of ``module`` in evaluation mode, called with ``input_args`` (a tensor, or a tuple).

    ``exporter``: "torchscript", "dynamo" (needs onnxscript), or "auto": TorchScript, then dynamo where that fails.
    ``dynamic_batch``: the first dimension of every tensor that shares the first input's is symbolic.
    ``keep_batch_norm``: BatchNormalization stays a node, and parameters keep their names (equal ones become one).

    Raises ExportError: the exporter's own message and what to do about it.
    """
    module = unwrapped(module)
    arguments = as_arguments(input_args)
    clone, arguments = evaluation_copy(module, arguments)
    names = input_names(clone, arguments)
    tensors, inputs = Structure.of(arguments)
    if not tensors:
        raise ExportError("input_args hold no tensor; give a tensor, or a tuple of the arguments of forward")
    _check_tensors(tensors, names)
    result, reads = watched(clone, arguments, tensors)
    results, outputs = Structure.of(result)
    if reads:
        _reject(reads[0], type(module).__name__, exporter)
    if not results:
        raise ExportError(f"{type(module).__name__} returns no tensor, so there is nothing to export")
    call = _Call(clone, tensors, results, names, inputs, opset, dynamic_batch, keep_batch_norm)
    model = _strategy(exporter, call)
    regions = find_regions(model)
    example = tuple(tensor.numpy() for tensor in tensors)
    return Exported(type(module).__name__, model, inputs, outputs, regions, example, positional(clone, arguments))


def _reject(place: str, name: str, exporter: Exporter) -> None:
    """The TorchScript exporter keeps the branch that the example takes; dynamo's says itself what it cannot follow."""
    if exporter == "dynamo":
        return
    told = f"{name} turns data of a tensor into a Python value at {place}, which a graph keeps as it is for input_args"
    if exporter == "auto":
        raise ExportError(
            f'{told}; use torch.where, or take it out of forward; exporter="torchscript" exports it all the same'
        )
    warnings.warn(told, UserWarning, stacklevel=4)


@dataclass(frozen=True)
class _Call:
    module: nn.Module
    tensors: list[torch.Tensor]
    results: list[torch.Tensor]
    names: list[str]
    inputs: Structure
    opset: int
    dynamic_batch: bool
    keep_batch_norm: bool

    @property
    def result_names(self) -> list[str]:
        count = len(self.results)
        return ["output"] if count == 1 else [f"output_{at}" for at in range(count)]

    def batched(self, tensors: Sequence[torch.Tensor]) -> list[bool]:
        """Which tensors have the batch as their first dimension."""
        size = self.tensors[0].shape[0] if self.tensors[0].ndim else None
        return [self.dynamic_batch and tensor.ndim > 1 and tensor.shape[0] == size for tensor in tensors]


def _on_cpu(value: Any) -> Any:
    tensors, structure = Structure.of(value)
    moved = [tensor.detach().cpu() for tensor in tensors]
    return structure.fill([tensor.float() if tensor.is_floating_point() else tensor for tensor in moved])


def _check_tensors(tensors: list[torch.Tensor], names: list[str]) -> None:
    for tensor, name in zip(tensors, names, strict=True):
        if tensor.is_complex() or tensor.is_sparse or tensor.is_quantized:
            kind = "complex" if tensor.is_complex() else "sparse" if tensor.is_sparse else "quantized"
            raise ExportError(f"the input {name} is {kind}; ONNX quantization takes dense real tensors")


def _strategy(exporter: Exporter, call: _Call) -> ModelProto:
    if exporter not in ("auto", "torchscript", "dynamo"):
        raise ExportError(f"exporter={exporter!r}: there are 'auto', 'torchscript' and 'dynamo'")
    if exporter == "dynamo":
        return _dynamo(call)
    try:
        return _torchscript(call)
    except ExportError as error:
        if exporter == "torchscript" or call.keep_batch_norm:
            raise
        if importlib.util.find_spec("onnxscript") is None:
            raise ExportError(
                f"{error}; with onnxscript (pip install onnxscript) the dynamo exporter tries too"
            ) from error
        return _dynamo(call)


def _torchscript(call: _Call) -> ModelProto:
    if _weight_bytes(call.module) < LARGEST_MESSAGE:
        file = io.BytesIO()
        _write_torchscript(call, file)
        return _raised(onnx.load_from_string(file.getvalue()), call.opset)
    with tempfile.TemporaryDirectory() as folder:  # weights beyond a message's limit lie in files of their own
        path = str(Path(folder) / "model.onnx")
        _write_torchscript(call, path)
        return _raised(onnx.load(path), call.opset)


def _weight_bytes(module: nn.Module) -> int:
    return sum(tensor.nbytes for tensor in (*module.parameters(), *module.buffers()))


def _write_torchscript(call: _Call, file: Any) -> None:
    axes = {
        name: {0: BATCH}
        for name, batched in (
            *zip(call.names, call.batched(call.tensors), strict=True),
            *zip(call.result_names, call.batched(call.results), strict=True),
        )
        if batched
    }
    # PRESERVE leaves the module in evaluation mode and, unlike EVAL, does not fold BatchNormalization.
    training = torch.onnx.TrainingMode.PRESERVE if call.keep_batch_norm else torch.onnx.TrainingMode.EVAL
    with _flat(call), _quiet():
        try:
            torch.onnx.export(
                call.module,
                tuple(call.tensors),
                file,
                dynamo=False,
                opset_version=min(call.opset, HIGHEST_TORCHSCRIPT_OPSET),
                input_names=call.names,
                output_names=call.result_names,
                dynamic_axes=axes,
                training=training,
                do_constant_folding=not call.keep_batch_norm,
            )
        except Exception as error:
            raise _failed("TorchScript", call, error) from error


def _raised(model: ModelProto, opset: int) -> ModelProto:
    if opset <= HIGHEST_TORCHSCRIPT_OPSET:
        return model
    raised = onnx.version_converter.convert_version(model, opset)
    raised.ir_version = max(model.ir_version, onnx.helper.find_min_ir_version_for(raised.opset_import, True))
    return raised


def _dynamo(call: _Call) -> ModelProto:
    if importlib.util.find_spec("onnxscript") is None:
        raise ExportError('the dynamo exporter needs onnxscript: pip install onnxscript, or use exporter="torchscript"')
    check_dynamo_writes_stubs(call.module)
    batch = torch.export.Dim(BATCH)
    shapes = tuple({0: batch} if batched else None for batched in call.batched(call.tensors))
    with _flat(call), _quiet():
        try:
            program = torch.onnx.export(
                call.module,
                tuple(call.tensors),
                dynamo=True,
                opset_version=max(call.opset, LOWEST_DYNAMO_OPSET),
                input_names=call.names,
                output_names=call.result_names,
                dynamic_shapes=(shapes,) if any(shapes) else None,
                verbose=False,
            )
        except Exception as error:
            raise _failed("dynamo", call, error) from error
    assert program is not None
    model: ModelProto = program.model_proto
    return model


def _failed(exporter: str, call: _Call, error: Exception) -> ExportError:
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return ExportError(
        f"torch's {exporter} exporter cannot export {type(call.module).__name__}: {first_line(cause)}; control "
        "flow that depends on data must be taken out of forward, or kept outside of the module that is quantized"
    )


@contextmanager
def _flat(call: _Call) -> Iterator[None]:
    """Let the module take and give flat tensors while it is traced."""
    forward = call.module.forward

    def flat(*tensors: torch.Tensor) -> Any:
        results, _ = Structure.of(forward(*call.inputs.fill(tensors)))
        return results[0] if len(results) == 1 else tuple(results)

    call.module.forward = flat
    try:
        yield
    finally:
        del call.module.forward


@contextmanager
def _quiet() -> Iterator[None]:
    """Tracing warns of what it cannot see and of its own age; here the graph is compared with the module instead."""
    with warnings.catch_warnings():
        for category in (DeprecationWarning, FutureWarning, UserWarning, torch.jit.TracerWarning):
            warnings.simplefilter("ignore", category)
        yield
