"""Writes docs/health.md: each check with its default threshold, where that comes from, and what to do."""

from tracegraph.workbench.health.check import Check
from tracegraph.workbench.health.checks import ALL_CHECKS
from tracegraph.workbench.text.text import format_share

_HEAD = """# Is the job healthy?

`tracegraph health TRACE…` judges the traces of one job by thresholds, without a database, and stores
nothing. It reads a file of every rank, in several processes at once where that pays.

```sh
tracegraph health examples/traces/two_threads.json.gz
```

Each check has a value, a threshold and a state: `ok`, `failed`, or `not judged`, and then it says what to
record. What could not be judged has not passed, and it does not fail either: a script finds it in `--format
json`. The exit code is 0 if no check failed, 1 if one did, 2 if a file or an option cannot be used. How to
use that in a pipeline: [ci.md](ci.md#a-job-keeps-to-thresholds).

## Checks

The window of a rank begins with its first step and ends with the work of its last one; without steps it is
that of the recording. Of several ranks the worst counts, and the table names it. This page is generated
from the checks (`python -m tracegraph.workbench.generate .`).

{checks}

## Thresholds of your own

`--thresholds FILE` takes one JSON object, such as `{"gpu-idle": 0.3, "memory": 0.9}`. The same file may
hold the thresholds of [recommendations](recommendations.md) for `tracegraph report --thresholds`; each
command takes its own. A name that does not exist, and a value of a wrong type, end in one line that names
it. Shares are 0 to 1.

## What it cannot tell

- Work that was not recorded counts as idle time; `input-errors` and `tracegraph doctor` say where that is
  so.
- Idle time belongs to the loader only in events whose names begin with those of PyTorch's DataLoader. A
  loader of another kind, or code without events, shows in `gpu-idle` alone.
- Of one rank of several, nobody can tell waiting for other ranks from transferring: both are in
  `exposed-communication`, and `late-rank` is not judged.
- `mfu` is judged only if the user states the model (`--params` or `--model`, and `--tokens`, `--peak`, also
  in a file: `--job`). `tracegraph query utilisation` counts FLOPs from recorded shapes, with a database.
- GPUs of one process count together: one that is idle beside a busy one does not show.
"""


def health_page() -> str:
    """Return the text of the page."""
    return _HEAD.replace("{checks}", "\n\n".join(map(_part, ALL_CHECKS)))


def _part(check: Check) -> str:
    threshold = format_share(check.threshold) if check.unit == "share" else f"{check.threshold:g}"
    rows = {
        "measured": check.what,
        check.limit: f"{threshold} (`{check.threshold:g}` in files)" if check.unit == "share" else threshold,
        "why that figure": check.source,
        "if it fails": check.advice,
    }
    table = "\n".join(f"| {name} | {text} |" for name, text in rows.items())
    return f"### `{check.name}`\n\n| | |\n| --- | --- |\n{table}"
