"""``python -m ort_vitis_plugin`` is ``ort-vitis``."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys

from .cli.main import main

if __name__ == "__main__":
    sys.exit(main())
