"""report.html in a real Chromium: opened from a file, without network or errors, with the right numbers."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from browser import Page, find_browser, open_page
from parallel_rows import FULL, PARALLEL, answers
from report_data import ALTERNATIVES, NEAR, SECOND, WAITS, compared, make_findings

from tracegraph.base.units import short_ns
from tracegraph.cli.main import main
from tracegraph.queries.run_part import WHOLE
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.memory.pictures import segment_picture, source_tree
from tracegraph.workbench.output.page import plot_page, report_page
from tracegraph.workbench.text.markup import TEXT_CELLS
from tracegraph.workbench.text.text import label

pytestmark = pytest.mark.exhaustive
EXAMPLE = Path(__file__).parents[2] / "examples" / "traces" / "simulated_gpu.json.gz"
HOSTILE = [
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    "</script><script>window.pwned = 1</script>",
    "<!--<script>window.pwned = 1</script>-->",
    "${window.pwned = 1}`+(window.pwned = 1)+`",
    "'\"><svg onload=window.pwned=1>",
    "javascript:window.pwned=1",
    "__proto__",
    "constructor",
    "\u202eright to left\u2028",
]
ROWS = "[...document.querySelectorAll('#numbers tr')].map((r) => [...r.cells].map((c) => c.textContent))"
ACTIVE = 'img, iframe, a:not([href^="#"]), [onload], [onerror]'
"""What loads something, leads out of the page, or runs a script by itself."""
COLOURS = """(() => {
  const canvas = document.querySelector('canvas');
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  const found = new Set();
  for (let i = 0; i < data.length; i += 4) found.add(data.slice(i, i + 3).join());
  return [...found];
})()"""
KERNEL = """(() => {
  document.querySelector('canvas').scrollIntoView({block: 'center', behavior: 'instant'});
  const box = document.querySelector('canvas').getBoundingClientRect();
  return [box.left + 0.65 * box.width, box.top + 64];
})()"""
CANVAS = "document.querySelector('canvas').toDataURL()"
CONTENTS = [
    *("Answer", "Verdict", "What the critical path is made of", "What to do about it"),
    "Lanes, with the critical path on them",
    *(
        "Where the time goes",
        "Use of the peak",
        "Where in my code",
        "Flame graph of the critical path",
        "Steps",
    ),
    *("More advice", "Recommendations", "What bounds the run", "What if"),
    *("Critical path", "Window", "Critical path", "Composition"),
    *("Hotspots on the critical path (the 10 largest)", "Gaps on the critical path", "Other assumptions"),
    *("Waiting", "Large but not critical", "Nearly critical", "The path, stretch by stretch"),
    *("Code", "Operators", "Phases", "User annotations"),
    *("GPU", "Why GPUs are idle", "GPU time", "Kernels", "Idle time of streams"),
    *("Launches", "Queues and copies", "Kernel patterns", "Hardware counters", "Roofline"),
    *("Between ranks", "Use of the links", "Buckets of gradients", "Communication and computation"),
    *("Memory", "Memory"),
    *("Input", "Integrity of the input", "Words", "summary.json", "All numbers"),
]
"""The groups of the page's contents, and the sections of each."""
OPENED = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
SOON = "new Promise((done) => setTimeout(done, 200))"
Open = Callable[[Path], AbstractContextManager[Page]]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Open a file in a browser and check that it asked for nothing else and reported nothing."""
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium is installed")

    @contextmanager
    def open_file(path: Path) -> Iterator[Page]:
        with open_page(program, path.as_uri(), tmp_path / "profile") as page:
            yield page
            assert page.problems == []
            assert page.requests == [path.as_uri()]

    return open_file


def written(tmp_path: Path, findings: Findings) -> Path:
    path = tmp_path / "report.html"
    path.write_text(report_page(findings), encoding="utf-8")
    return path


def sized(page: Page, width: int, height: int) -> list[int]:
    """How wide the page is in a window of this size, where its timeline begins, and how high it is folded."""
    page.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=True
    )
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = false; })")
    page.evaluate("scrollTo(0, 0)")
    page.evaluate(SOON)
    found: list[int] = page.evaluate(
        "[document.documentElement.scrollWidth, "
        "document.querySelector('canvas').getBoundingClientRect().top, "
        "document.documentElement.scrollHeight]"
    )
    return found


def flat(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Every number of a summary by its dotted name, as the page writes it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict | list) and value:
        for key, item in items:
            yield from flat(item, f"{name}.{key}" if name else str(key))
    elif not isinstance(value, float):  # floats are compared as numbers elsewhere
        yield (
            name,
            "none" if isinstance(value, dict | list) else json.dumps(value, ensure_ascii=False).strip('"'),
        )


@pytest.mark.usefixtures("database")
def test_page_shows_the_numbers_of_the_summary(tmp_path: Path, workspace: Workspace, opened: Open) -> None:
    arguments = ["--workspace", str(workspace.root), "report", str(EXAMPLE), "-o", str(tmp_path / "out")]
    assert main(arguments) == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    with opened(tmp_path / "out" / "report.html") as page:
        page.evaluate("document.querySelector('#numbers details').open = true")
        page.evaluate(SOON)
        rows = dict(page.evaluate(ROWS))
        text = page.evaluate("document.body.innerText")
        contents = page.evaluate("[...document.querySelectorAll('nav b, nav a')].map((a) => a.textContent)")
        title = page.evaluate("document.querySelector('h1').textContent")
        led_to = page.evaluate(
            "[...document.querySelectorAll('nav a')].map((one) => [one.textContent, "
            "document.querySelector(one.hash).querySelector('h2, summary').textContent])"
        )
        sizes = {width: sized(page, width, height) for width, height in ((1400, 900), (390, 844))}
    # The timeline begins on the first screen; on a phone nothing is wider than that, and what is open takes
    # 5,900 px, with room for other fonts.
    assert [wide for wide, _, _ in sizes.values()] == list(sizes)
    assert sizes[1400][1] < 900
    assert sizes[390][2] < 6_300
    # Texts are shown as far as they fit: a pattern names all its kernels.
    expected = {name: label(value, TEXT_CELLS) for name, value in flat(summary)}
    assert {name: rows[name] for name in expected} == expected
    path = summary["critical_path"]
    assert float(rows["critical_path.explained_share"]) == path["explained_share"]
    assert short_ns(path["length_ns"]) in text
    assert title == summary["run"]
    assert contents == CONTENTS
    assert [one for one in led_to if one[0] != one[1]] == []


def test_path_and_lanes_are_drawn(tmp_path: Path, opened: Open) -> None:
    with opened(written(tmp_path, make_findings())) as page:
        colours = page.evaluate(COLOURS)
    assert {"214,32,78", "76,120,168", "232,135,30"} <= set(colours)  # the path, an operator, a kernel


def point_at_kernel(page: Page) -> dict[str, float]:
    x, y = page.evaluate(KERNEL)
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    page.evaluate(SOON)
    return {"x": x, "y": y}


def test_zoom_and_tooltip_answer(tmp_path: Path, opened: Open) -> None:
    with opened(written(tmp_path, make_findings())) as page:
        wheel = {"type": "mouseWheel", "deltaX": 0, "deltaY": -200, **point_at_kernel(page)}
        assert "gemm<float>" in page.evaluate("document.querySelector('.tip').innerText")
        before = page.evaluate(CANVAS)
        page.call("Input.dispatchMouseEvent", **wheel)
        page.evaluate(SOON)
        wheel |= point_at_kernel(page)
        assert page.evaluate(CANVAS) == before  # the page scrolls
        page.evaluate("document.querySelector('canvas').focus({preventScroll: true})")
        page.call("Input.dispatchMouseEvent", **wheel)
        page.evaluate(SOON)
        assert page.evaluate(CANVAS) != before
        page.evaluate("document.querySelector('.toolbar button').click()")
        page.evaluate(SOON)
        assert page.evaluate(CANVAS) == before


def test_a_name_is_found_on_the_lanes_and_its_row_from_there(tmp_path: Path, opened: Open) -> None:
    told = "document.getElementById('hits').textContent"
    with opened(written(tmp_path, make_findings())) as page:
        before = page.evaluate(CANVAS)
        page.evaluate(
            "(() => { const field = document.getElementById('find'); field.value = 'GEMM'; "
            "field.dispatchEvent(new Event('input')); })()"
        )
        assert page.evaluate(told) == "2 hits · 45.0 % of the path inside"
        page.evaluate(
            "document.getElementById('find').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))"
        )
        page.evaluate(SOON)
        assert page.evaluate(told).startswith("1 of 2 hits · slack 0 ns · after thread 11 (main), ")
        assert page.evaluate(CANVAS) != before
        page.evaluate("document.querySelector('#hotspots [data-name=\"aten::linear\"]').click()")
        page.evaluate(SOON)
        assert page.evaluate(told).startswith("1 of 1 hit · ")
        page.evaluate("document.querySelector('.toolbar button').click()")
        page.evaluate(SOON)
        x, y = page.evaluate(KERNEL)
        for kind in ("mousePressed", "mouseReleased"):
            page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        assert page.evaluate("document.querySelector('.panel h3').textContent") == "gemm<float>"
        assert page.evaluate("document.querySelector('.found')") is None
        page.evaluate(
            "[...document.querySelectorAll('.panel ul button')]"
            ".find((one) => one.textContent.startsWith('Hotspots')).click()"
        )
        assert page.evaluate("document.querySelector('.found').dataset.name") == "gemm<float>"
        assert page.evaluate("document.querySelector('#hotspots details').open") is True


def test_what_is_pointed_at_tells_its_cause_and_shows_the_way_to_it(tmp_path: Path, opened: Open) -> None:
    with opened(written(tmp_path, make_findings())) as page:
        before = page.evaluate(CANVAS)
        x, y = page.evaluate(KERNEL)
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        tip = page.evaluate("document.querySelector('.tip').innerText")
        assert "slack 0 ns · after thread 11 (main), 100 ns before: INVOCATION (correlation, recorded" in tip
        page.evaluate(SOON)
        assert page.evaluate(CANVAS) != before
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=5)
        page.evaluate(SOON)
        assert page.evaluate(CANVAS) == before


def test_call_stacks_stand_above_their_thread_on_demand(tmp_path: Path, opened: Open) -> None:
    height = "document.querySelector('canvas').clientHeight"
    button = (
        "[...document.querySelectorAll('.toolbar button')].find((one) => one.textContent === 'Call stacks')"
    )
    with opened(written(tmp_path, make_findings())) as page:
        closed = page.evaluate(height)
        page.evaluate(f"{button}.click()")
        page.evaluate(SOON)
        assert page.evaluate(height) > closed
        assert page.evaluate(f"{button}.getAttribute('aria-pressed')") == "true"
        left, top = page.evaluate(
            "(() => { const canvas = document.querySelector('canvas'); canvas.scrollIntoView();"
            "const box = canvas.getBoundingClientRect(); return [box.left, box.top]; })()"
        )
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + 400, y=top + 30)
        assert page.evaluate("document.querySelector('.tip').innerText").startswith("train\npython_function")
        for kind in ("mousePressed", "mouseReleased"):
            page.call(
                "Input.dispatchMouseEvent", type=kind, x=left + 20, y=top + 45, button="left", clickCount=1
            )
        page.evaluate(SOON)
        assert page.evaluate(height) == closed


def test_the_flame_graph_zooms_finds_and_tells(tmp_path: Path, opened: Open) -> None:
    canvas = "document.querySelector('#flame canvas')"
    said = "document.querySelector('#flame .unseen').textContent"

    def press(page: Page, *keys: str) -> None:
        for key in keys:
            page.evaluate(f"{canvas}.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))")
        page.evaluate(SOON)

    with opened(written(tmp_path, make_findings())) as page:
        whole = page.evaluate(f"{canvas}.toDataURL()")
        press(page, "ArrowDown", "ArrowDown")
        assert page.evaluate(said).startswith("GPU 0 stream 7, stream, 1.000 µs · 50.0 % of the path")
        press(page, "ArrowDown")
        gemm = "gemm<float>, kernel, 900 ns · 45.0 % of the path"
        assert page.evaluate(said) == f"{gemm}, 900 ns of it in itself"
        press(page, "ArrowRight")
        assert page.evaluate(said).startswith("launch latency, gap, 100 ns")
        press(page, "ArrowUp", "Enter")
        zoomed = page.evaluate(f"{canvas}.toDataURL()")
        assert zoomed != whole
        press(page, "Escape")
        assert page.evaluate(said) == "Critical path, 2.000 µs · 100.0 % of the path"
        press(page, "ArrowDown", "Enter")
        assert page.evaluate(f"{canvas}.toDataURL()") == zoomed
        left, top = page.evaluate(
            f"(() => {{ {canvas}.scrollIntoView(); const box = {canvas}.getBoundingClientRect();"
            "return [box.left, box.top]; })()"
        )
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + 100, y=top + 45)
        tip = page.evaluate("document.querySelector('#flame .tip').innerText")
        assert tip.startswith("gemm<float>\nkernel\n900 ns · 45.0 % of the path")
        for kind in ("mousePressed", "mouseReleased"):
            page.call(
                "Input.dispatchMouseEvent", type=kind, x=left + 9, y=top + 9, button="left", clickCount=1
            )
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + 9, y=top - 9)
        press(page, "Home")
        before = page.evaluate(f"{canvas}.toDataURL()")
        page.evaluate(
            "(() => { const field = document.querySelector('#flame input'); field.value = 'GEMM'; "
            "field.dispatchEvent(new Event('input')); })()"
        )
        page.evaluate(SOON)
        assert (
            page.evaluate("document.querySelector('#flame .soft').textContent") == "45.0 % of the path inside"
        )
        assert page.evaluate(f"{canvas}.toDataURL()") != before
        page.evaluate("document.querySelector('#my_code [data-name=\"launch latency\"]').click()")
        assert page.evaluate(said).startswith("launch latency, gap, 100 ns · 5.0 % of the path")


def test_tables_sort_and_filter(tmp_path: Path, opened: Open) -> None:
    first = "document.querySelector('#hotspots tbody tr').cells[0].textContent.trim()"
    heading = "document.querySelectorAll('#hotspots th')[2]"
    with opened(written(tmp_path, make_findings())) as page:
        page.evaluate(OPENED)
        page.evaluate(SOON)
        assert page.evaluate(first) == "gemm<float>"
        page.evaluate(f"{heading}.querySelector('button').click()")
        page.evaluate(f"{heading}.querySelector('button').click()")
        assert page.evaluate(first) == "cudaLaunchKernel"
        assert page.evaluate(f"{heading}.getAttribute('aria-sort')") == "ascending"
        shown = page.evaluate(
            "(() => { const box = document.querySelector('#stretches .filter');"
            "const field = box.querySelector('input'); field.value = 'stream wait';"
            "field.dispatchEvent(new Event('input'));"
            "const rows = [...document.querySelectorAll('#stretches tbody tr')];"
            "return [box.textContent.trim(), rows.filter((row) => !row.hidden).length]; })()"
        )
    assert shown == ["2 rows", 2]


def test_what_is_folded_opens_from_the_contents_and_is_drawn_then(tmp_path: Path, opened: Open) -> None:
    drawn = "document.querySelectorAll('#waiting canvas').length"
    with opened(written(tmp_path, make_findings(**compared(1000, 1020)))) as page:
        folded = page.evaluate(
            "[...document.querySelectorAll('section.folded details')].map((one) => one.open)"
        )
        assert len(folded) == 15
        assert not any(folded)
        assert page.evaluate("document.querySelectorAll('#hotspots .sort').length") == 0
        page.evaluate("document.querySelector('nav a[href=\"#hotspots\"]').click()")
        page.evaluate(SOON)
        assert page.evaluate("document.querySelector('#hotspots details').open") is True
        assert page.evaluate("document.querySelectorAll('#hotspots .sort').length") > 3
        top = page.evaluate("document.querySelector('#hotspots').getBoundingClientRect().top")
        assert 0 <= top < page.evaluate("innerHeight")
        assert page.evaluate("document.querySelector('#gaps details').open") is False
        assert page.evaluate(drawn) == 0
        page.evaluate("document.querySelector('#waiting details').open = true")
        page.evaluate(SOON)
        assert page.evaluate(drawn) == page.evaluate("document.querySelectorAll('#waiting figure').length")


def test_keys_find_a_name_and_list_themselves(tmp_path: Path, opened: Open) -> None:
    def press(page: Page, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            page.call("Input.dispatchKeyEvent", type=kind, key=key, text=key if len(key) == 1 else "")
        page.evaluate(SOON)

    with opened(written(tmp_path, make_findings())) as page:
        press(page, "?")
        assert page.evaluate("document.getElementById('keys').open") is True
        assert "Shift+Enter" in page.evaluate("document.getElementById('keys').innerText")
        page.evaluate("document.getElementById('keys').close()")
        press(page, "/")
        assert page.evaluate("document.activeElement.id") == "find"
        press(page, "?")  # in a field it is a letter
        assert page.evaluate("document.getElementById('keys').open") is False
        assert page.evaluate("document.getElementById('find').value") == "?"


def test_details_stand_beside_the_lanes_until_they_are_closed(tmp_path: Path, opened: Open) -> None:
    panel = "document.querySelector('.panel')"
    with opened(written(tmp_path, make_findings())) as page:
        before = page.evaluate("document.querySelector('canvas').clientWidth")
        x, y = page.evaluate(KERNEL)
        scrolled = page.evaluate("scrollY")
        for kind in ("mousePressed", "mouseReleased"):
            page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        page.evaluate(SOON)
        told = "\n".join(filter(None, page.evaluate(f"{panel}.innerText").split("\n")))
        assert told.startswith("×\ngemm<float>\nkernel · ")
        assert "slack 0 ns · after thread 11 (main), 100 ns before: INVOCATION" in told
        assert "INVOCATION from thread 11 (main)" in told.split("The way to it, backwards")[1]
        assert page.evaluate("document.querySelector('canvas').clientWidth") < before
        assert page.evaluate("scrollY") == scrolled
        page.evaluate(
            "document.querySelector('canvas').dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))"
        )
        page.evaluate(SOON)
        assert page.evaluate(f"{panel}.hidden") is True
        assert page.evaluate("document.querySelector('canvas').clientWidth") == before


@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_is_as_wide_as_its_window(width: int, tmp_path: Path, opened: Open) -> None:
    name = "void kernel<" + "float, " * 40 + ">(" + "x" * 200 + ")"
    rows = [(0, 1, name, "kernel", 0, 1000, "root", "", "")]
    with opened(written(tmp_path, make_findings(rows))) as page:
        page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=True
        )
        page.evaluate(SOON)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_steps_are_drawn_and_tell_about_themselves(tmp_path: Path, opened: Open) -> None:
    with opened(written(tmp_path, make_findings(**compared(1000, 1020, 980, 1010, 1800)))) as page:
        series = page.evaluate(
            "echarts.getInstanceByDom(document.querySelector('#steps .plot')).getOption()"
            ".series.map((one) => [one.name, one.data])"
        )
        tell = (
            "document.querySelector('#steps .plot').dispatchEvent(new KeyboardEvent('keydown', {key: 'End'}))"
        )
        page.evaluate(tell)
        page.evaluate(SOON)
        said = page.evaluate("document.querySelector('#steps .unseen').textContent")
        tip = page.evaluate("document.querySelector('#steps .told').textContent")
        text = page.evaluate("document.body.innerText")
    assert series == [
        ["step", [[0, 1000, 0], [1, 1020, 1], [2, 980, 2]]],
        ["typical step", [[3, 1010, 3]]],
        ["outlier", [[4, 1800, 4]]],
    ]
    assert said.startswith("step 5: outlier 1.800 µs, GPU 50.0 %, CPU 50.0 %, gaps 0.0 %")
    assert tip.startswith("step 5outlier 1.800 µsGPU 50.0 %")
    told = "5 steps of 980 ns to 1.8 µs, median 1.01 µs, spread 15 ns"
    assert told in text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("width", [390, 1400])
def test_kinds_of_parallelism_are_drawn_and_told(width: int, tmp_path: Path, opened: Open) -> None:
    with opened(written(tmp_path, answers(FULL))) as page:
        page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=True
        )
        page.evaluate(OPENED)
        page.evaluate(SOON)
        for name in PARALLEL:
            plot = f"document.querySelector('#{name} .plot')"
            for key in ("ArrowDown", "ArrowDown"):
                page.evaluate(f"{plot}.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))")
        page.evaluate(SOON)
        told = {
            name: page.evaluate(f"document.querySelector('#{name} .unseen').textContent") for name in PARALLEL
        }
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert told == {
        "pipeline": "stage 0: waiting 800 ns, begins at 200 ns",
        "transfers": "data 10 kB: time 11.000 µs, operations 1",
        "ddp_buckets": "size of buckets, MiB 25: predicted step 800 ns, buckets 3, least 790 ns, most 810 "
        "ns, shorter 200 ns",
        "layer_communication": "layer 1: computing 30 ns, communication 50.0 %, named layer 1; exposed "
        "communication 15 ns, communication 50.0 %, named layer 1",
        "gathers": "forward block.1: begins before it could be used 0 ns, modules ahead 0, hidden 25.0 %; "
        "work waits for it 90 ns, modules ahead 0, hidden 25.0 %",
    }


@pytest.mark.parametrize("width", [390, 1400])
def test_the_memory_of_a_peak_is_drawn_by_source_and_told(width: int, tmp_path: Path, opened: Open) -> None:
    rows = pd.DataFrame(
        {
            "class": "gradient",
            "file": [f"/home/{name}.py" for name in HOSTILE],
            "line": range(len(HOSTILE)),
            "function": HOSTILE,
            "module": HOSTILE,
            "bytes": [1_000 * (len(HOSTILE) - place) for place in range(len(HOSTILE))],
            "blocks": 1,
        }
    )
    path = tmp_path / "plot.html"
    path.write_text(plot_page("memory", list(source_tree(rows))), encoding="utf-8")
    plot = "document.querySelector('.plot')"
    with opened(path) as page:
        page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        page.evaluate(SOON)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        drawn = "echarts.getInstanceByDom(document.querySelector('.plot')).getDataURL()"
        assert len(page.evaluate(drawn)) > 5_000
        said = []
        for _ in range(2 * len(HOSTILE) + 1):
            page.evaluate(f"{plot}.dispatchEvent(new KeyboardEvent('keydown', {{key: 'ArrowDown'}}))")
            said.append(page.evaluate("document.querySelector('.unseen').textContent"))
        assert said[0] == "gradient: 55 kB 100.0 % of all"
        assert said[2].startswith(
            "gradient, script>.py, script>.py:0 <script>window.pwned = 1</script> in <script>"
        )
        page.evaluate(SOON)
        assert page.evaluate("window.pwned") is None
        assert page.evaluate(f"document.querySelectorAll('{ACTIVE}').length") == 0


def test_parts_of_segments_are_drawn_and_told(tmp_path: Path, opened: Open) -> None:
    count = 40
    rows = pd.DataFrame(
        {
            "segment": 0,
            "segment_bytes": 1_000 * count,
            "pool": HOSTILE[0],
            "begin_bytes": [1_000 * place for place in range(count)],
            "bytes": 1_000,
            "state": ["in use", "split free"] * (count // 2),
            "class": ["gradient", None] * (count // 2),
            "blocks": 1,
        }
    )
    pools = pd.DataFrame({"pool": ["all"], "segments": [1], "reserved_bytes": [1_000 * count]})
    path = tmp_path / "plot.html"
    path.write_text(plot_page("memory", list(segment_picture(rows, pools))), encoding="utf-8")
    with opened(path) as page:
        page.evaluate(
            "document.querySelector('.plot').dispatchEvent(new KeyboardEvent('keydown', {key: 'Home'}))"
        )
        said = page.evaluate("document.querySelector('.unseen').textContent")
        assert said == f"1, {HOSTILE[0]}, 40 kB: gradient 1 kB, blocks 1, begins at 0 bytes"
        page.evaluate(SOON)
        assert HOSTILE[0] in page.evaluate("document.querySelector('.told').textContent")
        assert page.evaluate("window.pwned") is None


def test_one_step_is_not_drawn(tmp_path: Path, opened: Open) -> None:
    with opened(written(tmp_path, make_findings(**compared(1000)))) as page:
        assert page.evaluate("document.querySelectorAll('#steps .plot').length") == 0


def test_markup_in_names_is_text(tmp_path: Path, opened: Open) -> None:
    rows = [
        (0, place, name, name, 100 * place, 100 * place + 100, "root" if place == 0 else name, name, name)
        for place, name in enumerate(HOSTILE)
    ]
    spots = [{"name": name, "category": name, "duration_ns": 1} for name in HOSTILE]
    what_next = [{**spot, "gain_ns": 1, "following": spots} for spot in spots]
    alternatives = [{**ALTERNATIVES[0], "assumption": name, "hotspots": spots} for name in HOSTILE]
    findings = make_findings(rows)
    findings = make_findings(
        rows,
        lanes=findings.lanes.assign(name=HOSTILE[0]),
        near_critical=pd.concat([NEAR.assign(name=name, lane_name=name) for name in HOSTILE]),
        second_causes=pd.concat([SECOND.assign(name=name, cause=name, second=name) for name in HOSTILE]),
        waits=pd.concat([WAITS.assign(name=name, lane_name=name) for name in HOSTILE]),
        details=replace(findings.details, what_next=what_next, alternatives=alternatives),
        part=WHOLE,
    )
    with opened(written(tmp_path, findings)) as page:
        press = (
            "document.querySelector('.plot').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown'}))"
        )
        page.evaluate(OPENED)
        page.evaluate(SOON)
        page.evaluate(f"{press}, {press}")
        page.evaluate(SOON)
        assert HOSTILE[1] in page.evaluate("document.querySelector('.told').textContent")
        assert page.evaluate("window.pwned") is None
        assert page.evaluate("document.querySelectorAll('script').length") == 12
        assert page.evaluate(f"document.querySelectorAll('{ACTIVE}').length") == 0
        text = page.evaluate("document.body.textContent")
    for name in HOSTILE[:-1]:
        assert name in text
    assert "\\u202eright to left\\u2028" in text
