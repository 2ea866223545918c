"""What MkDocs reads: the project's pages at their own places, so that links lead where they do in a clone."""

import re
import shutil
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("*.md", "LICENSE", "docs/**/*.md", "examples/**/README.md", "benchmarks/results/*.md")
LINKED = (
    "docs/*.png",
    "docs/*.svg",
    "examples/*.ipynb",
    "examples/**/*.svg",
    "workbench/output/vendor/*.txt",
)
_ASKING = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//[^>]*>"""
    r"""|<link\b[^>]*\bhref=["']?(?:https?:)?//[^>]*>"""
    r"""|(?:url\(|@import )["']?(?:https?:)?//[^)]*"""
)
"""What lets a browser ask another host as it opens a page; a link to follow does not."""
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


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site that asks another host for anything as a page is opened."""
    for file in sorted(Path(config.site_dir).rglob("*")):
        if file.suffix in (".html", ".css", ".svg"):
            found = _ASKING.search(file.read_text(encoding="utf-8"))
            if found:
                raise PluginError(f"{file.name} asks another host: {found[0][:200]}")
