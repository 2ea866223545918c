"""What the words of a report mean; `docs/glossary.md` is made from it."""

from collections.abc import Sequence

import pandas as pd

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table
from tracegraph.workbench.sections.section import INPUT, Section

WORDS = {
    "algorithm bandwidth": "The data of an operation between ranks by its time.",
    "annotation": (
        "An event that a program names itself (`record_function`), or the profiler for it; it has no "
        "work of its own."
    ),
    "autocorrelation": (
        "How alike the lengths of neighbouring steps are, 0..1: the more, the fewer independent steps a "
        "recording holds."
    ),
    "binding": (
        "Of the dependencies of a segment: the one whose cause comes last, so that it decides when "
        "the segment starts."
    ),
    "bound": "The length of the run if one resource took no time; what gains most is what bounds the run.",
    "bus bandwidth": (
        "What each rank sends over its links during an operation, by its time: algorithm bandwidth times "
        "a factor of its kind."
    ),
    "case": (
        "A tiny trace of a kind of damage or surprise that a real file showed first, with the answer "
        "expected."
    ),
    "chain": "A stretch of one lane in which each segment starts because the one before it ended.",
    "collective": "An operation in which several ranks send and receive together, such as an all-reduce.",
    "confidence": "How sure a dependency is, 0..1: 1 where the file states it, less where a rule infers it.",
    "correlation": (
        "The number by which a call of the host and the GPU work that it launched know each other."
    ),
    "critical path": (
        "The chain of causes from the end of the window back to its start; it covers every nanosecond "
        "of the window."
    ),
    "dependency": (
        "An edge of the graph: what starts later because of what ended earlier. Four types: "
        "SEQUENTIAL, INVOCATION, SYNCHRONIZATION, CROSS_THREAD."
    ),
    "drift": "A trend of the lengths of steps from the first to the last that is more than chance brings.",
    "event": (
        "One entry of the trace with a duration: an operator, a call, a kernel, a copy, an "
        "annotation, a Python frame."
    ),
    "exposed": "Of a transfer: the part during which the same rank computes nothing.",
    "fix": (
        "A change that somebody can make, with its gain by a replay, how to make it, and what would "
        "refute it."
    ),
    "frame": "A place in the tree of all call stacks: a name that was called from another frame.",
    "gain": "By how much a replay with a change is shorter than one without.",
    "gap": (
        "A stretch of the path, or of a lane, without an event; it has a name that says why, or `unknown`."
    ),
    "GIL": "The lock of CPython that lets one thread at a time run Python.",
    "hand-over": "One thread gives work to another one that waits for it.",
    "HFU": "The share of the peak that all FLOPs of products take, those that run once more, too.",
    "hotspot": "A name with much time on the critical path.",
    "inferred": "Not stated by the file, but concluded by a rule from order, ids or repetition.",
    "interval": (
        "Of a difference: where the true one lies in 95 of 100 such recordings; an interval without 0 is "
        "told from chance."
    ),
    "lane": "A CPU thread or a GPU stream: what runs one thing after the other.",
    "link": (
        "What carries data from one GPU to others, such as NVLink or InfiniBand; its rate is that of one "
        "direction."
    ),
    "margin": "How much later the binding cause came than the second-best one.",
    "mechanism": "The rule by which a dependency was found, such as `launch` or `stream order`.",
    "MFU": (
        "The share of the peak that the FLOPs of the model take: what the model needs, whatever else ran."
    ),
    "p": "How often chance alone brings as large a difference between two recordings of the same, 0..1.",
    "peak": "The most FLOPs a second that a device can do in an element type, by its maker's data sheet.",
    "phase": (
        "A stretch in which the main thread does one thing: data loading, forward, backward, optimizer, …"
    ),
    "product": "An operator that matrix or tensor cores can do: a matrix product, a convolution, attention.",
    "rank": "One process of a job; as a rule it has a trace file of its own.",
    "rank in full": "A rank all of whose events are in the graph, as opposed to a rank in short.",
    "rank in short": (
        "A rank of which `--detail path` keeps only its operations with other ranks and the times between."
    ),
    "recomputation": (
        "Forward work that a backward pass runs once more, since its results were not kept (checkpointing)."
    ),
    "replay": (
        "The graph run again with other durations or dependencies, to learn when everything would start."
    ),
    "run": "One job as it is stored, of one rank or of several.",
    "scenario": "A predicted run, kept as a run of its own (`what-if --keep`).",
    "segment": (
        "A stretch of a lane in which the innermost open event does not change; what the graph is made of."
    ),
    "self time": "Of an event: the time in which no event inside it is open.",
    "slack": "By how much a segment could end later without making the window longer.",
    "step": "An iteration of training or serving, marked by the profiler, by an annotation, or by a server.",
    "straggler": "A rank that others wait for.",
    "thread not running": (
        "A stretch of a thread in which no event is open, and the system recorded that it did not run."
    ),
    "untraced CPU time": "A stretch of a thread in which no event is open, and no rule says that it waits.",
    "warm-up": "The first steps of a recording, if they are far longer than the later ones.",
    "window": "From the first to the last moment that counts: what the critical path covers.",
}
"""Each word with one sentence or two, in the order of the alphabet."""
_COLUMNS = (Column("word", "word"), Column("meaning", "what it means", "prose"))


def glossary() -> str:
    """Return the words as a page of Markdown."""
    rows = "\n".join(f"| {word} | {meaning} |" for word, meaning in WORDS.items())
    return f"# Words\n\n| word | meaning |\n|---|---|\n{rows}\n"


def _content(_: Findings) -> Sequence[Block]:
    rows = pd.DataFrame({"word": list(WORDS), "meaning": [text.replace("`", "") for text in WORDS.values()]})
    return [Table(rows, _COLUMNS)]


SECTION = Section(150, "Words", _content, page_only=True, group=INPUT)
