"""A TOML file says of a call what arguments and flags say.

``preset`` and the arguments of ``quantize_static``, by their names, stand at the top; ``[extra_options]`` holds
options, ``[samples]`` where samples come from, by the names of the command line's flags::

    preset = "A16W8"
    nodes_to_exclude = ["/head/*"]

    [extra_options]
    CLESteps = -1

    [samples]
    data = "pictures"
    preprocess = "imagenet"

Paths are relative to the folder of the file.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect
import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..entry.quantize_static import quantize_static
from ..errors import ConfigurationError, suggest
from ..options.options import conforms, resolve
from ..plugin.catalog import shared_catalog
from .samples_settings import PICTURES, reader_of

if TYPE_CHECKING:
    from collections.abc import Iterable

OPTIONS, SAMPLES = "extra_options", "samples"
PATHS = ("model_input", "model_output", "calibration_cache_path")
NUMBERS = float | list[float]
NAMES_OF_TYPES: dict[Any, str] = {
    bool: "true or false",
    str: "a text",
    int: "a whole number",
    float: "a number",
    dict: "a table",
    list[str]: "a list of texts",
}
SAMPLE_TYPES: dict[str, Any] = {
    "data": str,
    "samples": int,
    "seed": int,
    "preprocess": str,
    **dict.fromkeys(PICTURES, str),
    "resize": int | str | list[int],
    "crop": int | str | list[int],
    "mean": NUMBERS,
    "std": NUMBERS,
    "scale": float,
    "broken": int,
}


def load_config(path: str | Path) -> dict[str, Any]:
    """The keyword arguments of ``quantize_static`` that a TOML file says; with ``[samples]`` the reader is among them.

    Raises:
        ConfigurationError: the file cannot be read, or a line of it is wrong: the message says which, and what is
            expected.
    """
    said = read(path)
    keywords = {key: value for key, value in said.items() if key not in ("preset", SAMPLES)}
    if "preset" in said:
        keywords[OPTIONS] = {"Preset": said["preset"], **keywords.get(OPTIONS, {})}
    reader = reader_of(said.get(SAMPLES, {}), lambda name: f"{path}: [{SAMPLES}] {name}")
    return keywords if reader is None else {**keywords, "calibration_data_reader": reader}


def read(path: str | Path) -> dict[str, Any]:
    """What a file says, checked, with paths as they are from here.

    Raises:
        ConfigurationError: see load_config.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the configuration {str(path)!r} cannot be read: {error}") from error
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        last = "" if "line" in str(error) else f", line {len(text.splitlines())}"
        raise ConfigurationError(f"{path}{last}: {error}") from error
    for table, kinds in known_keys().items():
        found = said if not table else said.get(table, {})
        for key, value in found.items():
            where = f"{path}, line {_line(text, table, key)}: {f'[{table}] ' if table else ''}{key}"
            known = resolve(key, shared_catalog().options) if table == OPTIONS else key
            if known is None or known not in kinds:
                raise ConfigurationError(f"{where} is unknown; expected one of {_names(key, kinds)}")
            if not conforms(value, kinds[known]):
                raise ConfigurationError(f"{where} takes {_type_name(kinds[known])}, not {value!r}")
    _from_here(said, file.parent)
    return said


def known_keys() -> dict[str, dict[str, Any]]:
    """{table: {key: type}}; the table '' is the top."""
    options = {key: declared.type for key, declared in shared_catalog().options.items()}
    return {"": _arguments(), OPTIONS: options, SAMPLES: SAMPLE_TYPES}


def toml(said: Mapping[str, Any]) -> str:
    """The text of a file that says this."""
    flat = {key: value for key, value in said.items() if not isinstance(value, Mapping)}
    text = "".join(f"{key} = {_value(value)}\n" for key, value in flat.items())
    for table, values in said.items():
        if isinstance(values, Mapping) and values:
            text += f"\n[{table}]\n" + "".join(f"{_key(key)} = {_value(value)}\n" for key, value in values.items())
    return text


def _arguments() -> dict[str, Any]:
    """What may stand at the top, by the defaults of quantize_static's arguments."""
    kinds: dict[str, Any] = {"preset": str, OPTIONS: dict, SAMPLES: dict}
    for name, parameter in inspect.signature(quantize_static).parameters.items():
        if isinstance(parameter.default, bool):
            kinds[name] = bool
        elif name in (*PATHS, "quant_format", "calibrate_method", "activation_type", "weight_type"):
            kinds[name] = str
        elif name.endswith(("_nodes", "_exclude", "_quantize", "_providers")):
            kinds[name] = list[str]
    return kinds


def _names(key: str, kinds: Iterable[str]) -> str:
    names = sorted(kinds)
    hint = suggest(key, names)
    return f"{', '.join(names)}{hint}" if len(names) < 40 else f"the keys that `ort-vitis options` lists{hint}"


def _type_name(kind: Any) -> str:
    return NAMES_OF_TYPES.get(kind, str(kind))


def _line(text: str, table: str, key: str) -> int:
    """The line of a key; where it is written in another way (dotted, inline), that of its table, else the first."""
    at, here, header = "", 1, re.compile(r"\s*\[([^\[\]]+)\]")
    for number, line in enumerate(text.splitlines(), 1):
        if found := header.match(line):
            at = found[1].strip()
            here = number if at == table else here
            if not table and at == key:
                return number
        elif at == table and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""", line):
            return number
    return here


def _from_here(said: dict[str, Any], folder: Path) -> None:
    """Paths of the file, which are relative to its folder, as they are from the working folder."""
    for name in PATHS:
        if name in said:
            said[name] = str(folder / said[name])
    samples = said.get(SAMPLES, {})
    if "data" in samples:
        samples["data"] = str(folder / samples["data"])
    if samples.get("preprocess", "").rpartition(":")[0].endswith(".py"):
        samples["preprocess"] = str(folder / samples["preprocess"])


def from_file(said: Mapping[str, Any], path: str | Path) -> dict[str, Any]:
    """The settings with paths as a file at ``path`` has to write them."""
    folder = Path(path).resolve().parent
    samples = dict(said.get(SAMPLES, {}))
    for name in ("data", "preprocess"):
        if name in samples and (name == "data" or ".py:" in samples[name]):
            samples[name] = os.path.relpath(samples[name], folder)
    found = {**said, **{name: os.path.relpath(said[name], folder) for name in PATHS if name in said}}
    return {**found, SAMPLES: samples} if samples else found


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)
