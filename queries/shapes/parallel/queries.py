"""The queries about kinds of parallelism."""

from tracegraph.queries.shapes.derived_query import Derived, any_rows
from tracegraph.queries.shapes.parallel.bucket_sizes import (
    BUCKET_COLUMNS,
    BUCKET_PARAMETERS,
    GRADIENTS,
    ddp_bucket_sizes,
)
from tracegraph.queries.shapes.parallel.gathers import GATHER_COLUMNS, GATHER_VALUES, gathers
from tracegraph.queries.shapes.parallel.layer_communication import LAYER_COLUMNS, layer_communication
from tracegraph.queries.shapes.parallel.pipeline import PIPELINE_COLUMNS, PIPELINE_PARAMETERS, pipeline
from tracegraph.queries.shapes.parallel.pipeline_timeline import (
    TIMELINE_COLUMNS,
    TIMELINE_PARAMETERS,
    pipeline_timeline,
)
from tracegraph.queries.shapes.parallel.stages import MESSAGES
from tracegraph.vocabulary.python_frames import MODULE

_LAUNCHED = {"talking": MESSAGES["talking"], "modules": MODULE}
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
    Derived(
        "pipeline_timeline",
        "What each stage of a pipeline does when, in the step of middle length: passes, transfers, waits.",
        ("stage_work", "steps", "phases"),
        TIMELINE_COLUMNS,
        pipeline_timeline,
        fixed={**MESSAGES, "rank": None},
        parameters=TIMELINE_PARAMETERS,
    ),
    Derived(
        "layer_communication",
        "How long each layer of a model computes, communicates and waits for other ranks, in each phase.",
        ("layer_work", "phases"),
        LAYER_COLUMNS,
        layer_communication,
        fixed=_LAUNCHED,
    ),
    Derived(
        "gathers",
        "When gathers of sharded parameters are launched, run and are needed, and how many modules ahead.",
        ("gather_work", "gather_marks", "layer_work", "phases"),
        GATHER_COLUMNS,
        gathers,
        fixed={**_LAUNCHED, **GATHER_VALUES},
        due_if=any_rows,
    ),
    Derived(
        "ddp_bucket_sizes",
        "How long steps would take with other sizes of DDP's buckets, or why that cannot be told.",
        ("ddp_buckets", "gradient_times", "steps", "transfers", "traces", "stated_transfers"),
        BUCKET_COLUMNS,
        ddp_bucket_sizes,
        fixed=GRADIENTS,
        parameters=BUCKET_PARAMETERS,
        due_if=any_rows,
    ),
)
