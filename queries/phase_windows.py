"""The window of a phase, and the errors that list the phases present."""

from collections.abc import Callable, Mapping

import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.base.suggest import did_you_mean
from tracegraph.queries.run_part import RunPart
from tracegraph.vocabulary.phases import spelt

Ask = Callable[[str, Mapping[str, object]], pd.DataFrame]
"""Gives the rows of a query by name for values of its parameters."""


def phase_window(ask: Ask, run: str, part: RunPart) -> pd.DataFrame:
    """Return the row of the query `phase_window` for a part that is a phase; no row if no work ends it.

    Raises
    ------
    InputError
        There is no such phase; the message lists those present.
    """
    step, rank, occurrence = part.step, part.rank, part.occurrence
    phases, name = ask("phases", {"run": run, "rank": rank}), spelt(str(part.phase))
    if phases.empty:
        of_rank = "" if rank is None else f" of rank {rank}"
        raise InputError(
            f"run {run!r} has no phases{of_rank}",
            "annotate them, as with torch.profiler.record_function('forward'), or record a training step",
        )
    mine = phases[
        phases["step"].isna() if step is None else phases["step"].eq(step).fillna(False).astype(bool)
    ]
    if mine.empty and step is None:
        numbers = ", ".join(map(str, sorted(set(phases["step"].dropna()))))
        raise InputError(f"the phases of run {run!r} are in steps", f"give the step, too: {numbers}")
    where = "" if step is None else f" in step {step}"
    found = mine[mine["phase"] == name]
    if found.empty:
        present = list(dict.fromkeys(mine["phase"]))
        listed = f"present: {', '.join(present)}" if present else "it has none"
        raise InputError(f"run {run!r} has no phase {name!r}{where}", did_you_mean(name, present, listed))
    if occurrence is not None:
        most = int(found["occurrence"].max())
        found = found[found["occurrence"] == occurrence]
        if found.empty:
            raise InputError(
                f"run {run!r} has no {name} {occurrence}{where}", f"the last one is {most}, the first 1"
            )
    last = found.sort_values(["window_end_ns", "rank"], ascending=[False, True]).iloc[0]
    values = {"occurrence": int(last["occurrence"]), "rank": int(last["rank"])}
    return ask("phase_window", {"run": run, "name": name, "step": step, **values})
