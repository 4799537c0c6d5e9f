"""A graph in another element type, layout or spelling computes the same."""
# SPDX-License-Identifier: MIT
