"""A plan becomes nodes and initializers."""
# SPDX-License-Identifier: MIT
