"""Plugins: three hooks, what they declare, and the catalog of all declarations."""
# SPDX-License-Identifier: MIT
