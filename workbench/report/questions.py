"""What a report asks about a window: its queries with their parameters."""

from collections.abc import Mapping

from tracegraph.queries.runs import RunWindow

DATA_LOADING, COMMUNICATION = "data loading", "communication"
TOPICS = {
    DATA_LOADING: ("enumerate(DataLoader)", "torch/utils/data/dataloader.py"),
    COMMUNICATION: (
        *("nccl", "rccl", "gloo:", "mpi:", "ucc:", "xccl:", "c10d::", "record_param_comms"),
        # Dispatch and combine of experts; a kernel made from a template begins with what it returns.
        *("deep_ep::", "void deep_ep::", "dpsk::ep", "void dpsk::ep"),
    ),
}
"""Beginnings of the names of events that are about a topic, with all that runs inside them."""
ROWS = 10
"""Rows of what is nearly critical, of second causes and of what recurs."""
MOST = 1_000_000
"""Rows of which none is left out."""
_PIXELS = 4_000
_WAIT_ROWS, _WAIT_LEAST_PART = 20, 100
_NEAR_SLACK_PART, _NEAR_LEAST_PART = 10, 1_000

Parameters = Mapping[str, object]


def near_slack_ns(window: RunWindow) -> int:
    """Up to which slack something is nearly critical: a 10th of the window."""
    return max(1, (window.end_ns - window.start_ns) // _NEAR_SLACK_PART)


def questions(run: str, window: RunWindow, step: int | None) -> dict[str, Parameters]:
    """Parameters of each query of a report on a window of a run, by name, those that take longest first.

    Waits count from a 100th of the window, what is nearly critical from a 1000th. Steps are compared where
    the report is not on one of them.
    """
    length = window.end_ns - window.start_ns
    whole = {"run": run}
    between = {**whole, "start_ns": window.start_ns, "end_ns": window.end_ns}
    walked = {**between, "chain": window.chain}
    beginnings = [beginning for of_topic in TOPICS.values() for beginning in of_topic]
    steps = {"step_paths": whole, "recurring_hotspots": whole} if step is None else {}
    return {
        **steps,
        # All of them: what the path is made of are their sums.
        "hotspots": {**walked, "limit": MOST},
        "second_causes": {**walked, "limit": ROWS},
        "path_gaps": walked,
        "near_critical": {
            **between,
            "slack_ns": near_slack_ns(window),
            "least_ns": length // _NEAR_LEAST_PART,
            "limit": ROWS,
        },
        "lane_waits": {**between, "least_ns": length // _WAIT_LEAST_PART, "limit": _WAIT_ROWS},
        "events_about": {**between, "beginnings": "\n".join(beginnings)},
        "gpu_busy": between,
        "lanes": whole,
        "steps": whole,
        "traces": whole,
    }


def drawing_questions(run: str, window: RunWindow) -> dict[str, Parameters]:
    """As `questions`, what only a report with pictures asks: the work on all lanes, merged to pixels."""
    pixel_ns = max(1, (window.end_ns - window.start_ns) // _PIXELS)
    between = {"run": run, "start_ns": window.start_ns, "end_ns": window.end_ns}
    return {"lane_timeline": {**between, "pixel_ns": pixel_ns}}
