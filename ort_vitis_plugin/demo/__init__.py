"""A small trained network and the digits that calibrate and judge it."""

# SPDX-License-Identifier: MIT
