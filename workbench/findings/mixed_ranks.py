"""Tells whether the input mixes work of several ranks, so that no number describes one of them."""

from tracegraph.workbench.findings.findings import Findings

_MIXED = ("ranks_merged", "stream_shared")
"""Findings about the input that mean that all of its GPU work may be mixed."""
_SHARED, _PART = "device_shared", 0.1
"""The finding that states which share of the work is mixed, and the share from which on it counts."""
ADVICE = (
    "Report on the files of the ranks, or split this one: `tracegraph convert FILE rank0.json --process "
    "PID`, with a `--process` for each process of a rank, and once for each rank."
)


def mixed_share(findings: Findings) -> float:
    """Return how much of the GPU's work, 0..1, may belong to another rank than it seems; 0 for none."""
    rows = findings.details.integrity
    if any(row["code"] in _MIXED for row in rows):
        return 1.0
    shared = (row["share"] for row in rows if row["code"] == _SHARED)
    return max(
        (float(str(share)) for share in shared if share is not None and float(str(share)) >= _PART),
        default=0.0,
    )
