"""Damaged traces on the whole way from file to graph: `python tests/fuzz/fuzz_reader.py 10 TRACE...`.

Runs for the given minutes over the examples and the traces named, those in JSON also as Parquet. A trace may
be of any format: small databases of Nsight Systems and operation logs are damaged, too. Only InputError may
come out, and within 20 s of CPU time, or within 200 s if it waits. Each other case is written to the folder
`fuzz_cases` below the current one, once for each place in the source that fails; exit code 1 when there are
any. Another `--seed` gives others.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from mutations import EXAMPLES, as_parquet, mutate, run_all, seeds

from tracegraph.base.errors import InputError

LONGEST_S, LONGEST_WAIT_S = 20, 200
"""Seconds of CPU time, and on the clock: other programs on the machine must not make a failure."""


def _too_long(_: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"over {LONGEST_S} s of CPU time, or {LONGEST_WAIT_S} s")


def failure_of(path: Path) -> BaseException | None:
    """What comes out beside InputError; None if nothing does."""
    signal.alarm(LONGEST_WAIT_S)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    try:
        run_all(path)
    except InputError:
        return None
    except (Exception, RecursionError, MemoryError) as error:
        return error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    return None


def fuzz(documents: list[bytes], minutes: float, seed: int, folder: Path) -> int:
    """Number of different failures found."""
    pick = random.Random(seed)
    end, tried, found = time.monotonic() + 60 * minutes, 0, set()
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "trace.json"
        while time.monotonic() < end:
            data = mutate(pick.choice(documents), pick)
            path.write_bytes(data)
            error = failure_of(path)
            tried += 1
            if error is None:
                continue
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__}-{Path(frame.filename).stem}-{frame.name}-{str(error)[:60]}"
            if place not in found:
                found.add(place)
                folder.mkdir(exist_ok=True)
                (folder / f"case{len(found)}.json").write_bytes(data)
                print(f"case{len(found)}: {place}", flush=True)
                traceback.print_exception(error, file=sys.stdout)
    print(f"{tried:,} traces, {len(found)} different failures")
    return len(found)


def main() -> int:
    """Read the command line and fuzz."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", type=float)
    parser.add_argument("traces", type=Path, nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_intermixed_args()
    for limit in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(limit, _too_long)
    documents = seeds([*sorted(EXAMPLES.glob("*.json.gz")), *arguments.traces])
    documents += as_parquet([document for document in documents if document[:1] in (b"{", b"[")])
    return min(1, fuzz(documents, arguments.minutes, arguments.seed, Path("fuzz_cases")))


if __name__ == "__main__":
    sys.exit(main())
