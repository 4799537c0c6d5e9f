"""Options and arguments of one call: declared once, checked once, read by attribute."""
# SPDX-License-Identifier: MIT
