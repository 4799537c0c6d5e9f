"""Which nodes and tensors stay float, and why."""
# SPDX-License-Identifier: MIT
