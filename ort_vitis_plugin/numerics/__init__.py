"""Types, positions and the arithmetic of quantization."""
# SPDX-License-Identifier: MIT
