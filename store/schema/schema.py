"""The graph schema: labels, relationship types, properties and units, declared in this one place.

DDL, loaders, docs and the checks of Cypher modules derive from it. All times are integer nanoseconds on
the clock of the file's `ts`, all shares are 0..1.
"""

from tracegraph.store.schema import companion_labels, node_labels
from tracegraph.store.schema.properties import Index, Property, RelationshipType, text, time
from tracegraph.vocabulary.evidence import EVIDENCE
from tracegraph.vocabulary.mechanisms import Kind

SCHEMA_VERSION = 6
"""Workspaces and runs of another version are refused."""

NODES = (
    node_labels.RUN,
    node_labels.TRACE,
    node_labels.LANE_NODE,
    node_labels.STEP,
    node_labels.PHASE,
    node_labels.EVENT,
    node_labels.GPU_WORK,
    node_labels.SEGMENT,
    node_labels.PAUSE,
    node_labels.CHAIN,
    node_labels.FRAME,
    node_labels.COLLECTIVE,
    node_labels.ALLOCATION,
    node_labels.COUNTER,
    *companion_labels.LABELS,
)

RECORDED_ONLY = "recorded only"
"""The name of one of a run's alternatives: its own policy without the edges of timing rules."""
_EVIDENCE = text(
    "evidence", f"`{EVIDENCE[0]}`: from ids or order in the file; `{EVIDENCE[1]}`: by a timing rule"
)
_CONFIDENCE = Property("confidence", "FLOAT", "how sure the rule is, 0..1")
_EDGE = (
    text("mechanism", "the rule that made the edge (below)"),
    _EVIDENCE,
    _CONFIDENCE,
    time("lag_ns", "what a replay adds to the cause's completion"),
    time("gap_ns", "observed between the cause's completion and the effect's start"),
)
_GAP_NAME = text("gap_name", "name of the gap (below), on binding edges that have one")
_BINDING = Property("binding", "BOOLEAN", "whether this edge explains the effect's start")

DEPENDENCIES: dict[Kind, str] = {
    "SEQUENTIAL": "The effect comes after the cause on the same thread or stream.",
    "INVOCATION": "The call on the CPU launches the GPU activity.",
    "SYNCHRONIZATION": "The effect waits for the GPU activity to end.",
    "CROSS_THREAD": "One thread hands over to another.",
}
"""The four dependency kinds, cause to effect."""

RELATIONSHIPS = (
    *(
        RelationshipType(name, "Segment", "Segment", text, (_BINDING, *_EDGE, _GAP_NAME))
        for name, text in DEPENDENCIES.items()
    ),
    RelationshipType("LAUNCHED", "Event", "Event", "The call launched this GPU activity."),
    RelationshipType("CHILD_OF", "Event", "Event", "Call tree: the start node runs inside the end node."),
    RelationshipType("PART_OF", "Segment", "Event", "The event that a piece belongs to."),
    RelationshipType(
        "LEADS_TO",
        "Chain",
        "Chain",
        "Binding cause of a chain's first segment; the path leaves the cause chain at `at_ns`.",
        (
            time("at_ns", "completion of the cause"),
            text("dependency", "kind of the binding edge"),
            *_EDGE,
            _GAP_NAME,
        ),
    ),
    RelationshipType("CALLED_FROM", "Frame", "Frame", "The frame that called this one."),
    RelationshipType(
        "MEMBER_OF",
        "Event",
        "Collective",
        "The event is a rank's part in the operation.",
        (
            time("arrived_ns", "when the rank came"),
            time("waited_ns", "how long it then waited for the last one"),
            time("waited_once_ns", "the same without what another operation of the rank waits meanwhile"),
            time("transfer_ns", "from when the last one came until this rank left"),
            time(
                "exposed_wait_ns",
                "how much of the wait, once, no computing of the rank covers; null in short",
            ),
            time(
                "exposed_transfer_ns",
                "how much of the transfer, once, no computing of the rank covers; null in short",
            ),
        ),
    ),
    RelationshipType(
        "DURING",
        "Allocation",
        "Event",
        "The innermost operator that was open on the thread then; where none was, the innermost event.",
    ),
    RelationshipType(
        "WORK_OF",
        "Event",
        "Event",
        "The GPU activity is the work of this operator: the innermost above its launch whose work counts, "
        "else the innermost.",
    ),
    RelationshipType(
        "MEASURED",
        "Counter",
        "Event",
        "The counter was read around this kernel, or the one that this call launched.",
        (_EVIDENCE, _CONFIDENCE),
    ),
    RelationshipType("OF_RUN", "Trace", "Run", "The run that the file belongs to."),
    RelationshipType("OF_TRACE", "Lane", "Trace", "The file that the lane belongs to."),
)

INDEXES = (
    Index("Run", ("name",), unique=True),
    Index("Event", ("run", "source_index"), needed="late"),
    Index("Event", ("run",), needed="late"),  # not with the name: an index refuses values above 8 kB
    Index("GpuWork", ("run", "kernel_type"), needed="path"),
    Index("Segment", ("run", "chain", "start_ns", "end_ns", "frame"), needed="path"),
    Index("Pause", ("run", "chain", "start_ns", "end_ns")),
    Index("Chain", ("run", "chain")),
    Index("Frame", ("run", "frame")),
    Index("Trace", ("run",)),
    Index("Lane", ("run",)),
    Index("Step", ("run",)),
    Index("Phase", ("run",)),
    Index("Collective", ("run", "operation")),
    Index("Allocation", ("run", "at_ns"), needed="late"),
    Index("Counter", ("run",), needed="late"),
    *(Index(one.label, ("run",), needed="late") for one in companion_labels.LABELS),
)
