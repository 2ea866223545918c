"""Names made safe and short, numbers with units."""

import pytest
from rich.cells import cell_len

from tracegraph.base.units import format_bytes
from tracegraph.cli.reporters.integrity import integrity_lines
from tracegraph.workbench.text.text import csv_safe, format_ns, format_share, label, plural, shorten, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("aten::mm", "aten::mm"),
        ("naïve 漢字 µs", "naïve 漢字 µs"),
        ("a\x1b[31mred", "a\\x1b[31mred"),
        ("two\nlines\r\n", "two\\x0alines\\x0d\\x0a"),
        ("nul\0", "nul\\x00"),
        ("abc\u202edef", "abc\\u202edef"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("line\u2028end", "line\\u2028end"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("\x9b31m", "\\x9b31m"),
    ],
)
def test_hidden_characters_are_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        ("short", 10, "short"),
        ("abcdefghij", 10, "abcdefghij"),
        ("abcdefghijk", 10, "abcd…ghijk"),
        ("漢字漢字漢字", 8, "漢…漢字"),
    ],
)
def test_names_are_cut_in_the_middle(text: str, width: int, short: str) -> None:
    assert shorten(text, width) == short
    assert cell_len(shorten(text, width)) <= width


def test_label_of_a_huge_name_keeps_both_ends() -> None:
    shown = label("begin" + "x\n" * 3_000_000 + "finish", 20)
    assert shown.startswith("begin")
    assert shown.endswith("finish")
    assert len(shown) <= 20


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("=1+1", "'=1+1"),
        ("+a", "'+a"),
        ("-a", "'-a"),
        ("@a", "'@a"),
        ("\t=1", "'\t=1"),
        (" \r\n=1", "' \r\n=1"),
        ("\ufeff=1", "'\ufeff=1"),
        ("\u200b\u2060@a", "'\u200b\u2060@a"),
        ("\u00a0\u3000-1", "'\u00a0\u3000-1"),
        ("\ufe0f\u3164+1", "'\ufe0f\u3164+1"),
        ("＝1", "'＝1"),
        ("\x1b]0;=1\x07", "\\x1b]0;=1\\x07"),
        ("a\x9bb\tc\nd\re\x7f", "a\\x9bb\tc\nd\re\\x7f"),
        ("\ufeffname", "\ufeffname"),
        ("aten::add=", "aten::add="),
        ("", ""),
    ],
)
def test_no_cell_is_a_formula(text: str, safe: str) -> None:
    assert csv_safe(text) == safe


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1000, "1.000 µs"),
        (12_345_678, "12.346 ms"),
        (3_600_000_000_000, "3,600.000 s"),
        (-1500, "-1.500 µs"),
    ],
)
def test_durations(value: int, shown: str) -> None:
    assert format_ns(value) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, "0.0 %"), (0.0004, "< 0.1 %"), (0.125, "12.5 %"), (0.99999, "> 99.9 %"), (1, "100.0 %")],
)
def test_a_part_is_neither_nothing_nor_the_whole(share: float, shown: str) -> None:
    assert format_share(share) == shown


def test_plural() -> None:
    assert plural(1, "stretch", "stretches") == "1 stretch"
    assert plural(2000, "stretch", "stretches") == "2,000 stretches"
    assert plural(0, "rank") == "0 ranks"


@pytest.mark.parametrize(
    ("count", "text"),
    [(1, "1 byte"), (999, "999 bytes"), (1_500, "1.5 kB"), (2_000_000, "2 MB"), (155_400_000, "155 MB")],
)
def test_sizes_have_their_unit(count: int, text: str) -> None:
    assert format_bytes(count) == text


def test_integrity_lines_hold_what_was_lost() -> None:
    rows = [
        {"level": "error", "code": "cut", "count": 1, "message": "ends\x1b[31m early"},
        {"level": "warning", "code": "odd", "count": 1234, "message": "two\nlines"},
        {"level": "info", "code": "fine", "count": 1, "message": "said in the report only"},
    ]
    assert integrity_lines(rows) == [
        "error cut 1 ends\\x1b[31m early",
        "warning odd 1,234 two\\x0alines",
    ]
