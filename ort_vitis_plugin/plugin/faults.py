"""What a plugin's code raises, or gives in a wrong type, is an error that names the plugin and the way without it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from numbers import Integral
from types import FunctionType
from typing import Any, TypeVar

from onnx import ModelProto

from ..errors import PluginError, QuantizationError
from ..options.request import Request
from ..plan import Bound

T = TypeVar("T")

# What a declaration's functions and the hooks give: the type, and the word for it. Others may give anything.
RESULTS: Mapping[tuple[str, str], tuple[Any, str]] = {
    ("Transform", "apply"): (Integral, "the number of rewrites"),
    ("ModelTransform", "apply"): (ModelProto, "a ModelProto"),
    ("Correction", "apply"): (Integral, "the number of changes"),
    ("CustomOpLibrary", "path"): (str | None, "a path or None"),
    ("OpFunctions", "add"): (type(None), "nothing: it changes the model"),
    ("Namespace", "provider"): (Mapping, "a mapping from names"),
    ("Target", "placement"): (str | None, "a reason or None"),
    ("hook", "vitis_configure"): (Request | None, "a Request or None"),
}
# Classes that a plugin brings, and the host makes objects of: handlers, writers, markers.
CLASSES = ("quantizer", "writer", "marker")
# Those that give many things of one kind, perhaps one by one.
YIELDS: Mapping[tuple[str, str], tuple[Any, str]] = {("Adjuster", "rule"): (Bound, "bounds")}


@dataclass(frozen=True)
class Origin:
    """Where code comes from: the plugin's name, and the name and version of its distribution (None: this program)."""

    plugin: str
    distribution: str | None

    def fault(self, what: str, reason: str) -> PluginError:
        """The error that says so."""
        if self.distribution is None:
            return PluginError(f"plugin {self.plugin} (registered by this program): {what} {reason}")
        return PluginError(
            f"plugin {self.plugin} ({self.distribution}): {what} {reason}; "
            f"ORT_VITIS_BLOCK={self.plugin} leaves the plugin out"
        )


@contextmanager
def faults_of(origin: Origin, what: str) -> Iterator[None]:
    """Errors of this package pass, and so does running out of memory; any other one is the plugin's.

    Raises:
        PluginError: the block raised something else, which is the cause.
    """
    try:
        yield
    except (QuantizationError, MemoryError):
        raise
    except Exception as error:
        raise origin.fault(what, f"raised {type(error).__name__}: {error}") from error


def guarded(declaration: T, origin: Origin) -> T:
    """The declaration with functions whose errors and results are looked at; itself where it has none."""
    if isinstance(declaration, type) or not is_dataclass(declaration):
        return declaration
    kind, key = type(declaration).__name__, getattr(declaration, "key", "")
    functions = {
        entry.name: getattr(declaration, entry.name)
        for entry in fields(declaration)
        if callable(getattr(declaration, entry.name)) and not isinstance(getattr(declaration, entry.name), type)
    }
    classes = {
        name: getattr(declaration, name) for name in CLASSES if isinstance(getattr(declaration, name, None), type)
    }
    if not functions and not classes:
        return declaration
    looked_at = {
        name: guarded_function(function, origin, f"{name} of the {kind} {key}", (kind, name))
        for name, function in functions.items()
    }
    for name, written in classes.items():
        looked_at[name] = _guarded_class(written, origin, f"{written.__name__} of the {kind} {key}")
    return replace(declaration, **looked_at)  # type: ignore[type-var]


def guarded_function(function: Callable[..., Any], origin: Origin, what: str, place: tuple[str, str]) -> Any:
    """The function, with its errors and its results looked at."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with faults_of(origin, what):
            found = function(*args, **kwargs)
            if place in YIELDS:
                found = list(found)
        if place in YIELDS:
            kind, word = YIELDS[place]
            _check(found, kind, word, origin, what)
        elif place in RESULTS and not isinstance(found, RESULTS[place][0]):
            raise origin.fault(what, f"gave {found!r}, not {RESULTS[place][1]}")
        return found

    call.origin = origin  # type: ignore[attr-defined] # by which it is known to be guarded
    return call


def _guarded_class(written: type[Any], origin: Origin, what: str) -> type[Any]:
    """A subclass whose methods, those that the plugin wrote, are looked at."""
    methods: dict[str, Any] = {}
    for base in written.__mro__:
        if base.__module__.split(".")[0] in (__package__.split(".")[0], "onnxruntime", "builtins", "abc"):
            continue
        for name, function in vars(base).items():
            if isinstance(function, FunctionType) and not name.startswith("__"):
                methods.setdefault(name, guarded_function(function, origin, f"{name} of {what}", ("class", name)))
    return type(written.__name__, (written,), {**methods, "__module__": written.__module__})


def _check(found: Iterable[object], kind: Any, word: str, origin: Origin, what: str) -> None:
    for entry in found:
        if not isinstance(entry, kind):
            raise origin.fault(what, f"gave {entry!r} among its {word}")
