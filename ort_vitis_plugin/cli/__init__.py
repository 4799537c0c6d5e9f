"""One file for each group of verbs of ``ort-vitis``: it declares their flags and answers them."""
# SPDX-License-Identifier: MIT
