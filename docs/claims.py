"""Write what was measured, and the worst cases, from benchmarks/results into the pages that claim it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = tuple(ROOT / "docs" / name for name in ("accuracy.md", "nsight.md"))
RESULTS = ROOT / "benchmarks" / "results"
_CLAIMS = re.compile(r"(<!-- claims ([\w-]+) -->\n).*?(<!-- /claims \2 -->)", re.DOTALL)
_WORST = "Every "
"""How the sentence above a table of all misses begins."""


def claims_of(block: str) -> str:
    """Return the sentences of a block of results, and of its tables those that list every miss."""
    kept: list[str] = []
    for part in block.strip().split("\n\n"):
        if not part.startswith("|") or (kept and kept[-1].startswith(_WORST)):
            kept.append(part)
        elif kept and kept[-1].endswith(":"):
            kept.pop()  # the sentence above a table that stays with the results
    return "\n\n".join(kept)


def block_of(name: str) -> str:
    """Find the block that a benchmark wrote, in whichever file of results it stands."""
    pattern = re.compile(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", re.DOTALL)
    texts = (file.read_text(encoding="utf-8") for file in sorted(RESULTS.glob("*.md")))
    (block,) = (found[1] for text in texts for found in pattern.finditer(text))
    return block


def with_claims(page: str) -> str:
    """Replace the claims on the page by those of today's results."""
    return _CLAIMS.sub(lambda found: f"{found[1]}\n{claims_of(block_of(found[2]))}\n\n{found[3]}", page)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_claims(page.read_text(encoding="utf-8")), encoding="utf-8")
