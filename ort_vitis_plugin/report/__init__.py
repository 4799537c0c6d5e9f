"""What a call tells: the report, its tables, and progress on a terminal."""
# SPDX-License-Identifier: MIT
