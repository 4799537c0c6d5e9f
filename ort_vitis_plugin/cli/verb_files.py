"""Every verb names its files by the same arguments, so one list tells what it reads and what it writes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse

from ..data_readers.sample_paths import sample_paths
from ..onnx_io.call_files import MODEL, CallFiles

# Argument, and what a message calls its file.
READ_MODELS = (("model", MODEL), ("quantized", "the quantized model"))
READ = (("calibration", "the calibration"), ("config", "the configuration"))
WRITTEN = (("output", "the output"), ("json", "the report"), ("html", "the report"))
BOTH = (("checkpoint", "the checkpoint"), ("trials", "the file of trials"))
FOLDERS = (("plot", "the folder of plots"),)


def command_files(arguments: argparse.Namespace) -> CallFiles:
    """The files of one command. ``folder_output``: its output is a folder."""
    given = vars(arguments)
    files = CallFiles()
    for name, what in READ_MODELS:
        files.read_model(given.get(name), what)
    files.reads += [(what, given[name]) for name, what in READ if isinstance(given.get(name), str)]
    files.reads += [("a file of the samples", path) for path in sample_paths(given.get("data"))]
    if isinstance(given.get("preprocess"), str) and ":" in given["preprocess"]:
        files.reads.append(("the file of the preprocessing", given["preprocess"].rpartition(":")[0]))
    folders = (*FOLDERS, ("output", "the output")) if given.get("folder_output") else FOLDERS
    written = [entry for entry in WRITTEN if entry not in folders]
    files.folders += [(what, given[name]) for name, what in folders if isinstance(given.get(name), str)]
    files.writes += [(what, given[name]) for name, what in written if isinstance(given.get(name), str)]
    files.both += [(what, given[name]) for name, what in BOTH if isinstance(given.get(name), str)]
    return files
