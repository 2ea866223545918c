"""What MkDocs reads: the project's pages at their own places, so that links lead where they do in a clone."""

import shutil
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("*.md", "LICENSE", "docs/**/*.md", "examples/**/README.md", "benchmarks/results/*.md")
LINKED = (
    "docs/*.png",
    "docs/*.svg",
    "examples/*.ipynb",
    "examples/**/*.svg",
    "workbench/output/vendor/*.txt",
)
_GATHERED = tempfile.TemporaryDirectory()
"""The folder lasts as long as MkDocs does."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Gather the pages, and what they show or link, in a folder of their own, and let MkDocs read that."""
    for pattern in (*PAGES, *LINKED):
        for file in ROOT.glob(pattern):
            place = Path(_GATHERED.name) / file.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
    config.docs_dir = _GATHERED.name
    return config
