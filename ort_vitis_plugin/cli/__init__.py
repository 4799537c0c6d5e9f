"""One file for each group of verbs of ``ort-vitis``: it adds their arguments to a parser and answers them."""
# SPDX-License-Identifier: MIT
