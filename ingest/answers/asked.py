"""What a report asks of a window: the parameters of its queries."""

from tracegraph.ingest.causal.segments import Window

DATA_LOADING, COMMUNICATION = "data loading", "communication"
TOPICS = {
    DATA_LOADING: ("enumerate(DataLoader)", "torch/utils/data/dataloader.py"),
    COMMUNICATION: ("nccl", "rccl", "gloo:", "mpi:", "ucc:", "xccl:", "c10d::", "record_param_comms"),
}
"""Beginnings of the names of events that are about a topic, with all that runs inside them."""
BEGINNINGS = tuple(beginning for beginnings in TOPICS.values() for beginning in beginnings)
ROWS = 10
"""Rows of what is nearly critical, and of second causes."""
_PIXELS = 4_000
_WAIT_ROWS, _WAIT_LEAST_PART = 20, 100
_NEAR_SLACK_PART, _NEAR_LEAST_PART = 10, 1_000

Parameters = dict[str, int | str]


def near_slack_ns(window: Window) -> int:
    """Up to which slack something is nearly critical: a 10th of the window."""
    return max(1, (window.end - window.start) // _NEAR_SLACK_PART)


def ask(window: Window, chain: int) -> dict[str, Parameters]:
    """Parameters of each query of a report, by name; `chain`: that of the window's sink.

    Waits count from a 100th of the window, what is nearly critical from a 1000th.
    """
    length = window.end - window.start
    between: Parameters = {"start_ns": window.start, "end_ns": window.end}
    walked: Parameters = {**between, "chain": chain}
    return {
        "critical_path": walked,
        "second_causes": {**walked, "limit": ROWS},
        "lane_timeline": {**between, "pixel_ns": max(1, length // _PIXELS)},
        "lane_waits": {**between, "least_ns": length // _WAIT_LEAST_PART, "limit": _WAIT_ROWS},
        "near_critical": {
            **between,
            "slack_ns": near_slack_ns(window),
            "least_ns": length // _NEAR_LEAST_PART,
            "limit": ROWS,
        },
        "events_about": {**between, "beginnings": "\n".join(BEGINNINGS)},
        "gpu_busy": between,
        "step_hotspots": {},
    }
