"""Which share of the peak of their GPUs the steps reach, and where the rest of it goes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from tracegraph.queries.shapes.peak import losses
from tracegraph.queries.shapes.peak.checks import FAILED, NOT_JUDGED, OK
from tracegraph.queries.shapes.peak.job import JOB_PARAMETERS
from tracegraph.queries.shapes.peak.utilisation import missing_of
from tracegraph.vocabulary.device_peaks import PUBLISHED_MFU
from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION, MEMORY
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.first_fix import DAY_H
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table, Words
from tracegraph.workbench.sections.gpu_time import COLOURS, IDLE
from tracegraph.workbench.sections.section import TIME, Parameters, Scope, Section
from tracegraph.workbench.text.text import format_amount, format_share, plural

_COLOURS = {
    losses.COMPUTE: COLOURS[COMPUTATION],
    losses.COMMUNICATION: COLOURS[COMMUNICATION],
    losses.MEMORY: COLOURS[MEMORY],
    losses.ORCHESTRATION: COLOURS[IDLE],
}
_OF_LOSS = {
    losses.USEFUL: "#2f8f4e",
    losses.RECOMPUTATION: "#f6c177",
    losses.BELOW_PEAK: "#e8871e",
    losses.UNRATED: "#c77516",
    losses.OTHER_COMPUTING: "#9c5a12",
    losses.TRANSFER: "#2a9d8f",
    losses.RANKS: "#1c6f66",
    losses.EXPOSED_MEMORY: "#d1495b",
    losses.LOADING: "#7b6fb0",
    losses.SYNCHRONISATION: "#5f7f9d",
    losses.LAUNCHING: "#8fb0cc",
    losses.HOST: "#b4bcc6",
    losses.OTHER_RANK: "#6b7682",
    losses.UNRECORDED: "#d5dae0",
    losses.UNKNOWN: "#99a1ac",
}
"""Colours of domains where each part has a bar of its own, and of parts where a rank has one bar."""
_MOST_ROWS = 64
"""How many rows each table lists, and how many ranks the plot draws."""
_LOSS, _TIME = Column("loss", "part"), Column("duration_ns", "time", "duration")
_DOMAIN, _SHARE = Column("domain", "domain"), Column("share", "of the steps", "share")
_PARTS_FOLDED = "The same in numbers: what each part is, and how it is known"
_MEANING = Column("_meaning", "what it is", "prose", roomy=True)
_RANK = Column("_rank", "rank")
_LOSSES = (_LOSS, _TIME, _SHARE, _DOMAIN, Column("evidence", "evidence"), _MEANING)
_STEPS = (
    Column("rank", "rank", "number"),
    Column("step", "step", "number"),
    Column("step_ns", "time", "duration"),
    Column("mfu", "MFU", "share"),
    Column("hfu", "HFU", "share"),
    Column("model_flops", "FLOPs of the model", "amount"),
    Column("counted_flops", "FLOPs that ran", "amount", roomy=True),
    Column("recomputed_flops", "ran once more", "amount", roomy=True),
    Column("known_share", "of computing known", "share", roomy=True),
)
_NOTE = (
    "Parts that overlap count once, for the first in this order. This is no gain: what a fix gains, a replay "
    "tells, since other work may take the place of a part."
)
_CHECKS = (
    Column("check", "check"),
    Column("state", "state"),
    Column("value", "share", "share"),
    Column("_threshold", "threshold"),
    Column("_said", "what that is, and what to do", "prose", roomy=True),
)
_NS_PER_S = 1e9


def _content(findings: Findings) -> Sequence[Block]:
    steps, parts = (findings.answers.get(name) for name in ("utilisation", "peak_losses"))
    if steps is None or parts is None or steps.empty:
        return []
    blocks: list[Block] = [Words(" ".join(_reached(steps)))] if steps["model_flops"].notna().any() else []
    missing = dict.fromkeys(one for text in steps["source"] for one in missing_of(str(text)))
    blocks += [Words(sentence, "note") for sentence in missing]
    if len(parts):
        blocks += [_plot(parts), _table(_summed(parts), findings.job.gpus)]
    checked = findings.answers.get("mfu_checklist")
    if checked is not None and len(checked):
        blocks.append(_checked(checked))
    if steps["model_flops"].notna().any():
        blocks.append(
            Table(steps.head(_MOST_ROWS), _STEPS, "By rank and step:", long=True, folded="By rank and step")
        )
    return blocks


def _table(parts: pd.DataFrame, gpus: int | None) -> Table:
    """List the parts; with what each costs a day if the user says how many GPUs run the job."""
    columns: Sequence[Column] = _LOSSES
    if gpus:
        parts = parts.assign(_hours=parts["share"] * gpus * DAY_H)
        columns = (*_LOSSES[:3], Column("_hours", "GPU-hours a day", "amount"), *_LOSSES[3:])
    return Table(parts, columns, "Where the time goes:", _NOTE, folded=_PARTS_FOLDED)


def _checked(rows: pd.DataFrame) -> Table:
    """List the checks of a low share of the peak, those that failed first."""
    order = rows["state"].map({FAILED: 0, OK: 1, NOT_JUDGED: 2})
    rows = rows.loc[order.sort_values(kind="stable").index]
    told = [
        " ".join(f"{part.removesuffix('.')}." for part in (f"Share {row['what']}", *_also(row)))
        for row in rows.to_dict("records")
    ]
    limits = [
        f"{'at least' if floor else 'at most'} {format_share(threshold)}"
        for floor, threshold in zip(rows["is_floor"], rows["threshold"], strict=True)
    ]
    failed = int(rows["state"].eq(FAILED).sum())
    folded = f"What to look at if that is little: {failed:,} of {plural(len(rows), 'check')} failed"
    shown = rows.assign(_threshold=limits, _said=told)
    return Table(shown, _CHECKS, "If that is little, look at:", folded=folded)


def _also(row: Mapping[Any, Any]) -> Iterator[str]:
    """Yield what must be known of a check, and what to do."""
    yield from (text for text in (row["note"], row["advice"]) if isinstance(text, str))


def _reached(steps: pd.DataFrame) -> Iterator[str]:
    """Yield sentences on what all steps reach together."""
    rows = steps[steps["model_flops"].notna()]
    done, spent_s = int(rows["model_flops"].sum()), int(rows["step_ns"].sum()) / _NS_PER_S
    count = rows["step"].nunique()
    over = f"{plural(count, 'step') if count else 'the window'} of {plural(rows['rank'].nunique(), 'rank')}"
    if rows["peak_flop_per_s"].isna().any():
        yield f"The model runs at {format_amount(done / max(spent_s, 1e-9))}FLOP/s on a rank, over {over}."
        return
    whole = float((rows["peak_flop_per_s"] * rows["step_ns"]).sum()) / _NS_PER_S
    peaks = sorted({_peak(row) for row in rows.to_dict("records")})
    share = format_share(done / max(whole, 1e-9))
    yield f"The model reaches {share} of the peak of its GPUs (MFU; {', '.join(peaks)}), over {over}."
    yield f"Published training runs of large models reach {PUBLISHED_MFU}."
    again = int(rows["recomputed_flops"].fillna(0).sum())
    if again:
        counted = format_share(int(rows["counted_flops"].fillna(0).sum()) / max(whole, 1e-9))
        yield f"With what runs once more inside backward passes it is {counted} (HFU)."


def _peak(row: Mapping[Any, Any]) -> str:
    """Say which peak a row is compared with."""
    rate = f"{format_amount(row['peak_flop_per_s'])}FLOP/s"
    return " ".join([rate, *(f"{word} {row[name]}" for word, name in _OF_PEAK if row[name] is not None)])


_OF_PEAK = (("of", "dtype"), ("on", "device_name"))


def _summed(parts: pd.DataFrame) -> pd.DataFrame:
    """Sum the parts over all ranks and steps, in their order, with their share of all windows."""
    windows = parts.drop_duplicates(["rank", "step"])["window_ns"].sum()
    groups = parts.groupby("loss", sort=False)
    rows = groups.agg(
        duration_ns=("duration_ns", "sum"), domain=("domain", "first"), evidence=("evidence", _weaker)
    )
    listed = [one for one in losses.LOSSES if one.name in rows.index]
    rows = rows.loc[[one.name for one in listed]].reset_index()
    shares = rows["duration_ns"] / max(1, int(windows))
    return rows.assign(share=shares, _meaning=[one.meaning for one in listed])


def _weaker(evidence: "pd.Series[str]") -> str | None:
    """Return the weaker of several kinds of evidence: any that is inferred, else what there is."""
    found = set(evidence.dropna())
    return None if not found else min(found)


def _plot(parts: pd.DataFrame) -> Plot:
    """Draw the parts below each other; of several ranks a bar for each, of its parts."""
    ranks = sorted(parts["rank"].unique())
    rows, axis, colour, told = _summed(parts), _LOSS, _DOMAIN, [_DOMAIN, _SHARE]
    if len(ranks) > 1:
        of_each = ((f"rank {one}", _summed(parts[parts["rank"].eq(one)])) for one in ranks[:_MOST_ROWS])
        rows = pd.concat([own.assign(_rank=name) for name, own in of_each], ignore_index=True)
        axis, colour, told = _RANK, _LOSS, [_LOSS, *told]
    return Plot(
        "Where the peak of the GPUs goes, over all steps",
        rows,
        "bars",
        axis,
        _TIME,
        colour=colour.field,
        colours=_COLOURS if colour is _DOMAIN else {name: _OF_LOSS[name] for name in rows["loss"].unique()},
        told=told,
        across=True,
    )


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    if not scope.drawn and not scope.job.of_model:
        return {}
    said = scope.job.asked_of(*(one.name for one in JOB_PARAMETERS))
    of_device = scope.job.asked_of("peak", "device")
    parts = {name: {**scope.between, **of_device} for name in ("peak_losses", "mfu_checklist")}
    return {"utilisation": {**scope.between, **said}, **parts}


SECTION = Section(6, "Use of the peak", _content, _asks, group=TIME)
