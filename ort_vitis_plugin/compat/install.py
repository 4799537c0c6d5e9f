"""An import of an old package's module asks the plugin that declares the name; nothing is written to disk."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING

from ..errors import OptionError, UnknownNameError, suggest
from ..plugin.catalog import shared_catalog
from ..plugin.declarations import Namespace
from .namespaces import QUARK_ONNX, VAI_Q_ONNX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    from ..plugin.catalog import Catalog

    Provider = Callable[[str], Mapping[str, object]]


class NamespaceFinder(MetaPathFinder, Loader):
    """Finds the modules of one package, and fills each from its provider when it is imported first."""

    def __init__(self, package: str, providers: Mapping[str, Provider]) -> None:
        self.package, self.providers = package, dict(providers)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if fullname in self.providers else None

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self.providers[module.__name__](module.__name__))


def install(*packages: str, catalog: Catalog | None = None) -> list[str]:
    """Make the modules of old packages importable in this process; again is nothing more. Returns their names.

    ``install("vai_q_onnx")``: then ``import vai_q_onnx`` works in what runs afterwards. A package of that name that is
    installed is hidden, not touched.

    Raises:
        UnknownNameError: no plugin serves the package.
        OptionError: the package itself is imported already, so that names would come from both.
    """
    served = _served(catalog or shared_catalog())
    installed: list[str] = []
    for package in packages:
        modules = {name: provider for name, provider in served.items() if _lies_in(name, package)}
        if not modules:
            roots = {name.partition(".")[0] for name in served}
            raise UnknownNameError(
                f"no plugin serves the names of {package} ({', '.join(sorted(roots))}){suggest(package, roots)}"
            )
        finder = NamespaceFinder(package, {**_parents(modules), **modules})
        if all(entry.package != package for entry in _finders()):
            foreign = next((name for name in finder.providers if name in sys.modules and not _is_ours(name)), None)
            if foreign is not None:
                raise OptionError(f"{foreign} is imported already; call compat.install({package!r}) before that")
            sys.meta_path.insert(0, finder)
        installed += sorted(modules)
    return installed


def uninstall(*packages: str) -> None:
    """Take the names of packages away again; without arguments those of all. What imported them keeps what it has."""
    for finder in _finders():
        if packages and finder.package not in packages:
            continue
        sys.meta_path.remove(finder)
        for name in finder.providers:
            if _is_ours(name) and all(name not in other.providers for other in _finders()):
                sys.modules.pop(name, None)


def served_packages() -> list[str]:
    """The packages whose names are served."""
    return sorted({name.partition(".")[0] for name in _served(shared_catalog())})


def _served(catalog: Catalog) -> dict[str, Provider]:
    spaces = [VAI_Q_ONNX, QUARK_ONNX, *catalog.all(Namespace)]
    return {module: space.provider for space in reversed(spaces) for module in space.modules}


def _lies_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _parents(modules: Mapping[str, object]) -> dict[str, Provider]:
    """Packages above the modules, empty."""
    found: dict[str, Provider] = {}
    for name in modules:
        while name := name.rpartition(".")[0]:
            found[name] = lambda _: {}
    return found


def _finders() -> list[NamespaceFinder]:
    return [finder for finder in sys.meta_path if isinstance(finder, NamespaceFinder)]


def _is_ours(name: str) -> bool:
    module = sys.modules.get(name)
    return module is not None and isinstance(getattr(module.__spec__, "loader", None), NamespaceFinder)
