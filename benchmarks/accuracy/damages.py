"""Damages of recordings on top of those that the oracle's vary.py makes."""

from typing import Any

from tracegraph.store.categories import Role, has_role

UNNAMED_WAITS = "unnamed_waits"
"""Calls that wait have names of their own, and no row says what they wait for."""
_RENAMED = {
    "cudaStreamSynchronize": "vrtQueueDrain",
    "cudaDeviceSynchronize": "vrtFinishAll",
    "cudaEventSynchronize": "vrtFenceReached",
}
_NOTHING = {"ph": "M", "name": "process_sort_index", "pid": 0, "tid": 0, "args": {"sort_index": 0}}


def _without_names(document: dict[str, Any]) -> dict[str, Any]:
    """Positions stay, so that the truth does."""
    return {**document, "traceEvents": [_unnamed(event) for event in document["traceEvents"]]}


def _unnamed(event: dict[str, Any]) -> dict[str, Any]:
    if has_role(event.get("cat"), Role.SYNC):
        return _NOTHING
    return {**event, "name": _RENAMED.get(event["name"], event["name"])}


OWN = {UNNAMED_WAITS: _without_names}
"""By name what each makes of a Kineto document."""
