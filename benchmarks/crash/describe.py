"""The table of the kills that were tried."""

from collections import Counter
from collections.abc import Sequence

from crash_steps import trials_of

from benchmarks.accuracy.markdown import table
from benchmarks.crash.order import key_of, site_of
from benchmarks.crash.record import Record, Tried

_COLUMNS = ("way", "sites", "tried", "kills", "tried", "did harm")


def describe(record: Record, ways: Sequence[str], machine: str) -> str:
    """Write a line for each way and one for all, then the commits, and each kill that did harm last."""
    last = {key_of(t.way, t.trial): t for t in record.tried}
    lines = [_line(way, record, [t for t in last.values() if t.way == way]) for way in ways]
    total = ["all", *(sum(int(line[column]) for line in lines) for column in range(1, len(_COLUMNS)))]
    rows = [[name, *(f"{int(number):,}" for number in numbers)] for name, *numbers in (*lines, total)]
    commits = Counter(t.commit for t in last.values())
    said = ", ".join(f"{count} at {commit}" for commit, count in commits.items())
    harm = [f"- {t.way}: {t.trial} ({t.commit}): {t.failure}" for t in last.values() if t.did_harm]
    return "\n\n".join(
        part
        for part in (
            f"{machine}. Kills by commit, each counted where it was tried last: {said or 'none yet'}.",
            table(_COLUMNS, rows),
            "\n".join(harm),
        )
        if part
    )


def _line(way: str, record: Record, tried: Sequence[Tried]) -> list[str | int]:
    all_trials = trials_of(record.steps(way))
    sites = {site_of(way, trial) for trial in all_trials}
    seen = {site_of(way, t.trial) for t in tried} & sites
    return [way, len(sites), len(seen), len(all_trials), len(tried), sum(t.did_harm for t in tried)]
