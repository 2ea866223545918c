"""A small file that unpacks to more than it seems takes less than 1.5 GB, whatever is in it."""

import subprocess
import sys
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.readers import read_trace

READ = """
import sys
from pathlib import Path
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.readers import read_trace
from tracegraph.base.errors import InputError

try:
    read_trace(Path(sys.argv[1]), Integrity("", Limits(unpacked=4 << 30, events=12_000_000)))
except InputError as error:
    print(error)
status = Path("/proc/self/status").read_text().splitlines()
peak = next(line for line in status if line.startswith("VmHWM:"))
print(int(peak.split()[1]) * 1024)
"""
"""Not by ru_maxrss, which begins with what the process had that started this one."""
MOST_BYTES = 1_500_000_000
EVENT = b'[{"ph":"X","ts":1,"dur":1,"tid":1,"cat":"cpu_op",'


def _write_bomb(path: Path, head: bytes, unit: bytes, size: int, tail: bytes) -> None:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    block = unit * ((1 << 20) // len(unit))
    with path.open("wb") as file:
        file.write(packer.compress(head))
        for _ in range(size // len(block)):
            file.write(packer.compress(block))
        file.write(packer.compress(tail) + packer.flush())


def _read(path: Path) -> tuple[str, int]:
    """What a process says that reads a file, and the most memory it took, in bytes."""
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    *said, peak = done.stdout.splitlines()
    return " ".join(said), int(peak)


SLOW = pytest.mark.exhaustive


@pytest.mark.parametrize(
    ("head", "unit", "size", "tail", "message"),
    [
        pytest.param(b"[0", b",0", 10**8, b"]", "more than 12,000,000 entries", id="numbers"),
        pytest.param(b"[{}", b",{}", 10**8, b"]", "more than 12,000,000 entries", id="objects", marks=SLOW),
        pytest.param(b"[", b"[", 16 * 10**8, b"", "times its size", id="nested", marks=SLOW),
        pytest.param(b"[", b"[", 10**9, b"", "no event", id="nested-within-a-gib", marks=SLOW),
        pytest.param(b"[", b" ", 5 * 10**9, b"", "more than 4,294,967,296 bytes", id="spaces", marks=SLOW),
        pytest.param(EVENT + b'"name":"\xf0\x9f\x99\x82', b"a", 10**9, b'"}]', "", id="name", marks=SLOW),
        pytest.param(EVENT + b'"args":[0', b",[]", 10**9, b"]}]", "not valid", id="args", marks=SLOW),
        pytest.param(EVENT + b'"id":1', b"1", 10**9, b"}]", "over 4,194,304 bytes", id="digits", marks=SLOW),
        pytest.param(EVENT + b'"a":0', b',"a":0', 10**9, b"}]", "not valid", id="keys", marks=SLOW),
        pytest.param(EVENT + b'"name":"a"},', b'"\\n', 10**9, b"]", "", id="broken text", marks=SLOW),
        pytest.param(
            b'{"traceEvents":' + EVENT + b'"name":"a"}],"deviceProperties":[0', b",[]", 10**8, b"]}", "",
            id="facts", marks=SLOW,
        ),
    ],
)  # fmt: skip
def test_a_bomb_takes_little(
    tmp_path: Path, head: bytes, unit: bytes, size: int, tail: bytes, message: str
) -> None:
    _write_bomb(tmp_path / "bomb.gz", head, unit, size, tail)
    said, peak = _read(tmp_path / "bomb.gz")
    assert message in said
    assert peak < MOST_BYTES


def _write_parquet(path: Path, text: str | None, rows: int) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))
    metadata = {"tracegraph.head": "", "tracegraph.tail": ""}
    schema = pa.schema([pa.field("json", column.type)], metadata)
    pq.write_table(pa.Table.from_arrays([column], schema=schema), path)


@pytest.mark.exhaustive
def test_a_dictionary_of_one_long_text_takes_little(tmp_path: Path) -> None:
    _write_parquet(tmp_path / "bomb.parquet", '{"ph": "M", "a": "%s"}' % ("a" * 150_000), 30_000)
    said, peak = _read(tmp_path / "bomb.parquet")
    assert "more than 4,294,967,296 bytes" in said
    assert peak < MOST_BYTES


def test_rows_are_counted_before_they_are_read(tmp_path: Path) -> None:
    _write_parquet(tmp_path / "bomb.parquet", "{}", 1000)
    with pytest.raises(InputError, match="holds more than 999 entries"):
        read_trace(tmp_path / "bomb.parquet", Integrity("", Limits(events=999)))
