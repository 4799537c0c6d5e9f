"""``ort-vitis convert-*`` and ``preprocess``: one rewrite of a model, written to a new file."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnx import ModelProto

    from ort_vitis_plugin.report import Report

# Verb: where its function lies in a bundled plugin, and what it says of itself.
CONVERTERS = {
    "convert-fp16-to-fp32": ("ort_vitis_prepare.convert_fp16_to_fp32:convert_fp16_to_fp32", "float16 to float32"),
    "convert-nchw-to-nhwc": ("ort_vitis_prepare.convert_nchw_to_nhwc:convert_nchw_to_nhwc", "images channels last"),
}


def add(verbs: Any) -> None:
    """Declare the verbs."""
    for verb, (home, text) in CONVERTERS.items():
        parser: argparse.ArgumentParser = verbs.add_parser(verb, help=text)
        parser.set_defaults(answer=answer, home=home)
        _files(parser)
    parser = verbs.add_parser("preprocess", help="onnxruntime's quant_pre_process: shapes and graph optimization")
    parser.set_defaults(answer=answer_preprocess)
    _files(parser)
    parser.add_argument("--skip-optimization", action="store_true")
    parser.add_argument("--skip-symbolic-shape", action="store_true")
    parser.add_argument("--auto-merge", action="store_true", help="merge symbolic dimensions that conflict")


def _files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("-o", "--output", metavar="OUT", required=True)
    parser.add_argument("--external-data", action="store_true", help="write the weights to a file of their own")


def converter(home: str) -> Any:
    """The function behind ``module:name``; the plugins are on the path once the catalog is read."""
    from ort_vitis_plugin.catalog import shared_catalog

    shared_catalog()
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


def save(model: ModelProto, output: str, source: str, *, external_data: bool) -> None:
    """Write the whole file or nothing; never over the source."""
    from ort_vitis_plugin.loading import check_output
    from ort_vitis_plugin.request import Request
    from ort_vitis_plugin.saving import save_model

    request = Request(source, output, None, None, None, None, None)
    path = check_output(request)
    assert path is not None
    save_model(model, path, external_data=external_data)
    print(f"written: {path}")


def answer(arguments: argparse.Namespace) -> int:
    """Convert, say what was done, write."""
    from ort_vitis_plugin.loading import load_model
    from ort_vitis_plugin.report import Report

    report: Report = Report()
    model = converter(arguments.home)(load_model(arguments.model), report)
    for text in report.notes:
        print(text)
    save(model, arguments.output, arguments.model, external_data=arguments.external_data)
    return 0


def answer_preprocess(arguments: argparse.Namespace) -> int:
    """Run quant_pre_process on a copy, then write."""
    from ort_vitis_plugin.loading import load_model
    from ort_vitis_plugin.preprocessing import preprocess

    model = preprocess(
        load_model(arguments.model),
        skip_optimization=arguments.skip_optimization,
        skip_symbolic_shape=arguments.skip_symbolic_shape,
        auto_merge=arguments.auto_merge,
    )
    save(model, arguments.output, arguments.model, external_data=arguments.external_data)
    return 0
