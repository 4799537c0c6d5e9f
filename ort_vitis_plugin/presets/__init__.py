"""Configurations that have a name or lie in a file."""
# SPDX-License-Identifier: MIT
