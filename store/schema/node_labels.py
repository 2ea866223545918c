"""The labels of the graph's nodes, with their properties."""

from collections.abc import Sequence

from tracegraph.store.schema.properties import NodeLabel, Property, number, text, time
from tracegraph.vocabulary.categories import GAP
from tracegraph.vocabulary.evidence import EVIDENCE
from tracegraph.vocabulary.iterations import DECODE, IDLE, ITERATION, MIXED, PREFILL
from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION, KERNEL_TYPES
from tracegraph.vocabulary.lane_kinds import LANE_KINDS
from tracegraph.vocabulary.phases import PHASE_NAMES

CROSS_THREAD_POLICIES = ("evidence", "serialise", "none")
"""How dependencies between threads are found; the first is the default."""
SEGMENT_KINDS = ("work", "wait", "gap")


def _one_of(values: Sequence[str]) -> str:
    *first, last = (f"`{value}`" for value in values)
    return f"{', '.join(first)} or {last}"


RUN_KEY = text("run", "name of the run this node belongs to")
RANK = number("rank", "rank of the process in the job, 0 when the file does not say")
LANE = number("lane", "lane id, unique within the run")
_START = time("start_ns", "start")
_END = time("end_ns", "end")
_NAME = text("name", "name of the event, or of the gap")
_CATEGORY = text("category", f"category in today's spelling (below), or `{GAP}`")
_SOURCE_INDEX = number("source_index", "0-based position in the file's traceEvents list")
# Properties that queries read of every row come first: to reach one, the store passes all before it.
_PLACE = (_SOURCE_INDEX, _NAME, _CATEGORY, _START, _END, RUN_KEY, RANK, LANE)

RUN = NodeLabel(
    "Run",
    "One job as ingested.",
    (
        text("name", "name of the run, unique"),
        text("state", "`loading` until everything is stored, then `ready`"),
        text("created", "when it was ingested, ISO 8601, UTC"),
        number("ranks", "number of ranks"),
        time("window_start_ns", "start of the window that the critical path tiles"),
        time("window_end_ns", "end of that window"),
        number("end_chain", "id of the chain that the critical path ends in"),
        text("cross_thread", f"policy for dependencies between threads: {_one_of(CROSS_THREAD_POLICIES)}"),
        text(
            "alternatives", "JSON list: the path's summary under other policies, and on recorded edges only"
        ),
        text("what_next", "JSON list: what each of the top hotspots costs, and what is critical without it"),
        text(
            "potential", "JSON list: the largest names and waits of the path, and what is gained without each"
        ),
        text("fixes", "JSON list: what could be done about the run, and what each gains"),
        text("bounds", "JSON object: the run's length where each resource takes no time, and its floors"),
        text(
            "stragglers", "JSON object: how much slower steps are as operations of a type are not all alike"
        ),
        text(
            "step_marker",
            "glob of the annotations that mark its steps, null where the profiler does, or the names of a "
            "server's iterations",
        ),
        text("job", "JSON object: what its user said of the job at ingest, such as `gpus` and `tokens`"),
        text("tool_version", "version of tracegraph that wrote the run"),
        number("schema_version", "version of this schema"),
        number("events", "number of events"),
        number("nodes", "number of nodes, counted in the columns"),
        text("nodes_by_label", "JSON object: nodes for each label, counted in the columns"),
        text("relationships", "JSON object: relationships for each type, counted in the columns"),
        text("integrity", "JSON list of findings about the input: code, level, count, message, file"),
        text("scenario_of", "of a scenario that `what-if --keep` made: the run that it is a change of"),
        text("change", "of a scenario, JSON object: what was assumed, and what was predicted"),
    ),
)
TRACE = NodeLabel(
    "Trace",
    "One file, one rank.",
    (
        RUN_KEY,
        RANK,
        text("file", "path of the file as ingested"),
        text("sha256", "SHA-256 of the file's bytes"),
        number(
            "clock_offset_ns",
            "added to GPU rows at the window's start so that no effect precedes its cause",
            "ns",
        ),
        number(
            "clock_drift_ppb", "added to GPU rows besides, for each second since the window's start", "ns/s"
        ),
        number(
            "rank_offset_ns",
            "added to all its rows at the window's start, to bring them on the first rank's clock",
            "ns",
        ),
        number("rank_drift_ppb", "added to all its rows besides, for each second since then", "ns/s"),
        time(
            "rank_spread_ns", "how far the ends of its collectives then lie from those of others, as a rule"
        ),
        text("devices", "JSON list of device names"),
        text("device_memory", "JSON list: bytes of memory of each device by its index, null where not known"),
        text("versions", "JSON object: versions that the file states"),
        Property(
            "in_short",
            "BOOLEAN",
            "whether only its operations with other ranks are here, as `--detail path` keeps most ranks",
        ),
    ),
)
LANE_NODE = NodeLabel(
    "Lane",
    "A CPU thread or a GPU stream, or what stands for one of a rank in short.",
    (
        RUN_KEY,
        LANE,
        RANK,
        text("kind", _one_of(LANE_KINDS)),
        text("name", "readable name"),
        text("pid", "process id as written in the file"),
        text("tid", "thread id as written in the file"),
        number("device", "GPU index of a stream"),
        number("stream", "stream id of a stream"),
        Property(
            "matters", "BOOLEAN", "whether the path may end here: steps, operators or GPU work run on it"
        ),
        time("longest_ns", "the longest time that one of its events takes itself; null without events"),
    ),
)
STEP = NodeLabel(
    "Step",
    "A ProfilerStep, an annotation that `--step-marker` makes a step, or an iteration of a server.",
    (
        RUN_KEY,
        number("number", "the number in ProfilerStep#N; of marked steps that in the name, or their order"),
        RANK,
        _START,
        _END,
        time("window_end_ns", "later of the annotation's end and the end of the GPU work launched in it"),
        text("name", "name of the annotation"),
        text(
            "marker",
            "what all steps of the run are counted under: `ProfilerStep#`, the `--step-marker`, or "
            f"`{ITERATION}`",
        ),
        text(
            "type",
            f"of an iteration of a server, by its name: {_one_of((PREFILL, DECODE, MIXED, IDLE))}; else null",
        ),
        number("batch", "requests of the iteration, where the name says it"),
        number("tokens", "new tokens of the iteration, where the name says it"),
        _SOURCE_INDEX,
    ),
)
PHASE = NodeLabel(
    "Phase",
    f"A stretch of a rank's main thread in which it does one thing: {_one_of(PHASE_NAMES)}.",
    (
        RUN_KEY,
        RANK,
        number("step", "number of the step that it lies in; null where it lies in none"),
        text("name", "name of the phase"),
        number("occurrence", "of several of a name in a step: which one it is, counted from 1"),
        _START,
        _END,
        time("window_end_ns", "later of its end and the end of the GPU work launched in it"),
        text("evidence", f"`{EVIDENCE[0]}`: an annotation names it; `{EVIDENCE[1]}`: what ran tells it"),
        Property("confidence", "FLOAT", "how sure it is, 0..1"),
        LANE,
        number("end_lane", "lane whose work ends it: of a backward pass it may be the engine's"),
    ),
)
_UNCOVERED = "how much of it, at its end, is not covered by what began before it of"
_GPU_WORK = (
    text("kernel_type", f"of GPU work: {_one_of(KERNEL_TYPES)}"),
    text("copy_kind", "of copies and memsets: what they do, such as `Memcpy HtoD`"),
    time("busy_ns", f"{_UNCOVERED} its rank's GPU work: summed up, when its GPUs work"),
    time("type_busy_ns", f"{_UNCOVERED} its rank's GPU work of its `kernel_type`"),
    *(
        time(f"busy_without_{name}_ns", f"{_UNCOVERED} its rank's GPU work but {name}; null for {name}")
        for name in KERNEL_TYPES
    ),
    time("exposed_ns", f"of {COMMUNICATION}: how long no {COMPUTATION} of its rank and none before it runs"),
    time("idle_ns", "how long no GPU work of its rank ran just before it; null for the first"),
    time("stream_idle_ns", "how long nothing ran on its stream just before it; null for the first"),
    number("queue_at_launch", "what is queued on its stream once it is; null without a call, and in a graph"),
    number("queue_at_start", "what is queued on its stream once it begins"),
    number("bandwidth_at_start", "what its rank's copies of its kind move together once it begins", "B/s"),
    number("bandwidth_at_end", "what they move once it has ended", "B/s"),
)
"""Properties that only GPU work has."""
LAUNCHED_INSIDE = (
    time("operator_ns", "of an operator: time in which no operator inside is open"),
    time("own_gpu_ns", "of an operator: length of the GPU work that it launched in that time, if any"),
    time("gpu_ns", "of an operator or annotation: length of all GPU work launched inside, if any"),
    number("kernels", "number of GPU activities launched inside, if several"),
    number("inner_kernels", "the most of these that one operator, annotation or function within launched"),
    Property("recursive", "BOOLEAN", "of an operator inside another one of its name: true"),
)
"""Properties of an event of a thread: an operator's own time, and the GPU work launched inside it."""
EVENT = NodeLabel(
    "Event",
    "One duration entry of the trace, as the file states it, unless that cannot be (`clipped_ns`).",
    (
        *_PLACE,
        time("duration_ns", "duration; of GPU work on the clock of its CPU, from which a drift may differ"),
        time("self_ns", "time in which no child event is open"),
        time("clipped_ns", "how much later the file says that it ends, which cannot be; null as a rule"),
        *LAUNCHED_INSIDE,
        number("step", "number of the step it runs in; GPU work: in which it was launched"),
        number("correlation", "id that joins a call with its GPU work"),
        number("sequence_number", "autograd sequence number"),
        text("shapes", "input shapes as written"),
        number(
            "bytes",
            "bytes copied or set; of communication all data of the operation, as NCCL's tests count it; of a "
            "range of NCCL the size that it states",
            "B",
        ),
        number("bandwidth", "what the file says the copy moves: its size by a time that it has in ns", "B/s"),
        text("collective", "name of the collective"),
        text("collective_kind", "kind of the collective, such as `all_reduce`"),
        text("group", "name of the process group"),
        number("group_size", "number of ranks of the process group"),
        text("group_ranks", "JSON list: ranks of the process group"),
        number("elements", "input elements of the collective"),
        text("dtype", "element type of the collective, or in which the operator computes"),
        text("work", "kind of work of an operator whose work counts (below), null where that is unknown"),
        number("flops", "floating point operations of that work, by its shapes"),
        number("moved_bytes", "least traffic of that work: each input read, each result written once", "B"),
        *_GPU_WORK,
    ),
)
GPU_WORK = NodeLabel("GpuWork", "A kernel, copy or memset; it has a `kernel_type`.", besides="Event")
SEGMENT = NodeLabel(
    "Segment",
    "A stretch of a lane in which the innermost open event does not change; a leaf event that is never cut "
    "carries this label itself.",
    (
        *_PLACE,
        time("work_ns", "own work; 0 while waiting"),
        text("kind", _one_of(SEGMENT_KINDS)),
        time("slack_ns", "by how much it may end later without lengthening the window"),
        time("margin_ns", "how much later its binding cause comes than the second-best one"),
        number("chain", "id of its chain, unique within the run"),
        number("frame", "innermost frame of its call stack; of GPU work, below the call that launched it"),
        Property("on_critical_path", "BOOLEAN", "whether it is on the path of the whole window"),
        time("gap_since_ns", "when the gap before it began: its cause was complete, or the window began"),
        text("gap_name", "name of that gap (below)"),
    ),
)
PAUSE = NodeLabel("Pause", "A segment that does no work, or follows a gap.", besides="Segment")
CHAIN = NodeLabel(
    "Chain",
    "A maximal run of segments of one lane, each bound by the one before.",
    (RUN_KEY, number("chain", "chain id, unique within the run"), LANE, RANK, _START, _END),
)
FRAME = NodeLabel(
    "Frame",
    "A place in the tree of all call stacks: a name that was called from another frame. The root is a lane. "
    "A wait or gap is a frame of its own.",
    (
        RUN_KEY,
        number("frame", "frame id, unique within the run"),
        number("parent", "id of the frame that called it"),
        number("depth", "calls between the root and it, 0 for the root"),
        text(
            "name",
            "name of the events, of the lane or of the gap; all steps are their marker, as `ProfilerStep#`",
        ),
        text("category", f"their category, `thread` or `stream` for a lane, `{GAP}` for a wait or gap"),
        LANE,
        RANK,
        number("operator", "innermost operator among it and the frames that it was called from"),
        number("path_events", "number of its events with time of their own on the path of the whole window"),
    ),
)

COLLECTIVE = NodeLabel(
    "Collective",
    "An operation in which ranks met: a collective, or a send with its receive.",
    (
        RUN_KEY,
        number("operation", "id of the operation, unique within the run, in the order of the rendezvous"),
        text("name", "kind of operation, such as `all_reduce`"),
        text("group", "name of the process group, where the files state it"),
        number("group_sequence", "number of the operation in its group, where the files state it"),
        number("size", "number of ranks of the group, where it is known"),
        number("members", "number of ranks whose part in it is here"),
        text("ranks", "JSON list: ranks of its members, and those of the group that are missing"),
        text("missing", "JSON list: ranks of the group whose part is not here; when they came is unknown"),
        time("start_ns", "when the first member came"),
        time("rendezvous_ns", "when the last member came: from then on all transfer"),
        time("end_ns", "when the last member left"),
        number("last_rank", "rank of the member that came last"),
        number("bytes", "data that it moves, counted as NCCL's tests do, where sizes are known", "B"),
        Property("bus_factor", "FLOAT", "its bus bandwidth by its algorithm bandwidth"),
        text("dtype", "element type"),
        text("evidence", f"`{EVIDENCE[0]}`: ids match its members; `{EVIDENCE[1]}`: their order does"),
        Property("confidence", "FLOAT", "how sure the match is, 0..1"),
    ),
)
ALLOCATION = NodeLabel(
    "Allocation",
    "A memory row of the trace (`[memory]`, of `profile_memory=True`): a thread allocates or frees memory.",
    (
        number("source_index", "0-based position in the file's traceEvents list"),
        time("at_ns", "when"),
        RUN_KEY,
        RANK,
        text("device_type", "kind of the device as `torch.device` names it, such as `cpu` or `cuda`"),
        number("device", "index of the device, none for the CPU's memory"),
        number("bytes", "bytes allocated, negative where they are freed", "B"),
        number(
            "allocated_bytes",
            "allocated on the device then, where the file states it; of the CPU since the profiler began",
            "B",
        ),
        number("reserved_bytes", "held by the allocator of the device then, where the file states it", "B"),
        number("net_bytes", "allocated less freed on the device since the recording began", "B"),
        LANE,
        number("step", "number of the step that it is in"),
    ),
)
COUNTER = NodeLabel(
    "Counter",
    "A hardware counter as a range of the profiler states it.",
    (
        RUN_KEY,
        RANK,
        number("source_index", "of the range, 0-based position in the file's traceEvents list"),
        text("range", "name of the range, usually that of a kernel"),
        text("name", "name of the counter, its metric"),
        Property("value", "FLOAT", "what was counted, in the metric's own unit"),
        Property("flops_each", "FLOAT", "floating point operations that a count stands for, where it does"),
        Property("bytes_each", "FLOAT", "bytes of the device's memory that a count stands for", "B"),
    ),
)
