"""The labels of nodes that companions make: files that are not traces but explain one."""

from tracegraph.store.schema.properties import NodeLabel, Property, number, text, time
from tracegraph.vocabulary.collectives import ALGORITHMS, NCCL_CALLS, NCCL_CHOICES, PROTOCOLS, SOURCES
from tracegraph.vocabulary.evidence import EVIDENCE
from tracegraph.vocabulary.memory import ALIGNMENT_STATES, MEMORY_CLASSES, PART_STATES

_RUN = text("run", "name of the run this node belongs to")
_COMPANION = text("companion", "kind of the files that say it, such as `NCCL log`")
_COMM_ID = text("comm_id", "NCCL's id of the communicator; before NCCL 2.17 a name by its size and order")
_NODES = number("nodes", "number of nodes that its ranks are on, where that is known")

COMMUNICATOR = NodeLabel(
    "Communicator",
    "A communicator of NCCL, as its log names it.",
    (
        _RUN,
        _COMPANION,
        _COMM_ID,
        number("ranks", "number of its ranks"),
        number("members", "number of its ranks whose lines are here"),
        _NODES,
        text("version", "version of NCCL"),
        number("channels", "channels that its collectives use"),
        text("network", "network that NCCL uses between nodes, such as `IB` or `Socket`"),
        Property("infiniband", "BOOLEAN", "whether NCCL found a card of InfiniBand, where it says so"),
        text("evidence", f"`{EVIDENCE[0]}`: its id is stated; `{EVIDENCE[1]}`: its size and order tell it"),
        Property("confidence", "FLOAT", "how sure that is, 0..1"),
    ),
)
CHANNEL = NodeLabel(
    "Channel",
    "A channel of a communicator, and a transport that its connections use.",
    (
        _RUN,
        _COMPANION,
        _COMM_ID,
        number("number", "number of the channel"),
        text("ring", "JSON list: its ranks in the order of the ring, where the log says it"),
        text("tree", "JSON object: the parent of each rank in its tree, -1 of the root"),
        text("transport", "how ranks are connected, such as `P2P/direct pointer` or `NET/IB/0`"),
        number("connections", "number of connections that use it, each in one direction"),
    ),
)
TRANSFER = NodeLabel(
    "Transfer",
    "What a file other than a trace says of operations between ranks: how long one of a size takes, what "
    "NCCL expects, or how often it is called.",
    (
        _RUN,
        _COMPANION,
        _COMM_ID,
        text("source", "who says it: " + ", ".join(f"`{source}`" for source in SOURCES[1:])),
        text("kind", "kind of operation, such as `all_reduce`"),
        number("bytes", "data of one operation, counted as NCCL's tests do", "B"),
        time("time_ns", "measured time of one operation"),
        Property("in_place", "BOOLEAN", "of NCCL's tests: whether result and input share their memory"),
        number("ranks", "number of ranks that take part"),
        _NODES,
        text("algorithm", "NCCL's algorithm: " + ", ".join(f"`{name}`" for name in ALGORITHMS)),
        text("protocol", "NCCL's protocol: " + ", ".join(f"`{name}`" for name in PROTOCOLS)),
        number("channels", f"of {NCCL_CHOICES}: channels that the calls use"),
        number("count", f"number of calls; of {NCCL_CALLS} those of each rank count"),
        time("latency_ns", "of NCCL's table: time of an operation of no bytes"),
        Property("bandwidth", "FLOAT", "of NCCL's table: data by the time beyond the latency", "B/s"),
    ),
)
_RECORDING = text("recording", "path of the recording of memory, as given")
_DEVICE = number("device", "index of the device, where the recording says it")
_CLASS = text("class", "what memory is for: " + ", ".join(f"`{name}`" for name in MEMORY_CLASSES))
_BLOCKS = number("blocks", "number of blocks")
_PLACE = (
    text("file", "file of the innermost frame that is the user's"),
    number("line", "line in it"),
    text("function", "its function; below autograd's engine the step of backward"),
)
MEMORY_CLASS = NodeLabel(
    "MemoryClass",
    "What a class holds of the memory of a device when most is in use.",
    (
        _RUN,
        _COMPANION,
        _RECORDING,
        _DEVICE,
        _CLASS,
        time("at_ns", "when most is in use, since 1970; null: before the recording"),
        number("bytes", "bytes that the program asked for", "B"),
        Property("share", "FLOAT", "of all that is in use then"),
        _BLOCKS,
        text("evidence", f"`{EVIDENCE[0]}`: PyTorch's own class; `{EVIDENCE[1]}`: a rule tells it"),
        text("told_by", "the rule"),
        Property("confidence", "FLOAT", "how sure it is, 0..1"),
    ),
)
MEMORY_LEVEL = NodeLabel(
    "MemoryLevel",
    "How much memory a class holds from a time on; of neighbouring times the one with most memory.",
    (
        _RUN,
        _COMPANION,
        _RECORDING,
        _DEVICE,
        _CLASS,
        time("at_ns", "since 1970"),
        number("bytes", "held", "B"),
    ),
)
MEMORY_SOURCE = NodeLabel(
    "MemorySource",
    "A place in the program that allocated memory which is in use when most is.",
    (
        _RUN,
        _COMPANION,
        _RECORDING,
        _DEVICE,
        _CLASS,
        *_PLACE,
        text("module", "lines that called the modules around it, the outermost first"),
        number("bytes", "bytes that it asked for", "B"),
        Property("share", "FLOAT", "of all that is in use then"),
        _BLOCKS,
    ),
)
MEMORY_POOL = NodeLabel(
    "MemoryPool",
    "What a pool of the CUDA allocator holds at the end of a snapshot.",
    (
        _RUN,
        _COMPANION,
        _RECORDING,
        _DEVICE,
        text("pool", "`large`, `small`, or `all`"),
        number("segments", "number of segments"),
        number("reserved_bytes", "taken from the device", "B"),
        number("allocated_bytes", "in blocks in use", "B"),
        number("pending_bytes", "in blocks that are freed once their streams are done", "B"),
        number("requested_bytes", "what the program asked for in these blocks", "B"),
        number("rounding_bytes", "what the allocator added to that", "B"),
        number("free_segment_bytes", "cached: segments without a block in use", "B"),
        number("split_free_bytes", "free parts of segments in use", "B"),
        number("largest_free_bytes", "largest free block", "B"),
        Property("unused_share", "FLOAT", "of what is reserved, what is not allocated: cached for the most"),
        Property("fragmentation", "FLOAT", "of what is reserved, free parts of segments in use"),
        Property("expandable", "BOOLEAN", "whether segments can grow"),
    ),
)
MEMORY_SEGMENT_PART = NodeLabel(
    "MemorySegmentPart",
    "A part of a segment of the CUDA allocator at the end of a snapshot; of the largest segments.",
    (
        _RUN,
        _COMPANION,
        _RECORDING,
        _DEVICE,
        number("segment", "which segment: 0 is the largest"),
        number("segment_bytes", "size of the segment", "B"),
        text("pool", "`large` or `small`"),
        number("begin_bytes", "where it begins, from the start of the segment", "B"),
        number("bytes", "size of the part", "B"),
        text("state", ", ".join(f"`{state}`" for state in PART_STATES)),
        text("class", "what it is for, as of `:MemoryClass`; null where it is free"),
        _BLOCKS,
    ),
)
MEMORY_FAILURE = NodeLabel(
    "MemoryFailure",
    "An allocation that failed for want of memory.",
    (
        _RUN,
        _COMPANION,
        _RECORDING,
        _DEVICE,
        time("at_ns", "since 1970"),
        number("bytes", "asked for", "B"),
        number("device_free_bytes", "free on the device then", "B"),
        number("used_bytes", "in use then", "B"),
        number("cached_bytes", "held by the allocator without use", "B"),
        text("largest_class", "class that used most then"),
        number("largest_class_bytes", "what it used", "B"),
        *_PLACE,
    ),
)
MEMORY_ALIGNMENT = NodeLabel(
    "MemoryAlignment",
    "Whether a recording of memory shows the changes that the run's memory rows show, and when.",
    (
        _RUN,
        _COMPANION,
        _RECORDING,
        _DEVICE,
        text("state", ", ".join(f"`{state}`" for state in ALIGNMENT_STATES)),
        number("rank", "rank whose memory rows agree"),
        number("offset_ns", "what its times lack of those of the run", "ns"),
        number("matched", "changes that agree by time and size"),
        number("compared", "changes that lie in the time of both"),
        time("peak_at_ns", "when most is in use, on the run's clock; null: before the recording"),
    ),
)
LABELS = (
    COMMUNICATOR,
    CHANNEL,
    TRANSFER,
    MEMORY_CLASS,
    MEMORY_LEVEL,
    MEMORY_SOURCE,
    MEMORY_POOL,
    MEMORY_SEGMENT_PART,
    MEMORY_FAILURE,
    MEMORY_ALIGNMENT,
)
