"""What is affine and constant goes into the weights before it."""
# SPDX-License-Identifier: MIT
