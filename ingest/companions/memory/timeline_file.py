"""Reads memory timelines: what `torch.profiler`'s `export_memory_timeline(FILE.raw.json.gz)` writes."""

import msgspec
import numpy as np
import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.vocabulary.memory import TIMELINE_CLASSES

_HINT = "write it again with profiler.export_memory_timeline('FILE.raw.json.gz')"
_ACTIONS = (1, 2, 3, 4)
"""There before the recording, created, another version (less of one class, more of another), destroyed."""
_DESTROYED = 4
_MOST_ROWS = 5_000_000
"""Rows from which on a timeline is refused. It bounds memory, as each row is a tuple of Python first."""
_START = b"[["
_Row = tuple[int, int, int, int]


def is_timeline(data: memoryview) -> bool:
    """Tell whether content begins as a list of lists, as no other file that is read does."""
    return b"".join(bytes(data[:64]).split()).startswith(_START)


def read_timeline(path: str, data: memoryview) -> pd.DataFrame:
    """Read a timeline as changes of classes: place, at_ns (null: before the recording), class, bytes.

    All changes of one time have one place, since PyTorch states the order within it by chance.

    Raises
    ------
    InputError
        It is no list of [ns, action, bytes, class], or has over five million rows.
    """
    if bytes(data).count(b"[") > _MOST_ROWS:
        raise InputError(f"{path} holds more than {_MOST_ROWS:,} changes of memory", "record fewer steps")
    try:
        rows = msgspec.json.decode(data, type=list[_Row])
        table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    except (msgspec.DecodeError, OverflowError, RecursionError) as error:
        raise InputError(f"{path} is no memory timeline: {error}", _HINT) from None
    at_ns, action, size, number = table.T
    if not len(rows) or not np.isin(action, _ACTIONS).all() or not np.isin(number, range(8)).all():
        raise InputError(f"{path} is no memory timeline: it holds other actions or classes", _HINT)
    signed = np.where(action == _DESTROYED, -np.abs(size), size)
    changes = pd.DataFrame(
        {
            "place": np.unique(at_ns, return_inverse=True)[1],
            "at_ns": pd.array(at_ns, "Int64"),
            "class": np.array(TIMELINE_CLASSES)[number],
            "bytes": signed,
        }
    )
    changes.loc[at_ns < 0, "at_ns"] = pd.NA
    return changes
