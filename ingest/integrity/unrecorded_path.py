"""How much of the path the file does not hold: gaps whose work has no row, and gaps without a reason."""

import numpy as np

from tracegraph.ingest.causal.graph.path_rows import Stretches, find_stretches
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.integrity_findings import Integrity, percent
from tracegraph.vocabulary.gaps import GAP_CODE, GAP_NAMES, LOST_WORK, NOT_IN_FILE, UNKNOWN

# Shares (0..1) of the path from which such gaps are a warning, and from which they are an error. Half is a
# majority; 5 % is the threshold of the rules about what a file lacks (`missing-work`, `unknown-gaps`), chosen
# by eye.
_MUCH, _MOST = 0.05, 0.5
_CONCERNED = (*NOT_IN_FILE, UNKNOWN)


def diagnose_path(model: Solution, integrity: Integrity) -> None:
    """Add the share of the path in gaps of `_CONCERNED`: a warning from 5 % on, an error from 50 % on."""
    rows = find_stretches(model)
    parts = {name: share for name, share in _shares(model, rows).items() if name in _CONCERNED}
    count = int(((rows.event < 0) & np.isin(rows.gap_name, [GAP_CODE[name] for name in _CONCERNED])).sum())
    share = sum(parts.values())
    named = ", ".join(
        f"{percent(part)} {name}" for name, part in sorted(parts.items(), key=lambda item: -item[1]) if part
    )
    message = f"stretches, {percent(share)} of the critical path, have no record of what ran: {named}"
    if share >= _MOST:
        integrity.add("path_mostly_unrecorded", count, message, share)
    elif share >= _MUCH:
        integrity.add("path_unrecorded", count, message, share)


def lost_share(model: Solution) -> float | None:
    """Compute the share of the path in gaps before which launches lost their work; None if it is 0."""
    return _shares(model, find_stretches(model))[LOST_WORK] or None


def _shares(model: Solution, rows: Stretches) -> dict[str, float]:
    is_gap = rows.event < 0
    spent = np.bincount(rows.gap_name[is_gap], rows.duration[is_gap], len(GAP_NAMES))
    total = max(model.window.end - model.window.start, 1)
    return {name: float(spent[GAP_CODE[name]]) / total for name in GAP_NAMES}
