"""How calls come in: our own function, onnxruntime's attached ones, and the request that they become."""
# SPDX-License-Identifier: MIT
