"""The pages on fixes and recommendations, written from what the code declares."""

import inspect

from tracegraph.ingest.what_if.fixes.fix import Fix
from tracegraph.ingest.what_if.fixes.registry import FIXES
from tracegraph.vocabulary.bounds import BOTTLENECKS, RESOURCES
from tracegraph.workbench.findings.recommendations import RULES, Rule
from tracegraph.workbench.text.text import format_share

_RULES_HEAD = """# Recommendations

What to try comes in this order: the fixes that a run shows, by what they gain, of which the first is that of
the verdict ([fixes.md](fixes.md) says how each is recognised and predicted); then what rules observe, which
has no gain of its own. Where the file does not tell what to change, what may be wrong with it comes first.

## Fixes

| fix | what to do | how |
| --- | --- | --- |
{fixes}

## Rules

A rule measures a share and has a threshold that it has to reach (0..1 in files). Where a fix of the last
column is listed, it says the same with its gain, and the rule is left out. This page is generated from both
(`python -m tracegraph.workbench.generate .`). Set thresholds of your own with `tracegraph report --thresholds
FILE`, where FILE holds one JSON object such as `{"idle-gpu": 0.5}`, or with
`run.report(thresholds={"idle-gpu": 0.5})`. summary.json has what is listed under `recommendations`.

| rule | what it says | what is measured | threshold | advice | fix |
| --- | --- | --- | --- | --- | --- |"""

_FIXES_HEAD = """# Fixes, bounds and plans

What bounds a run says what it waits for; a fix says what can be done, and what that gains. Both are replays
of the causal graph, made when a run is stored, and stand in the report, in summary.json under `bounds` and
`fixes`, and on the Run node. This page is generated from the code (`python -m tracegraph.workbench.generate
.`); how to add a fix: [CONTRIBUTING.md](../CONTRIBUTING.md). How true the gains are:
[accuracy.md](accuracy.md).

## Bounds

The run replayed with each resource at no time, alone. The bottleneck is the one that gains most, where that
is 1.5 times what the next gains; else all that gain two thirds of the most are named: `bottleneck` is
`several`, and `bottlenecks` holds each. If too much of the path is unrecorded to tell, it is `unknown`. In a
report on a step or phase, and where nothing gains 2 %, it is what most of the path is made of.

| resource | `verdict.bottleneck` | what takes no time |
| --- | --- | --- |
{resources}

Floors are what no schedule of the work as recorded is shorter than: the work of the busiest thread, the
time in which the busiest device computes, and in which the busiest link (of one GPU) transfers.

## Fixes

A fix is made in what a selector selects (`tracegraph what-if --NAME SEL`, `run.what_if(name=SEL)`),
repeatable and together with all other questions; `--keep` and `verify` take what it leaves. What a
recording shows is proposed with its command: the five fixes that gain most, from 1 % of the run on, each in
the place where it gains most, and of two that gain nearly the same in the narrower. What no file can tell is
an assumption, and said with the answer.

A range ends at what the work, waits and lags take that a fix removes; where a gain follows from the peaks of
a device it is the most, and half of the higher speed the least. Gaps that nothing explains, and those of work
that is in no file, keep their length: no fix gains them.

{fixes}
## Plans

`tracegraph plan --fixes K` (`run.plan(K)`) replays sets of the fixes that a run shows, of each kind the
place that gains most: the best one, the best two of all pairs, then greedily one more, as long as it gains
1 % of the run. It also lists pairs that gain 1.1 times what both gain by themselves.
"""


def fixes_page() -> str:
    """Write docs/fixes.md: what bounds a run, each fix, and plans."""
    resources = "\n".join(
        f"| {name} | `{BOTTLENECKS[name]}` | {meaning} |" for name, meaning in RESOURCES.items()
    )
    return _FIXES_HEAD.format(resources=resources, fixes="\n".join(map(_fix, FIXES)))


def _fix(fix: Fix) -> str:
    option = " ".join(fix.option or (f"--{fix.name}",)) if fix.edit is not None else None
    rows = {
        "asked by": f"`{option} {fix.argument}`" if option else "older options, as its command says",
        "recognised by": fix.recognised,
        "a replay": fix.replayed,
        "how": fix.how,
        "taken for granted": "; ".join(fix.assumptions),
        "refuted by": fix.refuted_by,
        **({"made instead of": ", ".join(fix.instead_of)} if fix.instead_of else {}),
    }
    table = "\n".join(f"| {name} | {text} |" for name, text in rows.items())
    return f"### {fix.title}\n\n| `{fix.name}` | |\n| --- | --- |\n{table}\n"


def recommendations_page() -> str:
    """Write docs/recommendations.md: fixes by what they gain, and rules with their thresholds."""
    fixes = "\n".join(f"| `{fix.name}` | {fix.title} | {fix.how} |" for fix in FIXES)
    rows = (
        [f"`{r.code}`", r.title, _measured(r), format_share(r.threshold), r.advice, _same(r)] for r in RULES
    )
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{_RULES_HEAD.replace('{fixes}', fixes)}\n{table}\n"


def _same(rule: Rule) -> str:
    return ", ".join(f"`{fix}`" for fix in rule.fixes)


def _measured(rule: Rule) -> str:
    said = inspect.getdoc(rule.measure) or ""
    return said.split("\n\n", maxsplit=1)[0].replace("\n", " ").rstrip(".")
