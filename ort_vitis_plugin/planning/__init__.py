"""From marked tensors to a plan: each tensor's parameters, the biases', and which pairs vanish."""
# SPDX-License-Identifier: MIT
