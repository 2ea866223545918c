"""Call stacks of a path on one screen."""

from typing import Any

import pandas as pd

from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types


def frames_of(*rows: tuple[Any, ...]) -> pd.DataFrame:
    """Rows of `path_frames`: frame, parent, name, category, duration_ns and the name of a lag."""
    depth: dict[int, int] = {}
    found = []
    for frame, parent, name, category, duration_ns, *lag in rows:
        depth[frame] = 0 if parent is None else depth[parent] + 1
        found.append((frame, parent, depth[frame], 0, name, category, duration_ns, *(lag or (None,))))
    columns = find("path_frames").columns
    return in_types(pd.DataFrame(found, columns=[column.name for column in columns]), columns)
