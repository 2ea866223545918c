"""Whether work of several ranks is mixed up in the input, so that no number says anything of one of them."""

from tracegraph.workbench.findings.findings import Findings

_MIXED = ("ranks_merged", "stream_shared")
_SHARED, _PART = "device_shared", 0.1
ADVICE = (
    "Report on the files of the ranks, or split this one: `tracegraph convert FILE rank0.json --process "
    "PID`, with a `--process` for each process of a rank, and once for each rank."
)


def mixed_share(findings: Findings) -> float:
    """How much of the GPU's work, 0..1, may be of another rank than it seems; 0 for none."""
    rows = findings.details.integrity
    if any(row["code"] in _MIXED for row in rows):
        return 1.0
    shared = (row["share"] for row in rows if row["code"] == _SHARED)
    return max(
        (float(str(share)) for share in shared if share is not None and float(str(share)) >= _PART),
        default=0.0,
    )
