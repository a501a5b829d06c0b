"""Read and write files below a root: a folder, an object store, or memory."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal, Self
from urllib.parse import urlsplit

import obstore
from obstore.store import LocalStore, from_url

from hwprices.errors import HwpricesError, TooLargeError, first_line

RETRIES = {"max_retries": 5, "retry_timeout": timedelta(minutes=2)}
"""For an object store that returns 5xx or breaks connections. obstore's default is three minutes
for each write."""

OWN_KEY = ("HWPRICES_STORE_KEY_ID", "HWPRICES_STORE_SECRET_KEY")
"""Variables with a key only for s3:// roots, such as a MinIO server. From AWS_ACCESS_KEY_ID
boto3 would take the key and send it to EC2."""

AWS_ACCOUNT = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
"""Options of polars for the key of the AWS account."""


def open_options(root: str) -> dict[str, Any]:
    """Return the arguments with which obstore opens an object store."""
    if root.startswith("memory://"):
        return {}
    return {"retry_config": RETRIES, **_client_options(root), **_credentials(root)}


def scan_options(root: str) -> dict[str, Any]:
    """Return the arguments with which polars scans files of the same object store.

    They are the usual AWS_, GOOGLE_ and AZURE_ environment variables, and the store's own key if it
    is set. A folder needs none.
    """
    if "://" not in root:
        return {}
    prefixes = ("AWS_", "GOOGLE_", "AZURE_")
    options = {name.lower(): text for name, text in os.environ.items() if name.startswith(prefixes)}
    if (key := _own_key(root)) is None:
        return {"storage_options": options}
    credentials = {"aws_access_key_id": key[0], "aws_secret_access_key": key[1]}
    others = {name: text for name, text in options.items() if name not in AWS_ACCOUNT}
    return {"storage_options": others, "credential_provider": lambda: (credentials, None)}


def _own_key(root: str) -> tuple[str, str] | None:
    """Return the id and secret of the store's own key; None if it uses the account's key."""
    key_id, secret = (os.environ.get(name, "") for name in OWN_KEY)
    if not root.startswith("s3://") or not (key_id or secret):
        return None
    if not (key_id and secret):
        raise HwpricesError(f"only one of {' and '.join(OWN_KEY)} is set", "Set both, or neither.")
    return key_id, secret


def _credentials(root: str) -> dict[str, Any]:
    """Make obstore's argument for the store's own key; empty if it uses the account's key."""
    if (key := _own_key(root)) is None:
        return {}
    # obstore would add the account's AWS_SESSION_TOKEN to a key in its configuration
    credentials = {"access_key_id": key[0], "secret_access_key": key[1], "token": None}
    return {"credential_provider": lambda: {**credentials, "expires_at": None}}


def _client_options(root: str) -> dict[str, Any]:
    """Make obstore's client options. Plain http is allowed only to this machine, for tests."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    if not root.startswith("s3://") or not endpoint:
        return {}
    address = urlsplit(endpoint)
    if address.scheme == "http" and address.hostname in ("127.0.0.1", "localhost"):
        return {"endpoint": endpoint, "client_options": {"allow_http": True}}
    return {"endpoint": endpoint}


MISSING = (obstore.exceptions.NotFoundError, FileNotFoundError)
ObjectStore = Any  # obstore's stores share methods, not a public base class

LEFTOVER_AGE = timedelta(days=1)
"""Files that no manifest names are deleted at this age. Younger ones may be those of a run in
progress: no run takes a day; a unit may take an hour."""


@dataclass(frozen=True)
class Tagged:
    """The bytes of a key and a tag that changes with them."""

    data: bytes
    tag: str


NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist")
"""Responses of S3, Azure and Google Cloud Storage for a missing bucket:
https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html,
https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes and
https://cloud.google.com/storage/docs/xml-api/reference-status"""

PIPE = "a pipe or device"
"""What ``obstacle`` calls a file that another process writes: reading it may block forever."""

METADATA_SERVICE = "169.254.169.254"
"""Where clients without credentials look for those of a virtual machine.
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html"""


class Store:
    """Files below a root. A key is a relative path with ``/``; ``storage.layout`` builds keys.

    ``Store(root)`` is a ``Folder``, or an object store (``s3://``, ``gs://``, ``az://``;
    ``memory://`` for tests) that supports conditional writes. It is opened at the first read or
    write.

    Raises:
        HwpricesError: (any method) the root cannot be used.
    """

    is_local = False
    read_remedy = "Check the bucket's name and the credentials."
    write_remedy = "Check the bucket's name, the credentials and their rights there."

    def __new__(cls, root: str | Path) -> Self:
        """Make a ``Folder`` if the root is not a URL."""
        kind: type[Store] = Store if "://" in _without_file_scheme(root) else Folder
        return super().__new__(kind)  # type: ignore[return-value]

    def __init__(self, root: str | Path) -> None:
        self.root = _without_file_scheme(root)

    def __reduce__(self) -> tuple[type["Store"], tuple[str]]:
        """Pickle only the root: open clients cannot be sent to another process."""
        return Store, (self.root,)

    def _open(self) -> ObjectStore:
        return from_url(self.root, **open_options(self.root))

    @cached_property
    def _objects(self) -> ObjectStore:
        try:
            return self._open()
        except HwpricesError:
            raise
        except Exception as error:
            raise HwpricesError(
                f"cannot open {self.root}: {first_line(error)}",
                "Check that it exists and can be read.",
            ) from error

    def local(self, key: str) -> Path | None:
        """Return the path of a key; None on an object store."""
        return None

    def uri(self, key: str) -> str:
        """Return what polars and DuckDB open: a path or ``s3://…``."""
        return f"{self.root.rstrip('/')}/{self._below_root(key)}"

    def leads_out(self, key: str) -> bool:
        """Check whether a key is a link, or lies below one, to a place outside of the root."""
        return False

    def obstacle(self, key: str) -> str | None:
        """Describe what is in the place of a file, such as a directory; None for a file."""
        return None

    def exists(self, key: str) -> bool:
        """Check whether a key exists."""
        return self.modified(key) is not None

    def modified(self, key: str) -> datetime | None:
        """Return when a key was last written; None if it is missing."""
        with self._one_line("read", key):
            written: datetime = obstore.head(self._objects, key)["last_modified"]
            return written
        return None

    def renew(self, key: str) -> bool:
        """Check whether a key is young enough that ``prune`` keeps it; False: write it again."""
        written = self.modified(key)
        return written is not None and datetime.now(UTC) - written < LEFTOVER_AGE / 2

    def delete(self, key: str) -> None:
        """Delete one key; one that is gone already is not an error."""
        with self._one_line("write", key), suppress(*MISSING):
            obstore.delete(self._objects, key)

    def delete_below(self, prefix: str) -> None:
        """Delete all keys below a prefix, and in a folder its directories."""
        for key in list(self.keys(prefix)):
            self.delete(key)

    def are_old(self, keys: Iterable[str], now: datetime | None = None) -> bool:
        """Check whether keys are so old that no run can be writing them; see LEFTOVER_AGE."""
        oldest = (now or datetime.now(UTC)) - LEFTOVER_AGE
        written = (self.modified(key) for key in keys)
        return all(time is None or time < oldest for time in written)

    def keys(self, prefix: str) -> Iterator[str]:
        """List the keys below a prefix, sorted."""
        objects = self._objects
        try:
            batches = list(obstore.list(objects, prefix=prefix))
        except Exception as error:  # a missing bucket too
            raise self._cannot("read", prefix, error) from error
        yield from sorted(item["path"] for batch in batches for item in batch)

    def put(self, key: str, data: bytes | IO[bytes] | Path, *, create: bool = False) -> bool:
        """Write one key atomically: a reader sees all of it or nothing.

        With ``create`` an existing key is left alone. Returns whether the key was written.
        """
        with self._one_line("write", key):
            try:
                obstore.put(self._objects, key, data, mode="create" if create else "overwrite")
            except obstore.exceptions.AlreadyExistsError:
                return not self.is_local and self._is_own(key, data)
        return True

    def _is_own(self, key: str, data: bytes | IO[bytes] | Path) -> bool:
        """Check whether a refused write had already succeeded.

        If the response to a write is lost, the retry is refused because the key exists. No two
        processes write equal pointers, manifests or claims.
        """
        return isinstance(data, bytes) and self.get(key) == data

    def get(self, key: str, max_bytes: int | None = None) -> bytes | None:
        """Read a key; None if it is missing.

        Raises:
            HwpricesError: it cannot be read.
            TooLargeError: it has more than ``max_bytes``; nothing was read.
        """
        self._below_root(key)
        with self._one_line("read", key):
            result = obstore.get(self._objects, key)
            size = result.meta["size"]
            if max_bytes is None or size <= max_bytes:
                return bytes(result.bytes())
            raise TooLargeError(
                f"{self.uri(key)} has {size:,} bytes, at most {max_bytes:,} are read",
                "It is not what belongs there: open another dataset, or publish again.",
            )
        return None

    def get_tagged(self, key: str) -> Tagged | None:
        """Read a key with the tag that ``swap`` compares; None if it is missing."""
        with self._one_line("read", key):
            result = obstore.get(self._objects, key)
            return Tagged(bytes(result.bytes()), str(result.meta["e_tag"]))
        return None

    def sha256(self, key: str) -> str | None:
        """Hash a key's bytes; None if it is missing."""
        self._below_root(key)
        digest = hashlib.sha256()
        with self._one_line("read", key):
            for chunk in obstore.get(self._objects, key):
                digest.update(chunk)
            return digest.hexdigest()
        return None

    def swap(self, key: str, data: bytes, tag: str | None) -> bool:
        """Replace a key atomically if it still has the tag (None: if it does not exist).

        Returns whether the key was replaced.
        """
        mode: Any = "create" if tag is None else {"e_tag": tag}
        with self._one_line("write", key):
            try:
                obstore.put(self._objects, key, data, mode=mode)
            except (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError):
                return self._is_own(key, data)
        return True

    def copy(self, source: "Store", source_key: str, key: str) -> None:
        """Copy one key from another store (or this one) into this one."""
        data = source.local(source_key) or source.get(source_key)
        if data is None:
            raise HwpricesError(f"{source.uri(source_key)} is gone", "Run the collection again.")
        self.put(key, data)

    def check_writable(self) -> None:
        """Write and delete a small file, to fail before the work and not after it.

        Raises:
            HwpricesError: nothing can be written below the root.
        """
        probe = f".writable.{os.getpid()}"
        self.put(probe, b"This file may be deleted.\n")  # on a full disk only empty files fit
        self.delete(probe)

    def _below_root(self, key: str) -> str:
        if key.startswith("/") or ".." in key.split("/"):
            raise HwpricesError(
                f"the key {key!a} leads out of {self.root}",
                "Keys are relative paths without ``..``.",
            )
        return key

    @contextmanager
    def _one_line(self, verb: Literal["read", "write"], key: str) -> Iterator[None]:
        """Turn a failure into one line. Reading a missing key is not a failure."""
        try:
            yield
        except HwpricesError:
            raise
        except Exception as error:
            if verb == "read" and isinstance(error, MISSING):
                return
            raise self._cannot(verb, key, error) from error

    def _cannot(self, verb: Literal["read", "write"], key: str, error: Exception) -> HwpricesError:
        remedy = self.read_remedy if verb == "read" else self.write_remedy
        return HwpricesError(f"cannot {verb} {self.uri(key)}: {self._reason(error)}", remedy)

    def _reason(self, error: Exception) -> str:
        """Describe a failure in one line; obstore's messages may quote a page of XML."""
        words = str(error)
        if any(text in words for text in NO_BUCKET):
            return "there is no such bucket"
        if METADATA_SERVICE in words:
            return "no credentials were found, and this machine has no role that gives any"
        return first_line(error)


class Folder(Store):
    """A root on a local or mounted disk."""

    is_local = True
    read_remedy = "Check that it exists and can be read."
    write_remedy = "Check the permissions and the free space there."

    def __init__(self, root: str | Path) -> None:
        super().__init__(root)
        self.path = Path(self.root).expanduser()

    def _open(self) -> ObjectStore:
        return LocalStore(self.path, mkdir=False)

    def _reason(self, error: Exception) -> str:
        return getattr(error, "strerror", None) or first_line(error)

    def local(self, key: str) -> Path:
        """Return the path of a key."""
        return self.path / self._below_root(key)

    def uri(self, key: str) -> str:
        """Return the path of a key as text."""
        return str(self.local(key))

    def leads_out(self, key: str) -> bool:
        """Check whether a key is a link, or lies below one, to a place outside of the root."""
        return not self.local(key).resolve().is_relative_to(self.path.resolve())

    def obstacle(self, key: str) -> str | None:
        """Describe a directory, pipe or device in the place of a file; None for a file."""
        try:
            mode = self.local(key).stat().st_mode
        except OSError:
            return None
        if stat.S_ISREG(mode):
            return None
        return "a directory" if stat.S_ISDIR(mode) else PIPE

    def exists(self, key: str) -> bool:
        """Check whether a key exists."""
        return self.local(key).is_file()

    def keys(self, prefix: str) -> Iterator[str]:
        """List the keys below a prefix, sorted, also those of unfinished files."""
        keys: list[str] = []
        # os.walk skips directories that another process deletes meanwhile; obstore skips
        # unfinished files
        for directory, _, names in os.walk(self.local(prefix)):
            folder = Path(directory).relative_to(self.path).as_posix()
            keys += [f"{folder}/{name}".removeprefix("./") for name in names]
        yield from sorted(keys)

    def modified(self, key: str) -> datetime | None:
        """Return when a key was last written; None if it is missing."""
        try:
            return datetime.fromtimestamp(self.local(key).stat().st_mtime, UTC)
        except OSError:
            return None

    def renew(self, key: str) -> bool:
        """Set the time of a file to now, so that ``prune`` keeps it; False if it is missing."""
        with self._one_line("write", key), suppress(FileNotFoundError):
            os.utime(self.local(key))
            return True
        return False

    def delete(self, key: str) -> None:
        """Delete one file; one that is gone already is not an error."""
        with self._one_line("write", key):
            self.local(key).unlink(missing_ok=True)

    def delete_below(self, prefix: str) -> None:
        """Delete a directory with everything in it."""
        super().delete_below(prefix)
        for directory, _, _ in os.walk(self.local(prefix), topdown=False):
            with suppress(OSError):  # another process has written there since
                Path(directory).rmdir()

    def put(self, key: str, data: bytes | IO[bytes] | Path, *, create: bool = False) -> bool:
        """Write one key and make the folders above it; see ``Store.put``."""
        with self._one_line("write", key):
            self.local(key).parent.mkdir(parents=True, exist_ok=True)
        return super().put(key, data, create=create)

    def get(self, key: str, max_bytes: int | None = None) -> bytes | None:
        """Read a key; None if it or the root folder is missing.

        Raises:
            HwpricesError: it cannot be read, or is a pipe or device, which may be endless.
        """
        if not self.path.is_dir():
            return None
        if self.obstacle(key) == PIPE:
            raise HwpricesError(f"{self.uri(key)} is {PIPE}, not a file", "Delete it.")
        return super().get(key, max_bytes)

    def sha256(self, key: str) -> str | None:
        """Hash a file's bytes; None if it is missing."""
        with self._one_line("read", key), suppress(NotADirectoryError):
            return sha256_of(self.local(key))
        return None

    def get_tagged(self, key: str) -> Tagged | None:
        """Read a key, with its checksum as the tag."""
        data = self.get(key)
        return None if data is None else Tagged(data, hashlib.sha256(data).hexdigest())

    def swap(self, key: str, data: bytes, tag: str | None) -> bool:
        """Replace a key if it still has the tag. The caller holds the lock.

        The data is written to another file, flushed to disk and renamed.
        """
        current = self.get_tagged(key)
        if (current.tag if current else None) != tag:
            return False
        path = self.local(key)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        with self._one_line("write", key):
            try:
                # left by a killed process with the same id, or a planted link
                beside.unlink(missing_ok=True)
                with beside.open("xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                beside.replace(path)
            except OSError:
                with suppress(OSError):
                    beside.unlink(missing_ok=True)
                raise
        return True


def sha256_of(path: Path) -> str:
    """Hash a file of any size; return the digest in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _without_file_scheme(root: str | Path) -> str:
    text = str(root)
    try:
        text.encode()
    except UnicodeEncodeError:  # Python decodes invalid bytes as surrogates
        raise HwpricesError(
            f"the folder's name {text!r} is not in UTF-8",
            "Choose another folder. If its name is in UTF-8, unset PYTHONUTF8.",
        ) from None
    return text.removeprefix("file://")
