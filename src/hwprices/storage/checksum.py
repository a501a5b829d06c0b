"""SHA-256 of files."""

import hashlib
from pathlib import Path


def sha256_of(path: Path) -> str:
    """Hash a file's bytes, in hex. The file is read in pieces, so it may be large."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
