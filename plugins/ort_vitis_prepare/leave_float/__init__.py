"""What codes would ruin stays float."""
# SPDX-License-Identifier: MIT
