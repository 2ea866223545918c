"""The queries about what GPUs do."""

from tracegraph.queries.shapes.derived_query import Derived
from tracegraph.queries.shapes.gpu.idle import (
    CAUSE_COLUMNS,
    EMPTY_WHEN,
    FRAME_COLUMNS,
    LEAST_IDLE,
    MOST_CAUSES,
    idle_causes,
    idle_frames,
    idle_inside,
)
from tracegraph.queries.shapes.path.inside import IDLE_COLUMNS
from tracegraph.queries.shapes.peak.products import LOADING

IDLE_TIME = (
    Derived(
        "idle_causes",
        "Why GPUs are idle: what the next work of an idle rank waits for meanwhile, by the dependencies that "
        "bind its start.",
        ("idle_stretches", "frame_tree", "lanes"),
        CAUSE_COLUMNS,
        idle_causes,
        fixed=LOADING,
        parameters=(LEAST_IDLE, MOST_CAUSES),
        empty_when=EMPTY_WHEN,
    ),
    Derived(
        "idle_frames",
        "Where in the call stacks the time goes in which GPUs are idle: the tree of frames, with the idle "
        "time in each.",
        ("idle_stretches", "frame_tree"),
        FRAME_COLUMNS,
        idle_frames,
        fixed=LOADING,
        parameters=(LEAST_IDLE,),
        empty_when=EMPTY_WHEN,
    ),
    Derived(
        "idle_inside",
        "How much of the idle time of GPUs goes by inside each name, or before what was launched inside it.",
        ("idle_stretches", "frame_tree"),
        IDLE_COLUMNS,
        idle_inside,
        fixed=LOADING,
        parameters=(LEAST_IDLE,),
        empty_when=EMPTY_WHEN,
    ),
)
