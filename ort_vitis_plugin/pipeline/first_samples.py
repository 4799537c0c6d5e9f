"""A step before calibration may look at samples, where they can be read again behind it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from ..data_readers import adapt_feed
from ..request.call import Call
from .corrections import real_samples

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..data_readers import Feed
    from ..plugin.context import Context


def first_samples(context: Context, model: ModelProto, most: int) -> list[Feed]:
    """At most so many of the caller's samples, as the model takes them; none where they are random or read once."""
    assert isinstance(context, Call)
    samples = context.ledger.samples
    if samples is None or not real_samples(context) or samples.is_read_once or not samples.rewind():
        return []
    feeds = [adapt_feed(model, feed) for feed in islice(samples, most)]
    samples.rewind()
    return feeds
