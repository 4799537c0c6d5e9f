"""A file of ours appears whole or not at all, and with the rights that any new file gets."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def whole_file(target: Path) -> Iterator[BinaryIO]:
    """A file to write that takes the place of ``target`` when the block ends; after an error nothing has changed."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(name, _rights(target))
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _rights(target: Path) -> int:
    """Those of the file that is replaced, else what the process's mask leaves: mkstemp's are for the owner alone."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
