"""Sums over the rows of a path by name and by category."""

import pandas as pd

_MOST_GAPS = 100


def largest_events(rows: pd.DataFrame, work: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return the events on the path by name and category, longest first, as the query `hotspots`.

    `work`: all work on the lanes.
    """
    events = rows[rows["source_index"].notna()]
    found = _largest(events, events.drop_duplicates(["rank", "source_index"]), rows, most)
    kind = ["name", "category"]
    all_time = work.groupby(kind, observed=True)["duration_ns"].sum().reset_index()
    found = found.merge(all_time.rename(columns={"duration_ns": "accumulated_ns"}), on=kind, how="left")
    one_step = [name[:13] if name.startswith("ProfilerStep#") else name for name in all_time["name"]]
    sums = all_time.assign(name=one_step).groupby(kind)["duration_ns"].sum().reset_index()
    ranked = sums.sort_values(["duration_ns", *kind], ascending=[False, True, True])
    places = {key: place for place, key in enumerate(zip(ranked["name"], ranked["category"], strict=True), 1)}
    shown = [name[:13] if name.startswith("ProfilerStep#") else name for name in found["name"]]
    found["accumulated_place"] = [places[key] for key in zip(shown, found["category"], strict=True)]
    return found


def largest_gaps(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the gaps on the path by name, longest first, as the query `path_gaps`."""
    gaps = rows[rows["source_index"].isna()]
    return _largest(gaps, gaps, rows, _MOST_GAPS)


def composition(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the categories on the path, longest first, as the query `path_composition`."""
    lengths = rows.assign(duration_ns=rows["end_ns"] - rows["start_ns"])
    sums = lengths.groupby("category", observed=True)["duration_ns"].sum().reset_index()
    events = rows[rows["source_index"].notna()].drop_duplicates(["rank", "source_index"])
    counts = events.groupby("category", observed=True).size()
    sums["share"] = sums["duration_ns"] / int(lengths["duration_ns"].sum())
    sums["count"] = sums["category"].map(counts).fillna(0).astype("int64")
    return sums.sort_values(["duration_ns", "category"], ascending=[False, True]).reset_index(drop=True)


def _largest(chosen: pd.DataFrame, counted: pd.DataFrame, rows: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return the sums of the chosen rows, with the number of those counted."""
    kind = ["name", "category"]
    lengths = chosen[kind].assign(duration_ns=chosen["end_ns"] - chosen["start_ns"], count=0)
    sums = lengths.groupby(kind, sort=False, observed=True).sum()
    sums["count"] = counted.groupby(kind, sort=False, observed=True).size()
    # Categories would be sorted by their codes.
    named = sums.reset_index().astype(dict.fromkeys(kind, object))
    ordered = named.sort_values(["duration_ns", *kind], ascending=[False, True, True])
    listed = ordered.head(most).reset_index(drop=True)
    window_ns = int(rows["end_ns"].iloc[-1] - rows["start_ns"].iloc[0]) if len(rows) else 1
    shares = {"proportion": max(1, int(listed["duration_ns"].sum())), "prop_in_total": max(1, window_ns)}
    for name, whole in shares.items():
        listed[name] = listed["duration_ns"] / whole
    return listed[["name", "category", "duration_ns", "proportion", "prop_in_total", "count"]]
