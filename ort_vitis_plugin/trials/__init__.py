"""Many configurations tried on one calibration, and the best of them."""
# SPDX-License-Identifier: MIT
