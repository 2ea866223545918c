"""The queries about the critical path: in time order, by call stack, by step and by phase."""

from tracegraph.queries.shapes.derived_query import Derived
from tracegraph.queries.shapes.path.inside import INSIDE_COLUMNS, path_inside
from tracegraph.queries.shapes.path.outline import OUTLINE_COLUMNS, path_outline
from tracegraph.queries.shapes.path.phase_sums import PHASE_COLUMNS, phase_paths
from tracegraph.queries.shapes.path.recurring_hotspots import RECURRING_COLUMNS, recurring_hotspots
from tracegraph.queries.shapes.path.rows import PATH_COLUMNS, path_rows
from tracegraph.queries.shapes.path.step_paths import STEP_COLUMNS, step_paths

PATH = (
    Derived(
        "critical_path",
        "The rows of a window's critical path in time order: events and named gaps that tile it.",
        ("path_segments", "lanes"),
        PATH_COLUMNS,
        path_rows,
    ),
    Derived(
        "path_outline",
        "Where in my code a window's critical path runs: the call stacks that hold most of it.",
        ("path_frames",),
        OUTLINE_COLUMNS,
        path_outline,
    ),
    Derived(
        "path_inside",
        "How much of a window's critical path runs inside each name, or was launched from inside it.",
        ("path_frames",),
        INSIDE_COLUMNS,
        path_inside,
    ),
    Derived(
        "step_paths",
        "The critical path of every step in one row: length, composition, outliers.",
        ("steps", "step_hotspots"),
        STEP_COLUMNS,
        step_paths,
    ),
    Derived(
        "phase_paths",
        "The phases of all steps by name: how long they are, and what their critical paths are made of.",
        ("phases", "phase_hotspots"),
        PHASE_COLUMNS,
        phase_paths,
    ),
    Derived(
        "recurring_hotspots",
        "What recurs on the critical paths of the steps: events and gaps by name.",
        ("step_hotspots", "steps"),
        RECURRING_COLUMNS,
        recurring_hotspots,
    ),
)
