"""Set up everything and run a task: `python3 tasks.py demo`, `test`, `lint`, `unit` or `docs`."""

import argparse
import os
import subprocess
import sys
import time
import venv
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
BIN = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
EXAMPLE = ROOT / "examples" / "traces" / "simulated_gpu.json.gz"
OUTPUT = ROOT / "report"
OFTEN_S = 3.0
"""The least time between two lines about what pip does, in seconds."""
AT_ONCE = ("-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder")
"""Two tests at a time; those of one file or of one database run one after the other."""


def run(*command: str | Path) -> None:
    """Run a command in the project's folder and show it; a failure ends the task with its exit code."""
    print("$", *command, flush=True)
    path = os.pathsep.join([str(BIN), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path}
    # Tests start hundreds of commands, and each would compile all modules again.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run([str(part) for part in command], cwd=ROOT, env=environment, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def install(*what: str) -> None:
    """Make the virtual environment if there is none, and install into it."""
    if not (BIN / "python").exists():
        print(f"making the virtual environment {ENVIRONMENT}", flush=True)
        venv.create(ENVIRONMENT, with_pip=True)
    command = [str(BIN / "python"), "-m", "pip", "install", "--disable-pip-version-check", *what]
    print("$", *command, flush=True)
    pip = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert pip.stdout is not None
    print_at_times(pip.stdout)
    if pip.wait():
        sys.exit(pip.returncode)


def print_at_times(lines: Iterable[str]) -> None:
    """Print some of the lines, at most one every `OFTEN_S` seconds."""
    told = time.monotonic()
    for line in lines:
        if time.monotonic() >= told + OFTEN_S:
            print(f"  {line.strip()}", flush=True)
            told = time.monotonic()


def demo(_: Sequence[str]) -> None:
    """Install tracegraph and report on the example trace."""
    install(".")
    run(BIN / "tracegraph", "report", EXAMPLE, "--output", OUTPUT)
    print(f"\nOpen {OUTPUT / 'report.html'} in a browser.")


def lint(_: Sequence[str] = ()) -> None:
    """Install with the test tools; check style, types and layers."""
    install("--editable", ".[test]")
    run(BIN / "ruff", "check", ".")
    run(BIN / "ruff", "format", "--check", ".")
    run(BIN / "mypy")
    run(BIN / "lint-imports")


def test(selection: Sequence[str]) -> None:
    """Check as `lint` does, then run the tests, two at once; with `--all` also the exhaustive ones."""
    lint()
    chosen = any(word.startswith(("-n", "--numprocesses")) for word in selection)
    run(BIN / "pytest", *(() if chosen else AT_ONCE), *selection)


def unit(selection: Sequence[str]) -> None:
    """Run the unit tests."""
    install("--editable", ".[test]")
    run(BIN / "pytest", *AT_ONCE, "tests/unit", *selection)


def docs(_: Sequence[str]) -> None:
    """Write what is generated, as signatures and pages of queries, and build the site in `site/`."""
    install("--editable", ".[test,docs]")
    run(BIN / "python", "-m", "tracegraph.workbench.generate", ".")
    for page in ("storeys", "commands", "claims"):
        run(BIN / "python", f"docs/{page}.py")
    run(BIN / "mkdocs", "build", "--strict", "--quiet")


def main() -> None:
    """Read the command line and run the task."""
    parser = argparse.ArgumentParser(description=__doc__)
    tasks = {"demo": demo, "test": test, "lint": lint, "unit": unit, "docs": docs}
    parser.add_argument("task", choices=tasks)
    parser.add_argument("selection", nargs=argparse.REMAINDER, help="passed on to pytest, e.g. --all")
    arguments = parser.parse_args()
    tasks[arguments.task](arguments.selection)


if __name__ == "__main__":
    main()
