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
    "__main__.py": "ort_vitis_plugin/cli/test_main.py",
    "analysis/placement_forecast.py": "ort_vitis_plugin/pipeline/test_node_placement.py",
    "analysis/plot.py": "ort_vitis_plugin/cli/test_calibrate.py",
    "calibration/observe/channel_energy.py": "ort_vitis_plugin/calibration/test_channel_squares.py",
    "cli/completion.py": "ort_vitis_plugin/cli/test_verbs.py",
    "cli/configuration.py": "ort_vitis_plugin/cli/test_verbs.py",
    "cli/device_report.py": "ort_vitis_plugin/analysis/test_device_report.py",
    "cli/docs.py": "ort_vitis_plugin/reference/test_pages.py",
    "cli/fix_shape.py": "ort_vitis_plugin/cli/test_shape_arguments.py",
    "cli/info.py": "ort_vitis_plugin/cli/test_verbs.py",
    "cli/metric_names.py": "ort_vitis_plugin/cli/test_tune_verb.py",
    "cli/pair.py": "ort_vitis_plugin/cli/test_verbs.py",
    "cli/provenance.py": "ort_vitis_plugin/cli/test_verbs.py",
    "cli/report.py": "ort_vitis_plugin/cli/test_report_verb.py",
    "cli/run.py": "ort_vitis_plugin/compat/test_client.py",
    "cli/tune.py": "ort_vitis_plugin/cli/test_tune_verb.py",
    "cli/verb.py": "ort_vitis_plugin/cli/test_verbs.py",
    "compat/at_start/sitecustomize.py": "ort_vitis_plugin/compat/test_client.py",
    "convert/known_kernels.py": "ort_vitis_plugin/convert/test_evaluation_twin.py",
    "convert/qlinear_ops.py": "ort_vitis_plugin/convert/test_qoperator.py",
    "convert/qlinear_site.py": "ort_vitis_plugin/convert/test_qoperator.py",
    "custom_ops/domains.py": "ort_vitis_plugin/custom_ops/test_qdq_nodes.py",
    "custom_ops/function_bodies.py": "ort_vitis_plugin/custom_ops/test_functions.py",
    "custom_ops/function_builder.py": "ort_vitis_plugin/custom_ops/test_functions.py",
    "custom_ops/op_usage.py": "ort_vitis_plugin/custom_ops/test_functions.py",
    "custom_ops/storage_types.py": "ort_vitis_plugin/custom_ops/test_functions.py",
    "custom_ops/stored_codes.py": "kinds/test_stored_weights.py",
    "data_readers/items.py": "ort_vitis_plugin/data_readers/test_data_objects.py",
    "data_readers/labels.py": "ort_vitis_plugin/measure/test_evaluation.py",
    "data_readers/sample_parts.py": "ort_vitis_plugin/data_readers/test_data_objects.py",
    "demo/train.py": "models/test_networks.py",
    "emission/provenance.py": "ort_vitis_plugin/request/test_provenance_facts.py",
    "entry/quantize_static.py": "ort_vitis_plugin/entry/test_arguments.py",
    "entry/report_data.py": "ort_vitis_plugin/report/test_page.py",
    "graph/op_sets.py": "kinds/test_moved_data.py",
    "graph/weighted_inputs.py": "ort_vitis_plugin/planning/test_weight_energies.py",
    "measure/answers.py": "ort_vitis_plugin/measure/test_evaluation.py",
    "measure/judge.py": "ort_vitis_plugin/trials/test_tune.py",
    "measure/weight_errors.py": "ort_vitis_plugin/measure/test_layer_errors.py",
    "onnx_io/model_hash.py": "ort_vitis_plugin/request/test_provenance_facts.py",
    "onnx_io/ort_support.py": "kinds/test_every_configuration.py",
    "onnx_io/output_types.py": "kinds/test_unstated.py",
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
    "report/verdict.py": "ort_vitis_plugin/pipeline/test_advice.py",
    "request/change.py": "ort_vitis_plugin/pipeline/test_advice.py",
    "request/mixed_types.py": "plugins/ort_vitis_block/test_mixed_types.py",
    "request/weight_blocks.py": "ort_vitis_plugin/pipeline/test_weight_only.py",
    "selection/node_types.py": "plugins/ort_vitis_block/test_mixed_types.py",
    "selection/requested_nodes.py": "ort_vitis_plugin/entry/test_arguments.py",
    "trials/bench.py": "ort_vitis_plugin/trials/test_tune.py",
    "trials/budget.py": "ort_vitis_plugin/trials/test_tune.py",
    "trials/mixed_types.py": "ort_vitis_plugin/trials/test_tune.py",
    "trials/scores.py": "ort_vitis_plugin/trials/test_tune.py",
    "trials/trial.py": "ort_vitis_plugin/trials/test_tune.py",
    "trials/trial_file.py": "ort_vitis_plugin/trials/test_tune.py",
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
