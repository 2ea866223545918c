"""What is said first of a run or a difference as Markdown, for a pull request; text of a trace stays text."""

import re
from collections.abc import Sequence

from tracegraph.base.units import short_ns
from tracegraph.cli.reporters.first_screen import FirstScreen
from tracegraph.workbench.sections.blocks import Fact
from tracegraph.workbench.sections.cells import said_faster
from tracegraph.workbench.text.markup import code_parts
from tracegraph.workbench.text.text import format_share, label, visible

_MEANT = re.compile(r"[\\`*_\[\]<>&|~#$]|:(?=//)|(?<=www)\.", re.IGNORECASE)
"""What Markdown or HTML would take for more than text, and addresses that become links by themselves."""
_PLAIN = re.compile(r"[\w .,:=*()'/-]{1,400}", re.ASCII)
"""What can stand between backticks in a table, whatever reads it."""
_MENTION = re.compile("@")
_CELLS = 600
"""How many cells a text may take before it is shortened."""


def as_markdown(shown: FirstScreen) -> str:
    """Return the first screen as Markdown: a heading, what is known, the parts of the path and the fixes."""
    lines = [f"### {_text(shown.title)}", ""]
    for heading, facts in shown.facts:
        lines += [f"**{_text(heading)}**", "", *_listed(facts), ""]
    if shown.made_of is not None:
        whole_ns = shown.made_of.whole_ns
        lines += [f"What the {short_ns(whole_ns)} of the path are made of:", ""]
        lines += ["| part | of the path | without it |", "|---|--:|--:|"]
        for part in shown.made_of.parts:
            share = _share(part.length_ns, whole_ns) if part.length_ns else ""
            lines.append(f"| {_text(part.word)} | {share} | {said_faster(part)} |")
        lines += ["", *([shown.made_of.note, ""] if shown.made_of.note else [])]
    if shown.fixes:
        lines += [
            "| fix | gain | of the run | at least | at most | predicted by |",
            "|---|--:|--:|--:|--:|---|",
        ]
        for fix in shown.fixes:
            gains = [short_ns(fix["gain_ns"]), _share(fix["gain_ns"], fix["base_ns"])]
            gains += [short_ns(fix[name]) for name in ("low_ns", "high_ns")]
            lines.append(f"| {' | '.join([_text(fix['title']), *gains, _code(_one_line(fix['command']))])} |")
        lines += ["", _text(shown.together)] if shown.together else []
    return "\n".join(lines).rstrip() + "\n"


def facts_as_markdown(title: str, facts: Sequence[Fact]) -> str:
    """Return facts as Markdown: a heading, and a list with one in each item."""
    return "\n".join([f"### {_text(title)}", "", *_listed(facts)]) + "\n"


def _listed(facts: Sequence[Fact]) -> list[str]:
    return [f"- {_text(f'{fact.word}: ' if fact.word else '')}{_text(fact.text)}" for fact in facts]


def _code(text: str) -> str:
    """Return a text as code: between backticks, which can be copied, if it is plain."""
    return f"`{text}`" if _PLAIN.fullmatch(text) else f"<code>{_escaped(text)}</code>"


def _share(length_ns: int, whole_ns: int) -> str:
    return format_share(length_ns / max(1, whole_ns))


def _text(text: str) -> str:
    """Return a text as Markdown, with what stands between backticks as code and all else as it is."""
    parts = code_parts(_one_line(text))
    return "".join(_code(part) if is_code else _escaped(part) for part, is_code in parts)


def _one_line(text: str) -> str:
    return label(visible(text), _CELLS)


def _escaped(text: str) -> str:
    """Return a text that Markdown shows as it is: signs with a meaning become entities; nobody is called."""
    return _MENTION.sub("&#64;&#8203;", _MEANT.sub(lambda found: f"&#{ord(found[0])};", text))
