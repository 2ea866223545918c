"""Texts as HTML: code between backticks, numbers beside their units, names of traces as text."""

import pytest

from tracegraph.workbench.text.markup import TEXT_CELLS, coded, command, safe_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("61.4 % in `aten::mm`.", "61.4\xa0% in <code>aten::mm</code>."),
        ("2 calls in 28 kB and > 3 ms", "2 calls in 28\xa0kB and &gt;\xa03\xa0ms"),
        ("a name with one ` in it", "a name with one ` in it"),
        ("`<script>` & <b>", "<code>&lt;script&gt;</code> &amp; &lt;b&gt;"),
        ("`a\x1b[31m`", "<code>a\\x1b[31m</code>"),
    ],
)
def test_backticks_are_code_and_all_else_is_text(text: str, shown: str) -> None:
    assert coded(text) == shown


def test_words_of_a_command_stay_whole() -> None:
    assert command("what-if 'name=<b>'") == "<span>what-if</span> <span>&#39;name=&lt;b&gt;&#39;</span>"


def test_texts_are_of_limited_length() -> None:
    assert len(safe_text("x" * 10_000)) == len(coded("x" * 10_000)) == TEXT_CELLS
