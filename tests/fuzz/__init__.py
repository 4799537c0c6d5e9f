"""Deliberate attacks: whatever a call is given, it answers, or raises an error of ours."""
# SPDX-License-Identifier: MIT
