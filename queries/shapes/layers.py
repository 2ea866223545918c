"""Repeated layers of a model as one: modules of one class below one frame, and all that they call."""

import pandas as pd

from tracegraph.vocabulary.python_frames import module_class


def with_layers_merged(frames: pd.DataFrame) -> pd.DataFrame:
    """Merge the modules of a class below one frame into one frame, in the rows of `path_frames`.

    What they call is merged in the same way. Several modules are named after their class, with the wildcard
    that `what-if` takes: `nn.Module: DecoderLayer_*`; a single one keeps its name.
    """
    first = frames[frames["frame"].notna()].drop_duplicates("frame").sort_values("depth", kind="stable")
    merged: dict[int, int] = {}
    kept: dict[tuple[int, str, str], int] = {}
    names: dict[int, str] = {}
    rows = zip(*(first[name].tolist() for name in ("frame", "parent", "name", "category")), strict=True)
    for frame, parent, name, category in rows:
        around = -1 if pd.isna(parent) else merged.get(int(parent), int(parent))
        kind = module_class(str(name))
        same = kept.setdefault((around, kind, str(category)), int(frame))
        merged[int(frame)] = same
        names[same] = kind if same != frame else str(name)
    if len(kept) == len(merged):
        return frames
    new = frames["frame"].map(merged).astype(frames["frame"].dtype)
    parents = frames["parent"].map(merged).astype(frames["parent"].dtype)
    named = new.map(names).where(new.notna(), frames["name"]).astype(frames["name"].dtype)
    return frames.assign(frame=new, parent=parents, name=named)
