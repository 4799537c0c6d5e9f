"""A team's configuration as a preset of a plugin that lives in the team's own program."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.api import Declaration, Preset, hookimpl
from ort_vitis_plugin.demo import data
from ort_vitis_plugin.plugin.manager import new_manager

OURS = Preset(
    "ours",
    "Sixteen-bit activations, eight-bit weights by channel.",
    arguments={"activation_type": "QInt16", "weight_type": "QInt8", "per_channel": True},
    recipe={"Target": "cpu", "Format": "VitisQuantFormat.QDQ", "Method": "MinMax"},
)


class TeamPlugin:
    """What the team declares."""

    @hookimpl
    def vitis_declare(self) -> Iterator[Declaration]:
        """The preset alone."""
        yield OURS


def main() -> None:
    """Quantize the demo with the preset."""
    manager = new_manager()
    manager.register(TeamPlugin(), "team")
    result = quantize_static(
        data.model_path(), None, data.calibration_reader(32), extra_options={"Preset": "ours"}, plugins=manager
    )
    print(result.report.configuration, result.report.sqnr)


if __name__ == "__main__":
    main()
