"""One call being answered: its settings, what happens on the way, and names that follow renames."""
# SPDX-License-Identifier: MIT
