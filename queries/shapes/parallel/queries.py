"""The queries about kinds of parallelism."""

from tracegraph.queries.shapes.derived_query import Derived
from tracegraph.queries.shapes.parallel.pipeline import (
    MESSAGES,
    PIPELINE_COLUMNS,
    PIPELINE_PARAMETERS,
    pipeline,
)

PARALLEL = (
    Derived(
        "pipeline",
        "What the stages of a pipeline compute in each step, and their bubble beside that of schedules.",
        ("stage_work", "steps", "phases"),
        PIPELINE_COLUMNS,
        pipeline,
        fixed={**MESSAGES, "rank": None},
        parameters=PIPELINE_PARAMETERS,
    ),
)
