"""The pages on queries: an index by topic, and a page for each topic, written from the headers."""

from collections.abc import Iterator

from tracegraph.queries.catalog import Query, queries
from tracegraph.queries.module import Column, Parameter
from tracegraph.queries.runs import parameters
from tracegraph.queries.topics import TOPICS, Topic

_INDEX = """# Queries

Every answer is one of these queries: from `tracegraph query NAME`, as a method of a run (or of the workbench,
where it is about no run in particular: `runs`, `newest_ready_run`), and in the report. These pages are made
from the queries' headers (`python -m tracegraph.workbench.generate .`), and so are the signatures that an
editor shows. How to add a query: [CONTRIBUTING.md](../CONTRIBUTING.md). How to use queries in a notebook:
[python.md](python.md). How to ask what no query answers: [cypher.md](cypher.md). The graph that they ask:
[schema.md](schema.md).

Without `start_ns`, `end_ns` and `chain` a query about a window is about the whole run, or about the step that
`--step N` (`step=N`) names. Times are integer nanoseconds, shares 0..1.
"""


def query_pages() -> dict[str, str]:
    """Return the text of each page on queries by its path in the project."""
    by_topic = {f"docs/queries/{topic.name}.md": _page(topic) for topic in TOPICS}
    return {"docs/queries.md": "\n".join([_INDEX, *map(_listed, TOPICS)]), **by_topic}


def _listed(topic: Topic) -> str:
    place = f"queries/{topic.name}.md"
    rows = (f"| [`{name}`]({place}#{name}) | {queries()[name].summary} |" for name in topic.queries)
    table = "\n".join(["| query | what it answers |", "| --- | --- |", *rows])
    return f"## [{topic.title}]({place})\n\n{topic.summary}\n\n{table}\n"


def _page(topic: Topic) -> str:
    head = f"# Queries: {topic.title}\n\n{topic.summary} The other topics: [queries.md](../queries.md).\n"
    return "\n".join([head, *("\n".join(_section(queries()[name])) for name in topic.queries)])


def _section(query: Query) -> Iterator[str]:
    yield f"## `{query.name}`\n"
    yield f"{query.summary}\n"
    taken = parameters(query)
    if taken:
        yield "| parameter | type | |"
        yield "| --- | --- | --- |"
        yield from map(_row, taken)
        yield ""
    yield "| column | type | |"
    yield "| --- | --- | --- |"
    yield from map(_row, query.columns)
    yield ""
    yield from (f"{note}\n" for module in query.modules[:1] if query.derived is None for note in module.notes)


def _row(field: Parameter | Column) -> str:
    return f"| `{field.name}` | {field.type}{', or null' if field.nullable else ''} | {field.meaning} |"
