"""ORT's own `quantize_static` and `create_calibrator` understand our requests, wherever their names were bound.

A function keeps its identity when its code object is replaced, so a `quantize_static` imported long before reaches us
too. The new code has the same parameter list and does one thing: it hands the original code, ORT's globals and the
arguments to `route`. The original code is a constant of the new one; nothing else is stored, and no name, registry,
enum, class or setting of ORT is touched.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect
import os
import sys
import threading
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from ort_vitis_plugin.errors import AttachError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_PLACEHOLDER = "<the original code>"
_ROUTE = "_ort_vitis_route"  # a local name of our code, by which it is recognised
_PLAIN_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class Seam:
    """A function of ORT whose code is swapped, and what it must look like for that."""

    module: str
    name: str
    parameters: frozenset[str]
    reads: frozenset[str]


SEAMS = (
    Seam(
        "onnxruntime.quantization.quantize",
        "quantize_static",
        parameters=frozenset(
            {
                "model_input",
                "model_output",
                "calibration_data_reader",
                "quant_format",
                "op_types_to_quantize",
                "per_channel",
                "reduce_range",
                "activation_type",
                "weight_type",
                "nodes_to_quantize",
                "nodes_to_exclude",
                "use_external_data_format",
                "calibrate_method",
                "extra_options",
            }
        ),
        reads=frozenset({"create_calibrator", "QDQQuantizer", "ONNXQuantizer", "QuantFormat"}),
    ),
    Seam(
        "onnxruntime.quantization.calibrate",
        "create_calibrator",
        parameters=frozenset(
            {
                "model",
                "op_types_to_calibrate",
                "augmented_model_path",
                "calibrate_method",
                "use_external_data_format",
                "extra_options",
            }
        ),
        reads=frozenset({"CalibrationMethod", "MinMaxCalibrater", "EntropyCalibrater"}),
    ),
)


def original_code(code: CodeType) -> CodeType:
    """The code of ORT below ours, or ``code`` itself where nothing is swapped."""
    if _ROUTE not in code.co_varnames:
        return code
    return next(constant for constant in code.co_consts if isinstance(constant, CodeType))


def original(function: FunctionType) -> FunctionType:
    """ORT's function as it is without us, with the same globals and defaults."""
    plain = FunctionType(
        original_code(function.__code__), function.__globals__, function.__name__, function.__defaults__
    )
    plain.__kwdefaults__ = function.__kwdefaults__
    return plain


def route(code: CodeType, namespace: dict[str, object], arguments: Mapping[str, object]) -> object:
    """Run our pipeline where the call asks for something of ours, else ORT's ``code`` with the very same arguments."""
    # What began as onnxruntime's own call ends as one, whoever attaches meanwhile.
    if is_attached() and not _is_called_by_the_body(code):
        from ort_vitis_plugin.entry.arguments import is_ours

        if is_ours(arguments):
            from ort_vitis_plugin.entry.quantize_static import calibrator_from_ort, quantize_from_ort

            ours: Callable[..., object] = {
                "quantize_static": quantize_from_ort,
                "create_calibrator": calibrator_from_ort,
            }[code.co_name]
            return ours(arguments)
    return FunctionType(code, namespace)(**arguments)


def _is_called_by_the_body(code: CodeType) -> bool:
    """Whether onnxruntime's own quantize_static calls: frames are this one, ``route``, our code, and its caller."""
    quantize, calibrate = SEAMS
    frame = sys._getframe(3)
    return (code.co_name, frame.f_code.co_name, frame.f_globals.get("__name__")) == (
        calibrate.name,
        quantize.name,
        quantize.module,
    )


def _target(seam: Seam) -> FunctionType:
    """The function to swap, once it is known to fit."""
    # import_module, because the attribute `onnxruntime.quantization.quantize` is a function that hides the module.
    function = getattr(import_module(seam.module), seam.name, None)
    if not isinstance(function, FunctionType):
        raise _unfit(seam, f"is {type(function).__name__}, not a Python function")
    if function.__closure__ is not None:
        raise _unfit(seam, "is a closure; another tool has wrapped it")
    parameters = inspect.signature(function, follow_wrapped=False).parameters
    if missing := sorted(seam.parameters - parameters.keys()):
        raise _unfit(seam, f"has no parameter {', '.join(missing)}")
    if odd := [name for name, parameter in parameters.items() if parameter.kind not in _PLAIN_KINDS]:
        raise _unfit(seam, f"takes {', '.join(odd)} in a way that cannot be handed on by name")
    if missing := sorted(seam.reads - set(original_code(function.__code__).co_names)):
        raise _unfit(seam, f"does not use {', '.join(missing)}")
    return function


def _unfit(seam: Seam, reason: str) -> AttachError:
    import onnxruntime

    return AttachError(
        f"{seam.module}.{seam.name} of onnxruntime {onnxruntime.__version__} {reason}, so ORT's own functions cannot "
        "be made to understand this plugin's formats and methods; call ort_vitis_plugin.quantize_static instead, or "
        "use an onnxruntime from 1.20.1 to 1.32."
    )


def _routed(function: FunctionType) -> CodeType:
    """Code with ``function``'s parameters that calls `route`; file and line are ORT's, so its source is still found."""
    code = function.__code__
    positional = list(code.co_varnames[: code.co_argcount])
    keyword_only = list(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
    parameters = ", ".join(positional + ["*"] * bool(keyword_only) + keyword_only)
    arguments = ", ".join(f"{name!r}: {name}" for name in positional + keyword_only)
    # Imported at each call, so that a call which is under way while another thread detaches still finds it.
    source = (
        f"def {code.co_name}({parameters}): from {__name__} import route as {_ROUTE}; "
        f"return {_ROUTE}({_PLACEHOLDER!r}, globals(), {{{arguments}}})"
    )
    compiled = next(c for c in compile(source, __name__, "exec").co_consts if isinstance(c, CodeType))
    constants = tuple(code if constant == _PLACEHOLDER else constant for constant in compiled.co_consts)
    return compiled.replace(
        co_consts=constants,
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
        co_qualname=code.co_qualname,
    )


class _Attachment:
    """What is swapped now. Attached while `attach` was asked for or an `attached` block runs."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.wanted = False
        self.blocks = 0
        self.swapped: tuple[tuple[FunctionType, CodeType], ...] = ()

    def apply(self) -> None:
        """Bring ORT's functions to the state asked for."""
        wanted = self.wanted or self.blocks > 0
        if wanted and not self.swapped:
            functions = [_target(seam) for seam in SEAMS]  # all fit, before the first is swapped
            for function in functions:
                function.__code__ = original_code(function.__code__)  # left over from a reloaded copy of this module
            pairs = tuple((function, _routed(function)) for function in functions)
            for function, code in pairs:
                function.__code__ = code
            self.swapped = pairs
        elif not wanted and self.swapped:
            swapped, self.swapped = self.swapped, ()
            for function, code in swapped:
                _restore(function, code)


def _restore(function: FunctionType, code: CodeType) -> None:
    if function.__code__ is code:
        function.__code__ = original_code(code)
        return
    warnings.warn(
        f"another tool has replaced the code of {function.__module__}.{function.__name__} since ort_vitis_plugin "
        "attached to it; it is left as it is, and passes every call on to ORT.",
        RuntimeWarning,
        stacklevel=4,
    )


def _adopted() -> _Attachment:
    """What a copy of this module that was reloaded has left attached stays so, and can be detached."""
    attachment = _Attachment()
    functions = [getattr(sys.modules.get(seam.module), seam.name, None) for seam in SEAMS]
    routed = [each for each in functions if isinstance(each, FunctionType) and _ROUTE in each.__code__.co_varnames]
    if len(routed) == len(SEAMS):
        attachment.wanted, attachment.swapped = True, tuple((each, each.__code__) for each in routed)
    return attachment


_attachment = _adopted()


def is_attached() -> bool:
    """Whether ORT's own functions understand our requests now."""
    return bool(_attachment.swapped)


def attach() -> None:
    """Make ORT's `quantize_static` and `create_calibrator` understand our requests; again is nothing more."""
    with _attachment.lock:
        before, _attachment.wanted = _attachment.wanted, True
        try:
            _attachment.apply()
        except AttachError:
            _attachment.wanted = before
            raise


def detach() -> None:
    """Give ORT its own code back, at once or when the last `attached` block ends; again is nothing more."""
    with _attachment.lock:
        _attachment.wanted = False
        _attachment.apply()


@contextmanager
def attached() -> Iterator[None]:
    """Attached inside the block, afterwards as before; blocks nest, in one thread or across threads."""
    with _attachment.lock:
        _attachment.blocks += 1
        try:
            _attachment.apply()
        except AttachError:
            _attachment.blocks -= 1
            raise
    try:
        yield
    finally:
        with _attachment.lock:
            _attachment.blocks -= 1
            _attachment.apply()


def attach_on_import() -> None:
    """`attach` unless ``ORT_VITIS_ATTACH=0``; an ORT that does not fit is a warning, for our own door still opens."""
    if os.environ.get("ORT_VITIS_ATTACH", "1") == "0":
        return
    try:
        attach()
    except AttachError as error:
        warnings.warn(str(error), RuntimeWarning, stacklevel=3)
