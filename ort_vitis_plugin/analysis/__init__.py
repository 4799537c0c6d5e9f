"""What can be known of a model before or after a call."""
# SPDX-License-Identifier: MIT
