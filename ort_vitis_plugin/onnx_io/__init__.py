"""ONNX files and sessions: load, check, run and save, with large weights beside the message."""
# SPDX-License-Identifier: MIT
