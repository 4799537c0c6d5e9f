"""Cross-layer equalization: channels of consecutive layers share the range that one scale per tensor has."""
# SPDX-License-Identifier: MIT
