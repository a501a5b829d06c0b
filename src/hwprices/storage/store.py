"""Files under a root that is a folder or an object store, through obstore, with one way to name, write and read them."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import obstore
from obstore.store import LocalStore, from_url

from hwprices.errors import HwpricesError


@dataclass(frozen=True)
class Tagged:
    """The bytes of a key and a tag that changes with them."""

    data: bytes
    tag: str


ObjectStore = Any  # obstore's stores share methods, not a public base class


class Store:
    """Keys below a root. A key is a relative path with ``/``.

    Raises HwpricesError where the root cannot be used, with the root's name and what to do.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = str(root).removeprefix("file://")
        self.is_local = "://" not in self.root
        self._path = Path(self.root).expanduser() if self.is_local else None
        self._store: ObjectStore = None

    def _open(self) -> ObjectStore:
        if self._store is None:
            try:
                self._store = (
                    LocalStore(self._path, mkdir=False)
                    if self._path
                    else from_url(self.root, **_options(self.root))
                )
            except Exception as error:
                raise HwpricesError(
                    f"cannot open {self.root}: {_short(error)}",
                    "Check that it exists and can be read.",
                ) from error
        return self._store

    def check_writable(self) -> None:
        """Fail now rather than after the work.

        Raises:
            HwpricesError: nothing can be written below the root.
        """
        probe = f".writable.{os.getpid()}"
        self.put(probe, b"")
        self.delete(probe)

    def local(self, key: str) -> Path | None:
        """The file behind a key, or None on an object store."""
        return self._path / key if self._path else None

    def uri(self, key: str) -> str:
        """What polars and duckdb open: a path, or ``s3://…``."""
        return str(self.local(key)) if self._path else f"{self.root.rstrip('/')}/{key}"

    def put(self, key: str, data: bytes | IO[bytes] | Path, *, create: bool = False) -> bool:
        """Write one key whole. With ``create`` an existing key is left alone and False comes back."""
        try:
            if self._path:
                (self._path / key).parent.mkdir(parents=True, exist_ok=True)
            obstore.put(self._open(), key, data, mode="create" if create else "overwrite")
        except obstore.exceptions.AlreadyExistsError:
            return False
        except HwpricesError:
            raise
        except Exception as error:
            raise HwpricesError(
                f"cannot write {self.uri(key)}: {_short(error)}",
                "Check the permissions and the free space there.",
            ) from error
        return True

    def get(self, key: str) -> bytes | None:
        """The bytes of a key, or None where there is none."""
        if self._path and not self._path.is_dir():
            return None
        try:
            return bytes(obstore.get(self._open(), key).bytes())
        except (obstore.exceptions.NotFoundError, FileNotFoundError):
            return None
        except HwpricesError:
            raise
        except Exception as error:
            raise HwpricesError(
                f"cannot read {self.uri(key)}: {_short(error)}",
                "Check that it exists and can be read.",
            ) from error

    def get_tagged(self, key: str) -> Tagged | None:
        """The bytes of a key with the tag that ``swap`` compares."""
        if self._path:
            data = self.get(key)
            return Tagged(data, hashlib.sha256(data).hexdigest()) if data is not None else None
        try:
            result = obstore.get(self._open(), key)
            return Tagged(bytes(result.bytes()), str(result.meta["e_tag"]))
        except (obstore.exceptions.NotFoundError, FileNotFoundError):
            return None
        except Exception as error:
            raise HwpricesError(
                f"cannot read {self.uri(key)}: {_short(error)}",
                "Check the bucket's name and the credentials.",
            ) from error

    def swap(self, key: str, data: bytes, tag: str | None) -> bool:
        """Replace a key if it still has the tag (None: if it is not there). A reader sees the old bytes or the new.

        In a folder the caller holds the lock; the file is written beside, flushed to disk and renamed over.
        """
        if self._path:
            current = self.get_tagged(key)
            if (current.tag if current else None) != tag:
                return False
            return self._replace(self._path / key, data)
        try:
            obstore.put(self._open(), key, data, mode="create" if tag is None else {"e_tag": tag})
        except (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError):
            return False
        except Exception as error:
            raise HwpricesError(
                f"cannot write {self.uri(key)}: {_short(error)}", "Check the permissions there."
            ) from error
        return True

    @staticmethod
    def _replace(path: Path, data: bytes) -> bool:
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with beside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError as error:
            raise HwpricesError(
                f"cannot write {path}: {error.strerror or error}",
                "Check the permissions and the free space there.",
            ) from error
        return True

    def exists(self, key: str) -> bool:
        if self._path:
            return (self._path / key).is_file()
        try:
            obstore.head(self._open(), key)
        except (obstore.exceptions.NotFoundError, FileNotFoundError):
            return False
        return True

    def keys(self, prefix: str) -> Iterator[str]:
        """Keys below a prefix, sorted."""
        if self._path:
            base = self._path / prefix
            yield from sorted(
                p.relative_to(self._path).as_posix() for p in base.rglob("*") if p.is_file()
            )
            return
        yield from sorted(
            item["path"] for batch in obstore.list(self._open(), prefix=prefix) for item in batch
        )

    def copy(self, source: "Store", source_key: str, key: str) -> None:
        """Copy one key from another store into this one."""
        path = source.local(source_key)
        if path is not None:
            self.put(key, path)
            return
        data = source.get(source_key)
        if data is None:
            raise HwpricesError(f"{source.uri(source_key)} is gone", "Run the collection again.")
        self.put(key, data)

    def delete(self, key: str) -> None:
        obstore.delete(self._open(), key)


def storage_options(root: str) -> dict[str, str] | None:
    """What polars needs to read the same object store: the usual AWS_, GOOGLE_ and AZURE_ variables, or None for a folder."""
    return (
        None
        if "://" not in root
        else {
            k.lower(): v
            for k, v in os.environ.items()
            if k.startswith(("AWS_", "GOOGLE_", "AZURE_"))
        }
    )


def _options(root: str) -> dict[str, Any]:
    """Plain http is allowed to a test server on this machine only."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    if not root.startswith("s3://") or not endpoint:
        return {}
    local = any(endpoint.startswith(f"http://{host}") for host in ("127.0.0.1", "localhost"))
    return {"endpoint": endpoint, **({"client_options": {"allow_http": True}} if local else {})}


def _short(error: Exception) -> str:
    """First line of an error; obstore's go on with a debug dump."""
    return str(error).strip().split("\n")[0][:300]
