"""Set up everything and run a task: `python3 tasks.py demo` or `python3 tasks.py test`."""

import argparse
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
BIN = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
EXAMPLE = ROOT / "examples" / "traces" / "simulated_gpu.json.gz"
OUTPUT = ROOT / "report"


def run(*command: str | Path) -> None:
    """Run a command in the project's folder and show it; a failure ends the task with its exit code."""
    print("$", *command, flush=True)
    path = os.pathsep.join([str(BIN), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path}
    done = subprocess.run([str(part) for part in command], cwd=ROOT, env=environment, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def install(*what: str) -> None:
    """Make the virtual environment if there is none, and install into it."""
    if not (BIN / "python").exists():
        venv.create(ENVIRONMENT, with_pip=True)
    run(BIN / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)


def demo(_: Sequence[str]) -> None:
    """Install tracegraph and report on the example trace."""
    install(".")
    run(BIN / "tracegraph", "report", EXAMPLE, "--output", OUTPUT)
    print(f"\nOpen {OUTPUT / 'report.html'} in a browser.")


def test(selection: Sequence[str]) -> None:
    """Install with the test tools; run lint, types, layers and tests, with `--all` exhaustive ones, too."""
    install("--editable", ".[test]")
    run(BIN / "ruff", "check", ".")
    run(BIN / "ruff", "format", "--check", ".")
    run(BIN / "mypy")
    run(BIN / "lint-imports")
    run(BIN / "pytest", *selection)


def main() -> None:
    """Read the command line and run the task."""
    parser = argparse.ArgumentParser(description=__doc__)
    tasks = {"demo": demo, "test": test}
    parser.add_argument("task", choices=tasks)
    parser.add_argument("selection", nargs=argparse.REMAINDER, help="passed on to pytest, e.g. --all")
    arguments = parser.parse_args()
    tasks[arguments.task](arguments.selection)


if __name__ == "__main__":
    main()
