"""The peaks of the devices of a run, for what runs on them."""

import json

import pandas as pd

from tracegraph.vocabulary.device_peaks import TF32, Peaks
from tracegraph.vocabulary.work_kinds import ON_MATRIX_UNITS

_PLAIN = "float32"
"""The type whose matrix products may run as TF32, and whose peak bounds work without matrix units."""


def device_names(files: pd.DataFrame) -> dict[int, list[str]]:
    """Read the names of the devices of each rank from the rows of `traces`."""
    return {int(row["rank"]): json.loads(row["devices"] or "[]") for row in files.to_dict("records")}


def device_of(names: list[str], device: int | None) -> str | None:
    """Return the name of a device: by its number, or that of all devices if they are of one kind."""
    if device is not None and 0 <= device < len(names):
        return names[device] or None
    return names[0] or None if len(set(names)) == 1 else None


def ceilings(peaks: Peaks | None, dtype: str | None, work: str | None) -> list[float]:
    """Return the peaks in FLOP/s that the work may have run at.

    For products of float32 these are those with and without TF32, otherwise there is one or none.

    Parameters
    ----------
    dtype
        The type of the elements, by the name of `vocabulary.element_types`.
    work
        The kind of the operator's work, one of `vocabulary.work_kinds`.
    """
    if peaks is None or dtype is None:
        return []
    types = [dtype, *([TF32] if dtype == _PLAIN else [])] if work in ON_MATRIX_UNITS else [_PLAIN]
    return [peaks.flop_per_s[name] for name in types if name in peaks.flop_per_s]
