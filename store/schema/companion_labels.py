"""The labels of nodes that companions make: files that are no trace and explain one."""

from tracegraph.store.schema.properties import NodeLabel, Property, number, text, time
from tracegraph.vocabulary.collectives import ALGORITHMS, NCCL_CALLS, NCCL_CHOICES, PROTOCOLS, SOURCES
from tracegraph.vocabulary.evidence import EVIDENCE

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
LABELS = (COMMUNICATOR, CHANNEL, TRANSFER)
