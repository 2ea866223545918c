"""The queries about the use of links, and about communication behind computing."""

from tracegraph.queries.shapes.derived_query import Derived
from tracegraph.queries.shapes.links.link_use import (
    LINK_COLUMNS,
    LINK_PARAMETERS,
    link_use,
    with_link_checked,
)
from tracegraph.queries.shapes.links.step_overlap import OVERLAP_COLUMNS, step_overlap

LINK_USE = (
    Derived(
        "step_overlap",
        "How much of the communication of each step of each rank runs while something computes.",
        ("busy_stretches", "steps", "traces"),
        OVERLAP_COLUMNS,
        step_overlap,
        empty_when="no communication runs on a GPU in the window",
    ),
    Derived(
        "link_use",
        "Algorithm and bus bandwidth of operations by kind, group and size, and their share of the link.",
        ("transfers", "traces"),
        LINK_COLUMNS,
        link_use,
        parameters=LINK_PARAMETERS,
        settle=with_link_checked,
    ),
)
