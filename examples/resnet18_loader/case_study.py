"""From a slow training job to a verified fix: record, report, predict, change, record, verify, time.

python examples/resnet18_loader/case_study.py [--folder DIR] [--workers N] [--rounds N] [--write]

Needs `pip install '.[examples]'`. Prints what README.md beside it shows; `--write` writes it there.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from tracegraph.workbench import Run, Workbench

HERE = Path(__file__).parent
PAGE, TRAIN, PICTURE = HERE / "README.md", HERE / "train.py", "slow_step.svg"
LOADER, STEP, SCENARIO = "enumerate(DataLoader)", "train_step", "without_loader"
SELECTOR, LOADING = f"under={LOADER}*", "phase=data loading"
RECORDINGS = {"slow": (), "free": ("--free-loader",), "workers": ("--workers", "{workers}")}
TITLES = {
    "slow": "loading in the main process",
    "free": "a batch in memory",
    "workers": "{workers} worker{s}",
}
TRACEGRAPH = "from tracegraph.cli.main import main; raise SystemExit(main())"
PARTS = ("step", "train_step")
Times = Mapping[str, Sequence[Mapping[str, float]]]


class Page:
    """The text of the study: printed as it goes, and kept by the block of README.md that it belongs in."""

    def __init__(self) -> None:
        self.blocks: dict[str, str] = {}

    def add(self, block: str, text: str) -> None:
        """Print a text and add it to its block."""
        print(f"\n{text}", flush=True)
        before = self.blocks.get(block)
        self.blocks[block] = text if before is None else f"{before}\n\n{text}"

    def write(self, file: Path) -> None:
        """Put each block between `<!-- name -->` and `<!-- /name -->` of a file."""
        text = file.read_text(encoding="utf-8")
        for name, block in self.blocks.items():
            pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
            if not pattern.search(text):
                raise SystemExit(f"{file} has no block <!-- {name} --> … <!-- /{name} -->")
            text = pattern.sub(lambda found, block=block: f"{found[1]}\n{block}\n\n{found[2]}", text)
        file.write_text(text, encoding="utf-8")


class Study:
    """Runs scripts and commands in a folder, which holds the traces, the pictures and the workspace."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder, self.workers = folder, workers
        self.workspace = folder / "workspace"

    def train(self, *arguments: str) -> str:
        """Run train.py and return what it prints."""
        command = [sys.executable, str(TRAIN), *arguments]
        return self._run(command).stdout

    def record(self, name: str) -> str:
        """Record a job into NAME.json.gz and return the command."""
        arguments = [part.format(workers=self.workers) for part in RECORDINGS[name]]
        command = [*arguments, "--trace", f"{name}.json.gz"]
        self.train(*command)
        return " ".join(["python", "train.py", *command])

    def tracegraph(self, *arguments: str) -> str:
        """Run a command of tracegraph and return it with what it prints, as a block of Markdown."""
        said = self._run([sys.executable, "-c", TRACEGRAPH, *arguments], allowed=(0, 1)).stdout
        lines = "\n".join(line.rstrip() for line in said.strip("\n").splitlines())
        return shell_block(shown_command("tracegraph", *arguments), lines)

    def _run(
        self, command: Sequence[str], allowed: Sequence[int] = (0,)
    ) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "TRACEGRAPH_WORKSPACE": str(self.workspace), "COLUMNS": "100"}
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode not in allowed:
            sys.exit(f"{done.stderr}{' '.join(command[:3])} failed with exit code {done.returncode}")
        return done


def shown_command(*words: str) -> str:
    """Write a command as one types it."""
    return " ".join(f"'{word}'" if re.search(r"[^\w./=-]", word) else word for word in words)


def shell_block(command: str, said: str) -> str:
    """Write a command and what it printed."""
    return f"```text\n$ {command}\n{said}\n```"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def find_loader(slow: Run) -> str:
    """Show how much of the path runs inside each annotation."""
    rows = slow.path_inside()
    rows = rows[rows["category"].eq("user_annotation")]
    cells = [
        (f"`{row.name}`", ms(row.duration_ns), percent(row.share)) for row in rows.itertuples(index=False)
    ]
    return table(("annotation", "path inside it, ms", "share"), cells)


def parts_of_step(runs: Mapping[str, Run], workers: int) -> str:
    """Show the mean recorded step of each run, and its time inside the loader and the training step."""
    rows = []
    for name, run in runs.items():
        steps = run.steps()
        count = len(steps)
        inside = [
            run.events_named(start, limit=count)["duration_ns"].sum() / count for start in (LOADER, STEP)
        ]
        length = (steps["end_ns"] - steps["start_ns"]).mean()
        rows.append((f"`{name}`: {title(name, workers)}", ms(length), *map(ms, inside)))
    return table(("recorded run", "step, ms", "in the loader", f"in `{STEP}`"), rows)


def timed(times: Times, workers: int) -> str:
    """Show the lengths of a step and of its training without the profiler."""
    rows = [
        (f"`{name}`: {title(name, workers)}", *(spread(part(rounds, key)) for key in PARTS))
        for name, rounds in times.items()
    ]
    return table(("not profiled", "step, ms: median [quartiles]", f"in `{STEP}`, ms"), rows)


def predicted_row(answer: Mapping[str, object], what: str, steps: int) -> tuple[str, ...]:
    """Return the row of a prediction, with its gain for each step."""
    limits, base = answer["range"], answer["base_ns"]
    assert isinstance(limits, dict)
    assert isinstance(base, int)
    gains = (answer["gain_ns"], limits["gain_low_ns"], limits["gain_high_ns"])
    gain, low, high = (ms(number / steps) for number in gains)
    shares = [percent(number / base) for number in gains]
    return f"predicted: {what}", f"{gain} ({low} to {high})", f"{shares[0]} ({shares[1]} to {shares[2]})"


def compared(predicted: Mapping[str, Mapping[str, object]], steps: int, times: Times, workers: int) -> str:
    """Show what was predicted beside what was measured without the profiler, paired by round."""
    rows = []
    before = part(times["slow"], "step")
    for name, answer in predicted.items():
        rows.append(predicted_row(answer, title(name, workers), steps))
        pairs = list(zip(before, part(times[name], "step"), strict=True))
        saved = spread([one - other for one, other in pairs])
        share = spread([100 * (one - other) / one for one, other in pairs])
        rows.append((f"measured: {title(name, workers)}", saved, f"{share} %"))
    return table(("", "gain a step, ms", "share of the step"), rows)


def title(name: str, workers: int) -> str:
    """Say what a loop loads from."""
    return TITLES[name].format(workers=workers, s="" if workers == 1 else "s")


def part(rounds: Sequence[Mapping[str, float]], key: str) -> list[float]:
    """Return one length of each round."""
    return [lengths[key] for lengths in rounds]


def spread(values: Sequence[float]) -> str:
    """Write the median and the quartiles."""
    low, middle, high = statistics.quantiles(values)
    return f"{middle:.1f} [{low:.1f}–{high:.1f}]"


def ms(ns: float) -> str:
    """Write a time in ms."""
    return f"{ns / 1e6:.1f}"


def percent(share: float) -> str:
    """Write a share in per cent."""
    return f"{100 * share:.1f} %"


def load_average() -> str:
    """Write how many processes ran or wanted to run over the last minute."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def machine(load: str) -> str:
    """Describe what the figures were measured on."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "torchvision", "pillow"))
    system = f"{os.cpu_count()} cores ({platform.machine()}), {load}"
    return f"{system}; Python {platform.python_version()}, {versions}; one thread an operator."


def run_study(study: Study, page: Page, rounds: int) -> None:
    """Go the whole way; each step adds to the page."""
    load = f"load {load_average()} before"
    with Workbench.open(workspace=study.workspace, progress=False) as bench:
        page.add("record", f"```sh\n{study.record('slow')}\n```")
        page.add("report", study.tracegraph("report", "slow.json.gz", "--run", "slow"))
        runs = {"slow": bench.run("slow")}
        page.add("inside", find_loader(runs["slow"]))
        page.add("predict", study.tracegraph("what-if", "--remove", SELECTOR, "--keep", SCENARIO))
        ahead = ("--prefetch", LOADING, "--workers", str(study.workers))
        page.add("ahead", study.tracegraph("what-if", *ahead))
        predicted = {
            "free": runs["slow"].what_if(SELECTOR).as_json(),
            "workers": runs["slow"].what_if(prefetch=LOADING, workers=study.workers).as_json(),
        }
        steps = runs["slow"].steps()["number"]
        runs["slow"].picture("critical_path", step=steps.iloc[len(steps) // 2]).write(study.folder / PICTURE)
        for name in ("free", "workers"):
            page.add("record_again", f"```sh\n{study.record(name)}\n```")
            runs[name] = bench.ingest(study.folder / f"{name}.json.gz", name)
            page.add("verify", study.tracegraph("verify", SCENARIO, name))
        page.add("parts", parts_of_step(runs, study.workers))
        for name, run in runs.items():
            run.plot("steps").save(study.folder / f"{name}_steps.html")
    times = json.loads(study.train("--time", str(rounds), "--workers", str(study.workers)))
    page.add("timed", timed(times, study.workers))
    page.add("compared", compared(predicted, len(steps), times, study.workers))
    page.add("machine", machine(f"{load}, {load_average()} after"))


def main() -> None:
    """Read the command line and run the study."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="keep traces, pictures and runs in this new folder")
    parser.add_argument("--workers", type=int, default=1, help="of the changed job (default: 1)")
    parser.add_argument("--rounds", type=int, default=7, help="of timing, at least 2 (default: 7)")
    parser.add_argument("--write", action="store_true", help="write README.md and its picture")
    options = parser.parse_args()
    if options.workers < 1 or options.rounds < 2:
        parser.error("take at least 1 worker and 2 rounds")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary, "study")).resolve()
        if folder.exists():
            parser.error(f"{folder} is there already")
        folder.mkdir(parents=True)
        page = Page()
        run_study(Study(folder, options.workers), page, options.rounds)
        if options.write:
            page.write(PAGE)
            (HERE / PICTURE).write_bytes((folder / PICTURE).read_bytes())


if __name__ == "__main__":
    main()
