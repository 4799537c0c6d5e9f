"""Every verb names its files by the same parameters, so one list tells what it reads and what it writes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..data_readers.sample_paths import sample_paths
from ..onnx_io.call_files import MODEL, CallFiles
from ..onnx_io.whole_file import is_stream
from ..trials.output_files import output_files

# Parameter, and what a message calls its file.
READ_MODELS = (("model", MODEL), ("quantized", "the quantized model"), ("float_model", "the float model"))
READ = (
    ("calibration", "the calibration"),
    ("config", "the configuration"),
    ("labels", "the file of labels"),
    ("report", "the provider's report"),
    ("trials", "the file of trials"),
)
WITH_FUNCTION = (("preprocess", "the file of the preprocessing"), ("metric", "the file of the metric"))
OUTPUT = ("output", "the output")
WRITTEN = (
    OUTPUT,
    ("json", "the file of results"),
    ("html", "the report"),
    ("save_config", "the saved configuration"),
)
BOTH = (("checkpoint", "the checkpoint"),)
FOLDERS = (("plot", "the folder of plots"), ("folder", "the folder of the demo"), ("cache", "the provider's cache"))
SEARCHES, AUTO = ("tune",), "auto"  # verbs, and a preset, that try configurations
INTO_FOLDER = ("dump",)  # verbs whose output is a folder
FILE_OR_FOLDER = ("quantize",)  # and whose output may be one


def command_files(verb: str, given: Mapping[str, Any]) -> CallFiles:
    """The files of one command: ``given`` holds what its parameters say, by their names."""
    files = CallFiles()
    models = given.get("models", ())
    for model in models:
        files.read_model(model)
    for name, what in READ_MODELS:
        files.read_model(given.get(name), what)
    files.reads += _named(READ, given)
    files.reads += [("a file of the samples", path) for path in sample_paths(given.get("data"))]
    for what, text in _named(WITH_FUNCTION, given):
        if ".py:" in text:
            files.reads.append((what, text.rpartition(":")[0]))
    output = given.get("output") or ""
    may_be_folder = verb in FILE_OR_FOLDER and not is_stream(output)
    is_folder = verb in INTO_FOLDER or (may_be_folder and (len(models) > 1 or os.path.isdir(output)))
    files.folders += _named((*FOLDERS, OUTPUT) if is_folder else FOLDERS, given)
    files.writes += _named([entry for entry in WRITTEN if not (is_folder and entry == OUTPUT)], given)
    files.both += _named(BOTH, given)
    if isinstance(given.get("output"), str) and (verb in SEARCHES or given.get("preset") == AUTO):
        files.writes += output_files(output).named()
    return files


def _named(entries: Any, given: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(what, given[name]) for name, what in entries if isinstance(given.get(name), str)]
