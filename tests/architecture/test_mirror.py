"""Tests mirror the tree: a module of the host has a test file of its name, or stands here with where it is tested."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOST, TESTS = ROOT / "ort_vitis_plugin", ROOT / "tests"
MIRROR = TESTS / "ort_vitis_plugin"

# Tables of names and records of data do nothing that a test of their own could see fail; a few modules are one half of
# another, and are seen only through it.
ELSEWHERE = {
    "analysis/placement_forecast.py": "ort_vitis_plugin/pipeline/test_node_placement.py",
    "analysis/plot.py": "ort_vitis_plugin/cli/test_calibrate.py",
    "calibration/observe/channel_energy.py": "ort_vitis_plugin/calibration/test_channel_squares.py",
    "cli/metric_names.py": "ort_vitis_plugin/cli/test_tune.py",
    "cli/pair.py": "ort_vitis_plugin/cli/test_verbs.py",
    "cli/provenance.py": "ort_vitis_plugin/cli/test_verbs.py",
    "cli/verb.py": "ort_vitis_plugin/cli/test_verbs.py",
    "convert/known_kernels.py": "ort_vitis_plugin/convert/test_evaluation_twin.py",
    "convert/qlinear_ops.py": "ort_vitis_plugin/convert/test_qoperator.py",
    "convert/qlinear_site.py": "ort_vitis_plugin/convert/test_qoperator.py",
    "custom_ops/function_bodies.py": "ort_vitis_plugin/custom_ops/test_functions.py",
    "demo/train.py": "models/test_networks.py",
    "entry/quantize_static.py": "ort_vitis_plugin/entry/test_arguments.py",
    "entry/report_data.py": "ort_vitis_plugin/report/test_page.py",
    "measure/answers.py": "ort_vitis_plugin/measure/test_evaluation.py",
    "measure/judge.py": "ort_vitis_plugin/trials/test_tune.py",
    "measure/weight_errors.py": "ort_vitis_plugin/measure/test_layer_errors.py",
    "options/host_options.py": "ort_vitis_plugin/entry/test_client_defaults.py",
    "pipeline/calibrate.py": "kinds/test_calibration_data.py",
    "pipeline/calibrater_feed.py": "ort_vitis_plugin/plugin/test_methods.py",
    "pipeline/held_out.py": "ort_vitis_plugin/pipeline/test_recipe.py",
    "pipeline/subgraphs/names.py": "ort_vitis_plugin/pipeline/subgraphs/test_quantize.py",
    "pipeline/unknown_types.py": "kinds/test_ort_options.py",
    "pipeline/written_plan.py": "plugins/ort_vitis_finetune/test_finetune_plan.py",
    "plan/marks.py": "ort_vitis_plugin/planning/test_marker.py",
    "planning/constants.py": "kinds/test_overrides.py",
    "plugin/hookspecs.py": "ort_vitis_plugin/plugin/test_manager.py",
    "plugin/op_functions.py": "plugins/ort_vitis_block/test_block_writer.py",
    "presets/samples_settings.py": "ort_vitis_plugin/presets/test_toml_file.py",
    "report/report.py": "ort_vitis_plugin/report/test_tables.py",
    "trials/bench.py": "ort_vitis_plugin/trials/test_tune.py",
    "trials/candidates.py": "ort_vitis_plugin/trials/test_tune.py",
    "trials/scores.py": "ort_vitis_plugin/trials/test_tune.py",
}


def without_a_test_file() -> set[str]:
    """Modules of the host, packages' own files aside, that have no test file of their name."""
    modules = [file for file in HOST.rglob("*.py") if file.name != "__init__.py"]
    return {
        file.relative_to(HOST).as_posix()
        for file in modules
        if not (MIRROR / file.relative_to(HOST).parent / f"test_{file.name}").is_file()
    }


def test_every_module_has_its_tests() -> None:
    assert without_a_test_file() - ELSEWHERE.keys() == set()


def test_every_entry_is_a_module() -> None:
    assert [name for name in ELSEWHERE if not (HOST / name).is_file()] == []


def test_no_entry_has_a_test_file_of_its_name() -> None:
    assert ELSEWHERE.keys() - without_a_test_file() == set()


def test_entries_are_sorted() -> None:
    assert list(ELSEWHERE) == sorted(ELSEWHERE)


def test_the_named_files_hold_tests() -> None:
    assert [file for file in ELSEWHERE.values() if "def test_" not in (TESTS / file).read_text(encoding="utf-8")] == []
