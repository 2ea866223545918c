"""Where a workspace is if none is named, and what the folder of a run is called there; nothing is opened."""

from pathlib import Path
from urllib.parse import quote

import platformdirs


def default_root() -> Path:
    """Return the folder of the workspace that is used if none is named."""
    return Path(platformdirs.user_data_dir("tracegraph"))


def runs_folder(root: Path) -> Path:
    """Return the folder of the runs that a workspace keeps."""
    return root / "runs"


def folder_name(run: str) -> str:
    """Return the name of a run's folder: any name is encoded as a safe file name."""
    encoded = quote(run, safe=" ()[]{}=,+@")
    return "%2E" + encoded[1:] if encoded.startswith(".") else encoded
