"""Who makes a call: the line of the user's that it is made from, else the operator."""

from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.vocabulary.categories import Role, has_role
from tracegraph.vocabulary.python_frames import MODULE, is_library


def caller_of(graph: ReplayGraph, event: int) -> str:
    """` in NAME, from LINE` as far as the file has it, else nothing."""
    calls, operator, line = graph.calls, None, None
    at = event
    while at >= 0 and line is None:
        name, category = str(calls.name[at]), str(calls.category[at])
        if has_role(category, Role.OPERATOR) and operator is None:
            operator = name
        if has_role(category, Role.FRAME) and not name.startswith(MODULE) and not is_library(name, category):
            line = name
        at = int(calls.parent[at])
    called = str(calls.name[event])
    parts = [f" in {called}" if operator in (None, called) else f" in {called} of {operator}"]
    return "".join([*parts, f", from {line}" if line else ""])
