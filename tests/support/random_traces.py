"""Random traces for property tests, and the independent oracle on their models."""

import numpy as np
import oracle
import tiny
from hypothesis import assume
from hypothesis import strategies as st

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.model import Model, make_model
from tracegraph.ingest.causal.rules import POLICIES
from tracegraph.ingest.causal.rules.context import find_context
from tracegraph.ingest.causal.rules.edges import Edges, Found
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.vocabulary.mechanisms import MECHANISMS

PHASES = ("forward", "## backward ##", "Optimizer.step#SGD.step")
CALLS = ("cudaLaunchKernel", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
moments = st.integers(0, 60)
lengths = st.integers(0, 25)


@st.composite
def rows(draw: st.DrawFn) -> list[tiny.Row]:
    """Events that overlap at will on 3 threads; GPU work with shared, clashing or absent correlations."""
    out: list[tiny.Row] = []
    for _ in range(draw(st.integers(1, 14))):
        begin, thread = draw(moments), draw(st.integers(1, 3))
        end = begin + draw(lengths)
        number = draw(st.one_of(st.none(), st.integers(1, 3)))
        out.append(
            draw(
                st.sampled_from(
                    [
                        tiny.event("op", begin, end, thread=thread),
                        tiny.event(
                            draw(st.sampled_from(PHASES)),
                            begin,
                            end,
                            thread=thread,
                            category="user_annotation",
                        ),
                        tiny.event("frame", begin, end, thread=thread, category="python_function"),
                        tiny.step(begin, begin, end, thread=thread),
                        tiny.event("fw", begin, end, thread=thread, sequence_number=number, forward_thread=0),
                        tiny.event("bw", begin, end, thread=thread, sequence_number=number, forward_thread=1),
                    ]
                )
            )
        )
    for correlation in range(1, draw(st.integers(1, 8))):
        begin, stream = draw(moments), draw(st.sampled_from([7, 20]))
        name = draw(st.sampled_from(CALLS))
        out.append(tiny.call(name, begin, begin + draw(lengths), correlation, thread=draw(st.integers(1, 3))))
        late = begin + draw(st.integers(-5, 20))
        shared = draw(st.sampled_from([correlation, correlation, 1, None]))
        work = tiny.kernel("k", late, late + draw(lengths), shared, stream=stream)
        out.append({**work, "device": draw(st.sampled_from([0, 0, 1]))})
        if draw(st.booleans()):
            wait = {"wait_on_stream": 7, "wait_on_record": draw(st.integers(1, 8))}
            kind = draw(st.sampled_from(["Stream Sync", "Context Sync", "Event Sync", "Stream Wait Event"]))
            out.append(tiny.sync(kind, begin, begin + 1, correlation, stream=stream, **wait))
    # Some rules look at waits of 100 µs and more only.
    scale = draw(st.sampled_from([1, 20]))
    for row in out:
        row.update({name: scale * int(str(row[name])) for name in ("start_ns", "end_ns")})
    return draw(st.permutations(out))


@st.composite
def models(draw: st.DrawFn) -> Model:
    events = draw(rows())
    assume(any(row["category"] != "cuda_sync" and row["start_ns"] != row["end_ns"] for row in events))
    off = [
        tiny.off_cpu(begin, begin + length, ready=draw(st.sampled_from([True, False, None])), thread=thread)
        for begin, length, thread in draw(
            st.lists(st.tuples(moments, lengths, st.integers(1, 3)), max_size=4)
        )
    ]
    return tiny.model(*events, *off, policy=draw(st.sampled_from(list(POLICIES))))


def replay(model: Model) -> oracle.Answer:
    """The oracle on the model's segments and edges, binding flags left out."""
    found = model.dependencies
    names = [MECHANISMS[code].name for code in found.mechanism.tolist()]
    columns = zip(found.cause.tolist(), found.effect.tolist(), found.lag.tolist(), names, strict=True)
    edges = [oracle.Edge(*column) for column in columns]
    return oracle.longest_path(model.segments.work.tolist(), edges, model.window.start, model.sink)


@st.composite
def graphs(draw: st.DrawFn) -> Model:
    """A random trace's segments under random edges between ports, few of which any rule would make."""
    events = draw(rows().filter(lambda found: any(lasts(row) for row in found)))
    context = find_context(*read_events(tiny.trace(*events)), Integrity("random"))
    count = draw(st.integers(0, 12))
    moment = st.integers(context.window.start, context.window.end)
    threads = np.flatnonzero(context.lanes.is_thread).tolist()
    inside = (context.events.start >= context.window.start) & (context.events.end <= context.window.end)
    work = np.flatnonzero(context.events.is_gpu & inside).tolist()

    def port(times: Ints) -> tuple[int, int, int]:
        if work and (not threads or draw(st.booleans())):
            chosen = draw(st.sampled_from(work))
            return chosen, int(context.events.lane[chosen]), int(times[chosen])
        return -1, draw(st.sampled_from(threads)), draw(moment)

    pairs = [(port(context.events.end), port(context.events.start)) for _ in range(count)]
    columns = [
        [*cause, *effect, min(draw(moment), effect[2]), draw(st.integers(0, len(MECHANISMS) - 1))]
        for cause, effect in pairs
        if cause[2] < effect[2]
    ]
    numbers = np.array(columns, dtype=np.int64).reshape(-1, 8).T
    edges = Edges(*numbers, np.ones(len(columns), dtype=bool), np.ones(len(columns)))
    found = Found(edges)
    return make_model(context, lambda _: found, "none")


def lasts(row: tiny.Row) -> bool:
    return row["category"] != "cuda_sync" and row["start_ns"] != row["end_ns"]
