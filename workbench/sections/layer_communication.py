"""How much of its time each layer of a model communicates, as with tensor parallelism."""

from collections.abc import Mapping, Sequence

import pandas as pd

from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table, Words, filled
from tracegraph.workbench.sections.gpu_time import COLOURS
from tracegraph.workbench.sections.section import OTHERS, Parameters, Scope, Section
from tracegraph.workbench.text.text import format_share, plural

_MOST_LAYERS = 200
"""How many layers are drawn and listed."""
_COMPUTING, _EXPOSED, _TALKING = "computing", "exposed communication", "communication"
_COLOURS = {
    _COMPUTING: COLOURS[COMPUTATION],
    _EXPOSED: COLOURS[COMMUNICATION],
    _TALKING: COLOURS[COMMUNICATION],
}
_LAYERS = (
    Column("layer", "layer", "name"),
    Column("phase", "phase"),
    Column("computing_ns", "computing", "duration"),
    Column("communication_ns", "communication", "duration"),
    Column("exposed_ns", "exposed", "duration"),
    Column("waited_ns", "waits for ranks", "duration", roomy=True),
    Column("share", "its share", "share"),
    Column("calls", "operations", "count", roomy=True),
    Column("times", "times", "count", roomy=True),
)
_TOLD = {
    "module": "their modules, as the call stacks name them",
    "annotation": "annotations of the program",
    "kernel pattern": "the sequence of kernels that repeats (inferred)",
}


def _content(findings: Findings) -> Sequence[Block]:
    rows = findings.answers.get("layer_communication")
    if rows is None or rows.empty:
        return []
    layers = rows[rows["number"].notna()]
    if layers["number"].nunique() < 2 or not layers["calls"].sum():
        return []
    of_ranks = layers.groupby("rank")["communication_ns"].sum().sort_values(kind="stable")
    rank = int(of_ranks.index[-1])
    own = rows[rows["rank"].eq(rank)]
    note = f"Layers are told by {_TOLD.get(str(layers['told_by'].iloc[0]), layers['told_by'].iloc[0])}."
    return [
        Words(_said(layers[layers["rank"].eq(rank)], rank)),
        _plot(layers[layers["rank"].eq(rank)], rank, note),
        Table(
            own.head(_MOST_LAYERS), filled(own, _LAYERS), f"On rank {rank}, all times together:", long=True
        ),
    ]


def _said(layers: pd.DataFrame, rank: int) -> str:
    count = plural(layers["number"].nunique(), "layer")
    talks, computes = int(layers["communication_ns"].sum()), int(layers["computing_ns"].sum())
    text = (
        f"The {count} communicate for {format_share(talks / max(talks + computes, 1))} of the time in which "
    )
    text += f"they compute or communicate, both counted, on rank {rank}, which communicates longest"
    if layers["exposed_ns"].isna().any():
        return f"{text}."
    hidden = 1 - int(layers["exposed_ns"].sum()) / max(talks, 1)
    return f"{text}; computing hides {format_share(hidden) if hidden >= _HARDLY else 'hardly any'} of it."


_HARDLY = 0.001
"""Part of communication below which computing is said to hide hardly any. That is the smallest share which
`format_share` shows as a number."""


def _plot(layers: pd.DataFrame, rank: int, note: str) -> Plot:
    """Draw computing and what communication adds to it, of each layer once through all phases."""
    exposed = layers["exposed_ns"].notna().all()
    talk, field = (_EXPOSED, "exposed_ns") if exposed else (_TALKING, "communication_ns")
    parts = {_COMPUTING: layers["computing_ns"] / layers["times"], talk: layers[field] / layers["times"]}
    summed = [
        part.groupby(layers["number"], sort=True).sum().rename("length_ns").reset_index().assign(part=name)
        for name, part in parts.items()
    ]
    talking, computing = (
        layers.groupby("number")[name].sum() for name in ("communication_ns", "computing_ns")
    )
    shares = talking / (talking + computing)
    names = layers.drop_duplicates("number").set_index("number")["layer"]
    bars = pd.concat(summed, ignore_index=True).head(2 * _MOST_LAYERS)
    bars = bars.assign(
        number=bars["number"].astype("Int64"),
        length_ns=bars["length_ns"].astype(float).round().astype("int64"),
        share=bars["number"].map(shares),
        layer=bars["number"].map(names),
    )
    return Plot(
        f"Computing and {talk} of each layer in one step, on rank {rank}",
        bars,
        "bars",
        Column("number", "layer", "number"),
        Column("length_ns", "time", "duration"),
        colour="part",
        colours={name: _COLOURS[name] for name in parts},
        told=(Column("share", "communication", "share"), Column("layer", "named", "name")),
        note=note,
    )


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return {"layer_communication": scope.between} if scope.drawn and scope.communicates else {}


SECTION = Section(102, "Communication by layer", _content, _asks, group=OTHERS)
