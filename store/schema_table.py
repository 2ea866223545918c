"""The graph schema as Markdown: `python -m tracegraph.store.schema_table > docs/schema.md`."""

from collections.abc import Iterator, Sequence

from tracegraph.store import schema


def schema_table() -> str:
    """All labels, relationship types, properties, units and indexes as one Markdown document."""
    return "\n".join([*_nodes(), *_relationships(), *_indexes()]) + "\n"


def _properties(properties: Sequence[schema.Property]) -> Iterator[str]:
    yield "| property | type | unit | meaning |"
    yield "|---|---|---|---|"
    for known in properties:
        yield f"| `{known.name}` | {known.type} | {known.unit} | {known.description} |"


def _nodes() -> Iterator[str]:
    yield "# The graph"
    yield ""
    yield f"Schema version {schema.SCHEMA_VERSION}. This file is generated from `store/schema.py`."
    yield "Times are integer nanoseconds on the clock of the file's `ts`."
    yield ""
    yield "## Labels"
    for node in schema.NODES:
        yield f"\n### `:{node.label}`\n\n{node.description}\n"
        yield from _properties(node.properties)
    yield "\nAn event carries a second label for its category:\n"
    yield "| category | label |"
    yield "|---|---|"
    for category, label in schema.CATEGORY_LABELS.items():
        yield f"| {category} | `:{label}` |"
    yield f"| any other | `:{schema.OTHER_LABEL}` |"


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


if __name__ == "__main__":
    print(schema_table(), end="")
