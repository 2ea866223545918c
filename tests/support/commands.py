"""The command line as a process of its own: started, watched by its stages, killed, interrupted."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

# The signal first: a shell has what it runs in the background ignore Ctrl-C.
_MAIN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tracegraph.cli.main import main
raise SystemExit(main())
"""
_LIMIT_S = 300


class Command:
    """A running `tracegraph -v --workspace FOLDER ARGUMENTS`, in a process group of its own."""

    def __init__(
        self, workspace: Path, *arguments: str | Path, environment: dict[str, str] | None = None
    ) -> None:
        words = ["-v", "--workspace", str(workspace), *map(str, arguments)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _MAIN, *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
        self.lines: list[str] = []

    def wait_for(self, stage: str, after_s: float = 0.0) -> None:
        """Return `after_s` after the line of a stage; fails when the command ends without it."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.lines.append(line.rstrip())
            if line.startswith(stage):
                time.sleep(after_s)
                return
        raise AssertionError(f"no stage {stage!r}: {self.lines}")

    def kill(self) -> None:
        """Kill the whole process group at once, as `kill -9` does."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate(timeout=_LIMIT_S)

    def kill_alone(self) -> None:
        """Kill the command's own process and no other, as the system does where memory is short."""
        self._process.kill()
        self._process.wait(_LIMIT_S)

    def interrupt(self) -> float:
        """Send what Ctrl-C sends to the process group; returns the seconds until the command is gone."""
        begun = time.monotonic()
        os.killpg(self._process.pid, signal.SIGINT)
        self._process.wait(_LIMIT_S)
        return time.monotonic() - begun

    def end(self) -> tuple[int, str]:
        """Wait for the end; returns the exit code and the last line of stderr."""
        _, rest = self._process.communicate(timeout=_LIMIT_S)
        self.lines += rest.splitlines()
        return self._process.returncode, self.lines[-1] if self.lines else ""


def run(workspace: Path, *arguments: str | Path) -> tuple[int, str]:
    """Run a command to its end; returns the exit code and the last line of stderr."""
    return Command(workspace, *arguments).end()
