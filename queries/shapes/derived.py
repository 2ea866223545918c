"""The queries that are made from the rows of Cypher modules: `DERIVED` lists them all."""

from tracegraph.queries.shapes.derived_query import Derived, any_rows
from tracegraph.queries.shapes.differences import DIFFERENCES
from tracegraph.queries.shapes.gpu.busy import BUSY_COLUMNS, gpu_busy
from tracegraph.queries.shapes.gpu.queries import IDLE_TIME
from tracegraph.queries.shapes.gpu.roofline import ROOFLINE_COLUMNS, roofline
from tracegraph.queries.shapes.lateness import LATE_COLUMNS, late_causes
from tracegraph.queries.shapes.links.queries import LINK_USE
from tracegraph.queries.shapes.outliers import (
    OUTLIER_COLUMNS,
    OUTLIER_PARAMETERS,
    may_stand_out,
    outliers,
)
from tracegraph.queries.shapes.parallel.queries import PARALLEL
from tracegraph.queries.shapes.path.queries import PATH
from tracegraph.queries.shapes.peak.queries import PEAK_USE
from tracegraph.queries.shapes.replay_rows import (
    BOUND_COLUMNS,
    FIX_COLUMNS,
    OPERATION_STRAGGLER_COLUMNS,
    RUN_COLUMNS,
    bound_rows,
    fix_rows,
    run_rows,
    straggler_rows,
)
from tracegraph.queries.shapes.series import (
    ABOUT_COLUMNS,
    BANDWIDTH_COLUMNS,
    QUEUE_COLUMNS,
    events_about,
    memory_bandwidth_series,
    queue_length_series,
)
from tracegraph.queries.shapes.stragglers import STRAGGLER_COLUMNS, potential_stragglers
from tracegraph.queries.shapes.transfers.queries import TRANSFERS

DERIVED = (
    Derived(
        "potential_stragglers",
        "The ranks that others wait for in collectives, those first that set the pace of most steps.",
        ("rank_waits", "step_waits"),
        STRAGGLER_COLUMNS,
        potential_stragglers,
    ),
    Derived(
        "late_causes",
        "What makes a rank late: what it does more of than the middle rank, as far as that is on the path.",
        ("rank_waits", "rank_work", "rank_gaps", "path_frames", "steps"),
        LATE_COLUMNS,
        late_causes,
        due_if=any_rows,
    ),
    Derived(
        "roofline",
        "How near each operator comes to what its device can do: FLOPs a byte, FLOP/s, and what bounds it.",
        ("operator_work", "counted_work", "traces"),
        ROOFLINE_COLUMNS,
        roofline,
    ),
    Derived(
        "gpu_busy",
        "How each GPU spends a window: computing, moving data, waiting for other ranks, or idle.",
        ("gpu_work_times",),
        BUSY_COLUMNS,
        gpu_busy,
    ),
    Derived(
        "events_about",
        "Where events run in a window whose names begin in one of several ways, and GPU work of one type.",
        ("times_about",),
        ABOUT_COLUMNS,
        events_about,
    ),
    Derived(
        "outliers",
        "Events that last far longer than others of their name, and take much of a window.",
        ("lanes", "long_names"),
        OUTLIER_COLUMNS,
        outliers,
        parameters=OUTLIER_PARAMETERS,
        empty_when="nothing stands out so",
        due_if=may_stand_out,
    ),
    Derived(
        "queue_length_series",
        "How much work is queued on each stream over time: launched and not begun, a row a change.",
        ("queue_points",),
        QUEUE_COLUMNS,
        queue_length_series,
    ),
    Derived(
        "memory_bandwidth_series",
        "The bandwidth of copies and memsets over time, by kind, a row a change.",
        ("bandwidth_points",),
        BANDWIDTH_COLUMNS,
        memory_bandwidth_series,
    ),
    Derived(
        "runs",
        "All runs of the workspace, newest first.",
        ("stored_runs",),
        RUN_COLUMNS,
        run_rows,
    ),
    Derived(
        "bounds",
        "What bounds a run: its length where each resource takes no time, alone, and what no schedule beats.",
        ("run_details",),
        BOUND_COLUMNS,
        bound_rows,
    ),
    Derived(
        "fixes",
        "What could be done about a run: the fixes that it shows, and what each of them gains.",
        ("run_details",),
        FIX_COLUMNS,
        fix_rows,
    ),
    Derived(
        "operation_stragglers",
        "How much slower a step is since operations of a type differ, by type, dp rank, stage and worker.",
        ("run_details",),
        OPERATION_STRAGGLER_COLUMNS,
        straggler_rows,
    ),
    *PATH,
    *IDLE_TIME,
    *PEAK_USE,
    *LINK_USE,
    *TRANSFERS,
    *PARALLEL,
    *DIFFERENCES,
)
