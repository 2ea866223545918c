"""How long each layer computes, waits and transfers as the job itself measured it, beside the query.

python -m tensor_parallel.own_shares OWN_FOLDER ANSWER.json [--steps N]

OWN_FOLDER is what the job noted of itself, ANSWER what `tracegraph query layer_communication --format json`
says. Times are means of a step.
"""

import json
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.job import RECORDED
from common.own_times import Noted, read_noted
from tensor_parallel.train import BEGINS, COMMUNICATES

Part = tuple[int, int, str]
"""A rank, a layer and a phase."""
Times = dict[str, int]


def own_times(steps: Sequence[Sequence[Sequence[Noted]]]) -> dict[Part, Times]:
    """Sum up what the ranks noted, ns: an all-reduce transfers once the last of them has come."""
    found: dict[Part, Times] = defaultdict(lambda: {"computing_ns": 0, "waited_ns": 0, "transfer_ns": 0})
    for ranks in steps:
        noted = [{name: (start, end) for name, start, end in rows} for rows in ranks]
        for name in (name for name in noted[0] if name.endswith(COMMUNICATES)):
            layer, phase, _ = name.split()
            last = max(rows[name][0] for rows in noted)
            for rank, rows in enumerate(noted):
                start, end = rows[name]
                times = found[rank, int(layer), phase]
                times["computing_ns"] += start - rows[f"{layer} {phase} {BEGINS}"][0]
                times["waited_ns"] += last - start
                times["transfer_ns"] += end - last
    return found


def told_times(rows: Sequence[Mapping[str, Any]]) -> dict[Part, Times]:
    """Take the same from the rows of the query, ns."""
    return {
        (row["rank"], row["number"], row["phase"]): {
            "computing_ns": row["computing_ns"],
            "waited_ns": row["waited_ns"],
            "transfer_ns": row["communication_ns"] - row["waited_ns"],
        }
        for row in rows
        if row["number"] is not None
    }


def share(times: Times) -> float:
    """Return communication as a share of computing and communication."""
    talks = times["waited_ns"] + times["transfer_ns"]
    return talks / (talks + times["computing_ns"])


def main() -> None:
    """Print both beside each other for each layer, phase and rank."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("own", type=Path)
    parser.add_argument("answer", type=Path)
    parser.add_argument("--steps", type=int, default=RECORDED, help=f"recorded (default: {RECORDED})")
    options = parser.parse_args()
    own = own_times(read_noted(options.own, options.steps))
    told = told_times(json.loads(options.answer.read_text()))
    print("                     communication      waits, ms          transfers, ms")
    print("rank  layer  phase     told    own        told    own        told    own")
    for part in sorted(own, key=lambda one: (one[2] == "backward", one[1], one[0])):
        rank, layer, phase = part
        row = f"{rank:<6}{layer:<7}{phase:<8}{share(told[part]):>6.1%} {share(own[part]):>6.1%}  "
        for kind in ("waited_ns", "transfer_ns"):
            ms = (times[part][kind] / options.steps / 1e6 for times in (told, own))
            row += "  " + " ".join(f"{value:>8.1f}" for value in ms) + "  "
        print(row.rstrip())
    worst = max(abs(share(told[part]) - share(own[part])) for part in own)
    print(f"largest difference of the shares: {100 * worst:.1f} points")


if __name__ == "__main__":
    main()
