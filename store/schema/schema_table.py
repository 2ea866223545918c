"""The graph schema as Markdown: `python -m tracegraph.store.schema.schema_table > docs/schema.md`."""

from collections.abc import Iterator, Sequence

from tracegraph.store.schema import properties, schema
from tracegraph.vocabulary.categories import ANY_OTHER, CATEGORIES, FAMILIES
from tracegraph.vocabulary.gaps import GAPS
from tracegraph.vocabulary.mechanisms import MECHANISMS
from tracegraph.vocabulary.work_kinds import WORK_KINDS


def schema_table() -> str:
    """Write labels, relationship types, properties, indexes and the vocabulary as one Markdown document."""
    parts = (_nodes(), _relationships(), _indexes(), _categories(), _mechanisms(), _gaps(), _work())
    return "".join(f"{line}\n" for lines in parts for line in lines)


def _properties(properties: Sequence[properties.Property]) -> Iterator[str]:
    yield "| property | type | unit | meaning |"
    yield "|---|---|---|---|"
    for known in properties:
        yield f"| `{known.name}` | {known.type} | {known.unit} | {known.description} |"


def _nodes() -> Iterator[str]:
    yield "# The graph"
    yield ""
    yield f"Schema version {schema.SCHEMA_VERSION}. This file is generated from the declarations in `store/`."
    yield "Times are integer nanoseconds on the clock of the file's `ts`."
    yield "A workspace or a run of another version is refused: older ones lack what queries read."
    yield ""
    yield "## Labels"
    for node in schema.NODES:
        yield f"\n### `:{node.label}`\n\n{node.description}\n"
        if node.besides:
            yield f"Its nodes carry `:{node.besides}`, too, and have the properties of that label."
        else:
            yield from _properties(node.properties)
    yield "\nAn event carries a second label for its category ([below](#categories))."


def _relationships() -> Iterator[str]:
    yield "\n## Relationships\n"
    yield "| type | from | to | meaning | properties |"
    yield "|---|---|---|---|---|"
    for kind in schema.RELATIONSHIPS:
        names = ", ".join(f"`{known.name}`" for known in kind.properties)
        yield f"| `{kind.type}` | `:{kind.start}` | `:{kind.end}` | {kind.description} | {names} |"
    yield "\nProperties of relationships:\n"
    yield from _properties(
        list({known.name: known for kind in schema.RELATIONSHIPS for known in kind.properties}.values())
    )


def _indexes() -> Iterator[str]:
    yield "\n## Indexes\n"
    yield "| label | properties | unique |"
    yield "|---|---|---|"
    for index in schema.INDEXES:
        names = ", ".join(f"`{name}`" for name in index.properties)
        yield f"| `:{index.label}` | {names} | {'yes' if index.unique else ''} |"


def _categories() -> Iterator[str]:
    yield "\n## Categories\n"
    yield "| category | meaning | role | second label | old spelling |"
    yield "|---|---|---|---|---|"
    for one in (*CATEGORIES, ANY_OTHER):
        name = f"`{one.name}`" if one.name else "any other"
        old = f"`{one.old_spelling}`" if one.old_spelling else ""
        yield f"| {name} | {one.meaning} | {one.role.value} | `:{one.label}` | {old} |"
    families = ", ".join(f"`…{ending}` as `{like.name}`" for ending, like in FAMILIES.items())
    yield f"\nCategories of other vendors' calls are told by their endings: {families}."


def _mechanisms() -> Iterator[str]:
    yield "\n## Mechanisms\n"
    yield "In the order that decides ties; [rules.md](rules.md) says when each is made, and may be wrong.\n"
    yield "| mechanism | dependency | meaning | name of its gap |"
    yield "|---|---|---|---|"
    for one in MECHANISMS:
        yield f"| `{one.name}` | `{one.kind}` | {one.meaning} | `{one.gap}` |"


def _gaps() -> Iterator[str]:
    yield "\n## Gaps\n"
    yield "| name | meaning |"
    yield "|---|---|"
    for one in GAPS:
        yield f"| `{one.name}` | {one.meaning} |"


def _work() -> Iterator[str]:
    yield "\n## Kinds of work\n"
    yield "| work | FLOPs | on tensor or matrix cores |"
    yield "|---|---|---|"
    for one in WORK_KINDS:
        yield f"| `{one.name}` | {one.counted} | {'yes' if one.on_matrix_units else ''} |"


if __name__ == "__main__":
    print(schema_table(), end="")
