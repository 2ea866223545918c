"""The graph schema: labels, relationship types, properties and units, in this one place.

DDL, loaders, docs and the checks of Cypher modules derive from here. All times are integer nanoseconds on
the clock of the file's `ts`, all shares are 0..1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tracegraph.store.categories import GAP
from tracegraph.store.mechanisms import Kind

SCHEMA_VERSION = 2

PropertyType = Literal["INTEGER", "FLOAT", "STRING", "BOOLEAN"]


@dataclass(frozen=True)
class Property:
    """One property of a node or relationship; `unit` is empty for plain numbers and text."""

    name: str
    type: PropertyType
    description: str
    unit: str = ""


@dataclass(frozen=True)
class NodeLabel:
    """A label with the properties its nodes may carry."""

    label: str
    description: str
    properties: tuple[Property, ...]


@dataclass(frozen=True)
class RelationshipType:
    """A relationship type, the labels it joins and its properties."""

    type: str
    start: str
    end: str
    description: str
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True)
class Index:
    """An index over `properties` of `label`; `unique` makes it a constraint."""

    label: str
    properties: tuple[str, ...]
    unique: bool = False


def _text(name: str, description: str) -> Property:
    return Property(name, "STRING", description)


def _number(name: str, description: str, unit: str = "") -> Property:
    return Property(name, "INTEGER", description, unit)


def _time(name: str, description: str) -> Property:
    return _number(name, description, "ns")


def _one_of(values: Sequence[str]) -> str:
    *first, last = (f"`{value}`" for value in values)
    return f"{', '.join(first)} or {last}"


EVIDENCE = ("recorded", "inferred")
CROSS_THREAD_POLICIES = ("evidence", "serialise", "none")
"""How dependencies between threads are found; the first is the default."""
SEGMENT_KINDS = ("work", "wait", "gap")

RUN_KEY = _text("run", "name of the run this node belongs to")
RANK = _number("rank", "rank of the process in the job, 0 when the file does not say")
LANE = _number("lane", "lane id, unique within the run")
_START = _time("start_ns", "start")
_END = _time("end_ns", "end")
_NAME = _text("name", "name of the event, or of the gap")
_CATEGORY = _text("category", f"category in today's spelling (below), or `{GAP}`")
_SOURCE_INDEX = _number("source_index", "0-based position in the file's traceEvents list")
# What queries read of every row comes first: the store goes through all properties before one.
_PLACE = (_SOURCE_INDEX, _NAME, _CATEGORY, _START, _END, RUN_KEY, RANK, LANE)

RUN = NodeLabel(
    "Run",
    "One job as ingested.",
    (
        _text("name", "name of the run, unique"),
        _text("state", "`loading` until everything is stored, then `ready`"),
        _text("created", "when it was ingested, ISO 8601, UTC"),
        _number("ranks", "number of ranks"),
        _time("window_start_ns", "start of the window that the critical path tiles"),
        _time("window_end_ns", "end of that window"),
        _text("cross_thread", f"policy for dependencies between threads: {_one_of(CROSS_THREAD_POLICIES)}"),
        _text(
            "alternatives", "JSON list: the path's summary under other policies, and on recorded edges only"
        ),
        _text("what_next", "JSON list: what each of the top hotspots costs, and what is critical without it"),
        _text(
            "potential", "JSON list: the largest names and waits of the path, and what is gained without each"
        ),
        _text("tool_version", "version of tracegraph that wrote the run"),
        _number("schema_version", "version of this schema"),
        _number("events", "number of events"),
        _number("nodes", "number of nodes, counted in the columns"),
        _text("nodes_by_label", "JSON object: nodes for each label, counted in the columns"),
        _text("relationships", "JSON object: relationships for each type, counted in the columns"),
        _text("integrity", "JSON list of findings about the input: code, level, count, message, file"),
        _text("scenario_of", "of a scenario that `what-if --keep` made: the run that it is a change of"),
        _text("change", "of a scenario, JSON object: what was assumed, and what was predicted"),
    ),
)
TRACE = NodeLabel(
    "Trace",
    "One file, one rank.",
    (
        RUN_KEY,
        RANK,
        _text("file", "path of the file as ingested"),
        _text("sha256", "SHA-256 of the file's bytes"),
        _number(
            "clock_offset_ns",
            "added to GPU rows at the window's start so that no effect precedes its cause",
            "ns",
        ),
        _number(
            "clock_drift_ppb", "added to GPU rows besides, for each second since the window's start", "ns/s"
        ),
        _number(
            "rank_offset_ns",
            "added to all its rows at the window's start, to bring them on the first rank's clock",
            "ns",
        ),
        _number("rank_drift_ppb", "added to all its rows besides, for each second since then", "ns/s"),
        _time(
            "rank_spread_ns", "how far the ends of its collectives then lie from those of others, as a rule"
        ),
        _text("devices", "JSON list of device names"),
        _text("versions", "JSON object: versions that the file states"),
    ),
)
LANE_NODE = NodeLabel(
    "Lane",
    "A CPU thread or a GPU stream.",
    (
        RUN_KEY,
        LANE,
        RANK,
        _text("kind", "`thread` or `stream`"),
        _text("name", "readable name"),
        _text("pid", "process id as written in the file"),
        _text("tid", "thread id as written in the file"),
        _number("device", "GPU index of a stream"),
        _number("stream", "stream id of a stream"),
        Property(
            "matters", "BOOLEAN", "whether the path may end here: steps, operators or GPU work run on it"
        ),
    ),
)
STEP = NodeLabel(
    "Step",
    "A ProfilerStep.",
    (
        RUN_KEY,
        _number("number", "the number in ProfilerStep#N"),
        RANK,
        _START,
        _END,
        _time("window_end_ns", "later of the annotation's end and the end of the GPU work launched in it"),
    ),
)
EVENT = NodeLabel(
    "Event",
    "One duration entry of the trace, as the file states it.",
    (
        *_PLACE,
        _time("duration_ns", "duration as the file states it"),
        _time("self_ns", "time in which no child event is open"),
        _number("step", "number of the ProfilerStep it runs in; GPU work: in which it was launched"),
        _number("correlation", "id that joins a call with its GPU work"),
        _number("sequence_number", "autograd sequence number"),
        _text("shapes", "input shapes as written"),
        _number("bytes", "bytes copied or set", "B"),
        _text("collective", "name of the collective"),
        _text("group", "name of the process group"),
        _number("elements", "input elements of the collective"),
        _text("dtype", "element type of the collective"),
    ),
)
SEGMENT = NodeLabel(
    "Segment",
    "A stretch of a lane in which the innermost open event does not change; a leaf event that is never cut "
    "carries this label itself.",
    (
        *_PLACE,
        _time("work_ns", "own work; 0 while waiting"),
        _text("kind", _one_of(SEGMENT_KINDS)),
        _time("slack_ns", "by how much it may end later without lengthening the window"),
        _time("margin_ns", "how much later its binding cause comes than the second-best one"),
        _number("chain", "id of its chain, unique within the run"),
        _number("frame", "innermost frame of its call stack; of GPU work, below the call that launched it"),
        Property("on_critical_path", "BOOLEAN", "whether it is on the path of the whole window"),
    ),
)
CHAIN = NodeLabel(
    "Chain",
    "A maximal run of segments of one lane, each bound by the one before.",
    (RUN_KEY, _number("chain", "chain id, unique within the run"), LANE, RANK, _START, _END),
)
FRAME = NodeLabel(
    "Frame",
    "A place in the tree of all call stacks: a name that was called from another frame. The root is a lane. "
    "A wait or gap is a frame of its own.",
    (
        RUN_KEY,
        _number("frame", "frame id, unique within the run"),
        _number("parent", "id of the frame that called it"),
        _number("depth", "calls between the root and it, 0 for the root"),
        _text(
            "name", "name of the events, of the lane or of the gap; all profiler steps are `ProfilerStep#`"
        ),
        _text("category", f"their category, `thread` or `stream` for a lane, `{GAP}` for a wait or gap"),
        LANE,
        RANK,
    ),
)

COLLECTIVE = NodeLabel(
    "Collective",
    "An operation in which ranks met: a collective, or a send with its receive.",
    (
        RUN_KEY,
        _number("operation", "id of the operation, unique within the run, in the order of the rendezvous"),
        _text("name", "kind of operation, such as `all_reduce`"),
        _text("group", "name of the process group, where the files state it"),
        _number("group_sequence", "number of the operation in its group, where the files state it"),
        _number("size", "number of ranks of the group, where it is known"),
        _number("members", "number of ranks whose part in it is here"),
        _text("missing", "JSON list: ranks of the group whose part is not here; when they came is unknown"),
        _time("start_ns", "when the first member came"),
        _time("rendezvous_ns", "when the last member came: from then on all transfer"),
        _time("end_ns", "when the last member left"),
        _number("last_rank", "rank of the member that came last"),
        _number("bytes", "data that it moves, counted as NCCL's tests do, where sizes are known", "B"),
        Property("bus_factor", "FLOAT", "its bus bandwidth by its algorithm bandwidth"),
        _text("dtype", "element type"),
        _text("evidence", f"`{EVIDENCE[0]}`: ids match its members; `{EVIDENCE[1]}`: their order does"),
        Property("confidence", "FLOAT", "how sure the match is, 0..1"),
    ),
)

NODES = (RUN, TRACE, LANE_NODE, STEP, EVENT, SEGMENT, CHAIN, FRAME, COLLECTIVE)

RECORDED_ONLY = "recorded only"
"""Among the alternatives of a run: its own policy without what a timing rule made."""
_EDGE = (
    _text("mechanism", "the rule that made the edge (below)"),
    _text("evidence", f"`{EVIDENCE[0]}`: from ids or order in the file; `{EVIDENCE[1]}`: by a timing rule"),
    Property("confidence", "FLOAT", "how sure the rule is, 0..1"),
    _time("lag_ns", "what a replay adds to the cause's completion"),
    _time("gap_ns", "observed between the cause's completion and the effect's start"),
)
_GAP_NAME = _text("gap_name", "name of the gap (below), on binding edges that have one")
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
            _time("at_ns", "completion of the cause"),
            _text("dependency", "kind of the binding edge"),
            *_EDGE,
        ),
    ),
    RelationshipType("CALLED_FROM", "Frame", "Frame", "The frame that called this one."),
    RelationshipType(
        "MEMBER_OF",
        "Event",
        "Collective",
        "The event is a rank's part in the operation.",
        (
            _time("arrived_ns", "when the rank came"),
            _time("waited_ns", "how long it then waited for the last one"),
            _time("waited_once_ns", "the same without what another operation of the rank waits meanwhile"),
            _time("transfer_ns", "from when the last one came until this rank left"),
            _time("exposed_wait_ns", "how much of the wait, once, no computing of the rank covers"),
            _time("exposed_transfer_ns", "how much of the transfer, once, no computing of the rank covers"),
        ),
    ),
    RelationshipType("OF_RUN", "Trace", "Run", "The run that the file belongs to."),
    RelationshipType("OF_TRACE", "Lane", "Trace", "The file that the lane belongs to."),
)

INDEXES = (
    Index("Run", ("name",), unique=True),
    Index("Event", ("run", "source_index")),
    Index("Event", ("run",)),  # not with the name: an index refuses values above 8 kB
    Index("Segment", ("run", "chain", "start_ns", "end_ns")),
    Index("Chain", ("run", "chain")),
    Index("Frame", ("run", "frame")),
    Index("Trace", ("run",)),
    Index("Lane", ("run",)),
    Index("Step", ("run",)),
    Index("Collective", ("run", "operation")),
)
