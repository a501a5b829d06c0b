"""Read and write files below a root that is a folder or an object store."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Self

import obstore
from obstore.store import LocalStore, from_url

from hwprices.errors import HwpricesError, first_line
from hwprices.storage.bucket_options import open_options
from hwprices.storage.checksum import sha256_of

MISSING = (obstore.exceptions.NotFoundError, FileNotFoundError)

ObjectStore = Any  # obstore's stores share methods, not a public base class

LEFTOVER_AGE = timedelta(days=1)
"""Files that nothing names are left alone until they are this old: a run may be at work on them. No
run takes so long; one unit may take an hour."""


@dataclass(frozen=True)
class Tagged:
    """The bytes of a key and a tag that changes with them."""

    data: bytes
    tag: str


NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist")
"""What S3, Azure and Google Cloud Storage answer where a bucket is missing:
https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html,
https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes and
https://cloud.google.com/storage/docs/xml-api/reference-status"""

PIPE = "a pipe or device"
"""What ``obstacle`` calls a file that is read as it is written: reading it may wait for ever."""

METADATA_SERVICE = "169.254.169.254"
"""Where clients ask for credentials that a virtual machine may have, when they know no others.
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html"""


class Store:
    """Keys below a root. A key is a relative path with ``/``; ``storage.layout`` spells them.

    ``Store(root)`` is a ``Folder``, or a ``Bucket`` where the root is ``s3://``, ``gs://`` or
    ``az://``. Nothing is opened before the first read or write.

    Raises:
        HwpricesError: (any method) the root cannot be used; names it, and what to do.
    """

    is_local: bool
    read_remedy = "Check that it exists and can be read."
    write_remedy = "Check the permissions there."

    def __new__(cls, root: str | Path) -> Self:
        """Make a ``Folder`` or a ``Bucket``, by the form of the root."""
        kind: type[Store] = Bucket if "://" in _without_file_scheme(root) else Folder
        return super().__new__(kind if cls is Store else cls)  # type: ignore[return-value]

    def __init__(self, root: str | Path) -> None:
        self.root = _without_file_scheme(root)

    def __reduce__(self) -> tuple[type["Store"], tuple[str]]:
        """Pickle as the root alone: open clients cannot be sent to another process."""
        return Store, (self.root,)

    # What a folder and an object store do differently. These are not abstract methods: a type
    # checker would refuse ``Store(root)`` then, which makes one of the two.

    def _open(self) -> ObjectStore:
        raise NotImplementedError

    def local(self, key: str) -> Path | None:
        """Return the file of a key, or None on an object store."""
        raise NotImplementedError

    def uri(self, key: str) -> str:
        """Return what polars and DuckDB open: a path, or ``s3://…``."""
        raise NotImplementedError

    def leads_out(self, key: str) -> bool:
        """Tell whether a key is a link, or lies below one, to a place outside of the root."""
        raise NotImplementedError

    def obstacle(self, key: str) -> str | None:
        """Name what is in the place of a file and is none, "a directory"; None if nothing is."""
        raise NotImplementedError

    def exists(self, key: str) -> bool:
        """Tell whether there is a file of this key."""
        raise NotImplementedError

    def modified(self, key: str) -> datetime | None:
        """Say when a key was last written; None where there is none."""
        raise NotImplementedError

    def renew(self, key: str) -> bool:
        """Make a key young again, so that ``prune`` leaves it; False if it must be written anew."""
        raise NotImplementedError

    def delete(self, key: str) -> None:
        """Delete one key; one that is gone already is no error."""
        raise NotImplementedError

    def are_old(self, keys: Iterable[str], now: datetime | None = None) -> bool:
        """Tell whether nobody has written these keys for so long that no run is at work on them."""
        oldest = (now or datetime.now(UTC)) - LEFTOVER_AGE
        written = (self.modified(key) for key in keys)
        return all(time is None or time < oldest for time in written)

    def delete_below(self, prefix: str) -> None:
        """Delete all keys below a prefix, and in a folder its directories."""
        for key in list(self.keys(prefix)):
            self.delete(key)

    def keys(self, prefix: str) -> Iterator[str]:
        """List the keys below a prefix, sorted."""
        raise NotImplementedError

    def sha256(self, key: str) -> str | None:
        """Hash a key's bytes, in hex, read in pieces; None where there is none."""
        raise NotImplementedError

    def get_tagged(self, key: str) -> Tagged | None:
        """Read a key with the tag that ``swap`` compares; None where there is none."""
        raise NotImplementedError

    def swap(self, key: str, data: bytes, tag: str | None) -> bool:
        """Replace a key if it still has the tag (None: if there is none yet).

        A reader sees the old bytes or the new. Returns whether the key was replaced.
        """
        raise NotImplementedError

    # What is the same for both.

    @cached_property
    def _objects(self) -> ObjectStore:
        try:
            return self._open()
        except HwpricesError:
            raise
        except Exception as error:
            raise HwpricesError(
                f"cannot open {self.root}: {first_line(error)}", Store.read_remedy
            ) from error

    def put(self, key: str, data: bytes | IO[bytes] | Path, *, create: bool = False) -> bool:
        """Write one key: a reader sees all of it or nothing.

        With ``create`` an existing key is left alone. Returns whether the key was written.
        """
        objects = self._objects
        try:
            obstore.put(objects, key, data, mode="create" if create else "overwrite")
        except obstore.exceptions.AlreadyExistsError:
            return False
        except Exception as error:
            raise self._cannot_write(key, error) from error
        return True

    def get(self, key: str, max_bytes: int | None = None) -> bytes | None:
        """Read a key; None where there is none.

        Raises:
            HwpricesError: there are more than ``max_bytes``; then none was read.
        """
        self._below_root(key)
        objects = self._objects
        try:
            result = obstore.get(objects, key)
            size = result.meta["size"]
            if max_bytes is None or size <= max_bytes:
                return bytes(result.bytes())
        except MISSING:
            return None
        except Exception as error:
            raise self._cannot_read(key, error) from error
        raise HwpricesError(
            f"{self.uri(key)} has {size:,} bytes, at most {max_bytes:,} are read",
            "It is not what belongs there: open another dataset, or publish again.",
        )

    def copy(self, source: "Store", source_key: str, key: str) -> None:
        """Copy one key from another store (or this one) into this one.

        Raises:
            HwpricesError: it is not there, or cannot be written here.
        """
        data = source.local(source_key) or source.get(source_key)
        if data is None:
            raise HwpricesError(f"{source.uri(source_key)} is gone", "Run the collection again.")
        self.put(key, data)

    def check_writable(self) -> None:
        """Write and delete a small file, to fail before the work and not after it.

        It is not empty: a full disk has room for the name of a file, and for nothing in it.

        Raises:
            HwpricesError: nothing can be written below the root.
        """
        probe = f".writable.{os.getpid()}"
        self.put(probe, b"This file may be deleted.\n")
        self.delete(probe)

    def _below_root(self, key: str) -> str:
        """Return the key as it is.

        Raises:
            HwpricesError: it is an absolute path, or leads upwards.
        """
        if key.startswith("/") or ".." in key.split("/"):
            raise HwpricesError(
                f"the key {key!a} leads out of {self.root}",
                "Keys are relative paths without ``..``.",
            )
        return key

    def _cannot_read(self, key: str, error: Exception) -> HwpricesError:
        return HwpricesError(
            f"cannot read {self.uri(key)}: {self._reason(error)}", self.read_remedy
        )

    def _cannot_write(self, key: str, error: Exception) -> HwpricesError:
        return HwpricesError(
            f"cannot write {self.uri(key)}: {self._reason(error)}", self.write_remedy
        )

    def _reason(self, error: Exception) -> str:
        """Say in one line what went wrong."""
        return first_line(error)


class Folder(Store):
    """A root on a local or mounted disk."""

    is_local = True
    write_remedy = "Check the permissions and the free space there."

    def __init__(self, root: str | Path) -> None:
        super().__init__(root)
        self.path = Path(self.root).expanduser()

    def _open(self) -> ObjectStore:
        return LocalStore(self.path, mkdir=False)

    def local(self, key: str) -> Path:
        """Return the file of a key."""
        return self.path / self._below_root(key)

    def uri(self, key: str) -> str:
        """Return the path of a key."""
        return str(self.local(key))

    def leads_out(self, key: str) -> bool:
        """Tell whether a key is a link, or lies below one, to a place outside of the root."""
        return not self.local(key).resolve().is_relative_to(self.path.resolve())

    def obstacle(self, key: str) -> str | None:
        """Name a directory, pipe or device in the place of a file; None if it is none of them."""
        try:
            mode = self.local(key).stat().st_mode
        except OSError:
            return None
        if stat.S_ISREG(mode):
            return None
        return "a directory" if stat.S_ISDIR(mode) else PIPE

    def exists(self, key: str) -> bool:
        """Tell whether there is a file of this key."""
        return self.local(key).is_file()

    def keys(self, prefix: str) -> Iterator[str]:
        """List the keys below a prefix, sorted."""
        # os.walk passes over directories that somebody else deletes meanwhile
        files = (Path(at, name) for at, _, names in os.walk(self.local(prefix)) for name in names)
        yield from sorted(path.relative_to(self.path).as_posix() for path in files)

    def modified(self, key: str) -> datetime | None:
        """Say when a file was last written; None where there is none."""
        try:
            return datetime.fromtimestamp(self.local(key).stat().st_mtime, UTC)
        except OSError:
            return None

    def renew(self, key: str) -> bool:
        """Set the time of a file to now; False if it is not there."""
        try:
            os.utime(self.local(key))
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._cannot_write(key, error) from error
        return True

    def delete(self, key: str) -> None:
        """Delete one file; one that is gone already is no error."""
        try:
            self.local(key).unlink(missing_ok=True)
        except OSError as error:
            raise self._cannot_write(key, error) from error

    def delete_below(self, prefix: str) -> None:
        """Delete a directory with all that is in it."""
        super().delete_below(prefix)
        for at, _, _ in os.walk(self.local(prefix), topdown=False):
            with suppress(OSError):  # somebody has written there since
                Path(at).rmdir()

    def put(self, key: str, data: bytes | IO[bytes] | Path, *, create: bool = False) -> bool:
        """Write one key, and the folders above it. See ``Store.put``."""
        try:
            self.local(key).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._cannot_write(key, error) from error
        return super().put(key, data, create=create)

    def get(self, key: str, max_bytes: int | None = None) -> bytes | None:
        """Read a key; None where there is none, or no root folder.

        Raises:
            HwpricesError: it cannot be read, or is a pipe or device, which may have no end.
        """
        if not self.path.is_dir():
            return None
        if self.obstacle(key) == PIPE:
            raise HwpricesError(f"{self.uri(key)} is {PIPE}, not a file", "Delete it.")
        return super().get(key, max_bytes)

    def sha256(self, key: str) -> str | None:
        """Hash a file's bytes; None where there is none."""
        try:
            return sha256_of(self.local(key))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._cannot_read(key, error) from error

    def get_tagged(self, key: str) -> Tagged | None:
        """Read a key, with its checksum as the tag."""
        data = self.get(key)
        return None if data is None else Tagged(data, hashlib.sha256(data).hexdigest())

    def swap(self, key: str, data: bytes, tag: str | None) -> bool:
        """Replace a key if it still has the tag. The caller holds the lock.

        The bytes are written to a file beside it, flushed to the disk and renamed over it.
        """
        current = self.get_tagged(key)
        if (current.tag if current else None) != tag:
            return False
        path = self.local(key)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            # left by a killed process with the same id, or a link that somebody put there
            beside.unlink(missing_ok=True)
            with beside.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError as error:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            message = f"cannot write {path}: {error.strerror or error}"
            raise HwpricesError(message, self.write_remedy) from error
        return True


class Bucket(Store):
    """A root on an object store that can replace an object only if it has not changed."""

    is_local = False
    read_remedy = "Check the bucket's name and the credentials."
    write_remedy = "Check the bucket's name, the credentials and their rights there."

    def _open(self) -> ObjectStore:
        return from_url(self.root, **open_options(self.root))

    def local(self, key: str) -> None:
        """Return None: there is no local file."""
        return

    def uri(self, key: str) -> str:
        """Return the URL of a key."""
        return f"{self.root.rstrip('/')}/{self._below_root(key)}"

    def _reason(self, error: Exception) -> str:
        """Say in one line what went wrong; obstore quotes a page of XML, or its last attempt."""
        words = str(error)
        if any(text in words for text in NO_BUCKET):
            return "there is no such bucket"
        if METADATA_SERVICE in words:
            return "no credentials were found, and this machine has no role that gives any"
        return first_line(error)

    def leads_out(self, key: str) -> bool:
        """Return False: an object store has no links."""
        return False

    def obstacle(self, key: str) -> None:
        """Return None: an object store has objects only."""
        return

    def exists(self, key: str) -> bool:
        """Tell whether there is an object of this key."""
        return self.modified(key) is not None

    def modified(self, key: str) -> datetime | None:
        """Say when an object was last written; None where there is none."""
        objects = self._objects
        try:
            written: datetime = obstore.head(objects, key)["last_modified"]
        except MISSING:
            return None
        except Exception as error:
            raise self._cannot_read(key, error) from error
        return written

    def renew(self, key: str) -> bool:
        """Tell whether an object is young; an older one is written anew by the caller."""
        written = self.modified(key)
        return written is not None and datetime.now(UTC) - written < LEFTOVER_AGE / 2

    def delete(self, key: str) -> None:
        """Delete one object; one that is gone already is no error."""
        objects = self._objects
        try:
            obstore.delete(objects, key)
        except MISSING:
            return
        except Exception as error:
            raise self._cannot_write(key, error) from error

    def keys(self, prefix: str) -> Iterator[str]:
        """List the keys below a prefix, sorted."""
        objects = self._objects
        try:
            batches = list(obstore.list(objects, prefix=prefix))
        except Exception as error:
            raise self._cannot_read(prefix, error) from error
        yield from sorted(item["path"] for batch in batches for item in batch)

    def put(self, key: str, data: bytes | IO[bytes] | Path, *, create: bool = False) -> bool:
        """Write one key. See ``Store.put``."""
        return super().put(key, data, create=create) or self._is_own(key, data)

    def _is_own(self, key: str, data: bytes | IO[bytes] | Path) -> bool:
        """Tell whether a write that was refused is one of ours that had succeeded.

        When the answer to a write is lost, the write is tried again, and refused because it was
        done. What is written so (pointers, manifests, claims) is never written twice by two.
        """
        return isinstance(data, bytes) and self.get(key) == data

    def sha256(self, key: str) -> str | None:
        """Hash an object's bytes as they arrive; None where there is none."""
        self._below_root(key)
        objects = self._objects
        digest = hashlib.sha256()
        try:
            for chunk in obstore.get(objects, key):
                digest.update(chunk)
        except MISSING:
            return None
        except Exception as error:
            raise self._cannot_read(key, error) from error
        return digest.hexdigest()

    def get_tagged(self, key: str) -> Tagged | None:
        """Read a key with its ETag."""
        objects = self._objects
        try:
            result = obstore.get(objects, key)
            return Tagged(bytes(result.bytes()), str(result.meta["e_tag"]))
        except MISSING:
            return None
        except Exception as error:
            raise self._cannot_read(key, error) from error

    def swap(self, key: str, data: bytes, tag: str | None) -> bool:
        """Replace a key if it still has the ETag, compared and written in one step."""
        objects = self._objects
        mode: Any = "create" if tag is None else {"e_tag": tag}
        try:
            obstore.put(objects, key, data, mode=mode)
        except (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError):
            return self._is_own(key, data)
        except Exception as error:
            raise self._cannot_write(key, error) from error
        return True


def _without_file_scheme(root: str | Path) -> str:
    text = str(root)
    try:
        text.encode()
    except UnicodeEncodeError:  # Python keeps bytes that it cannot decode as surrogates
        raise HwpricesError(
            f"the folder's name {text!r} is not in UTF-8",
            "Choose another folder. If its name is in UTF-8, unset PYTHONUTF8.",
        ) from None
    return text.removeprefix("file://")
