"""The site: Markdown pages as they lie here."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

project = "ort_vitis_plugin"
author = "The authors of ort_vitis_plugin"
extensions = ["myst_parser"]
html_theme = "alabaster"
html_static_path = ["_static"]
html_theme_options = {"page_width": "1100px", "description": "Quantize ONNX models for AMD NPUs"}
exclude_patterns = ["_build", "examples"]
nitpicky = True
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
