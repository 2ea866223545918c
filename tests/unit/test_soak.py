"""What the soak benchmark calls growth, and its picture."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from benchmarks.soak.curves import draw_curves
from benchmarks.soak.cycles import Cycle
from benchmarks.soak.describe import describe
from benchmarks.soak.judge import MEASURES

FLAT = Cycle("a.json.gz", 10**8, 10**9, 10**8, 1_000, wall_s=1.0, cpu_s=2.0, server_pid=1)


def grown(**last: float) -> list[str]:
    cycles = [FLAT] * 15 + [replace(FLAT, **last)] * 5  # type: ignore[arg-type]
    return [measure.name for measure in MEASURES if measure.grows(cycles)]


@pytest.mark.parametrize(
    ("last", "names"),
    [
        ({}, []),
        ({"disk_bytes": 129_000_000, "cpu_s": 2.5}, []),
        ({"disk_bytes": 131_000_000}, ["disk of the workspace"]),
        ({"server_bytes": 1_400_000_000, "nodes": 2_000}, ["memory of the server", "nodes"]),
        ({"wall_s": 9.0}, []),  # others may use the machine
    ],
)
def test_the_last_quarter_may_not_be_far_beyond_the_first(last: dict[str, float], names: list[str]) -> None:
    assert grown(**last) == names


def test_a_server_that_was_restarted_is_told() -> None:
    text = describe([FLAT, FLAT, *[replace(FLAT, server_pid=2)] * 2], "machine", "soak.svg")
    assert "machine. 4 cycles: a × 4. Restarts of the server: 1." in text
    assert "| disk of the workspace, MB | 100.0 | 100.0 | 1.00 | 100.0 | 1.3 times |" in text


def test_the_picture_has_a_curve_for_each_measure() -> None:
    picture = ElementTree.fromstring(draw_curves([FLAT] * 8))
    curves = picture.findall(".//{http://www.w3.org/2000/svg}polyline")
    assert [len(curve.attrib["points"].split()) for curve in curves] == [8] * len(MEASURES)
