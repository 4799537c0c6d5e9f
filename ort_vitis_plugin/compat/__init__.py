"""Scripts of older packages find their names here: in one process, and only those that were asked for."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .install import install, served_packages, uninstall

__all__ = ["install", "served_packages", "uninstall"]
