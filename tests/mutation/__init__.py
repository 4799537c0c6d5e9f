"""Mutation testing: a change of the code that no test of its room notices shows a test that is missing."""
# SPDX-License-Identifier: MIT
