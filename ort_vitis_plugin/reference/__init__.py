"""Generated documentation: tables and the manual's names."""
# SPDX-License-Identifier: MIT
