"""Replacing files that people edit, too: whole or not at all, and never over bytes that the caller has not seen.

Every replacement outlives a power cut. The new bytes are written to a draft, a hidden file beside the target; whole,
they lie in another one until they take its place. Whoever is killed leaves these: `draft_of`, `temporary_of`.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat
from contextlib import suppress
from pathlib import Path

from workbench.core.hashing import sha256_hex
from workbench.storage.faults import step
from workbench.storage.files import sync_folder, writing

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM})


class FileMoved(Exception):
    """The file holds other bytes than the caller saw; it was left as it is."""


def temporary_of(path: Path) -> Path:
    """Where the new bytes of a file wait, whole; one place for each file, short whatever its name."""
    return path.with_name(f".{sha256_hex(os.fsencode(path.name))[:16]}.mw-tmp")


def draft_of(path: Path) -> Path:
    """Where the new bytes of a file are written: what a killed writer left there can be a part of them."""
    return temporary_of(path).with_suffix(".draft.mw-tmp")


def put_file(path: Path, data: bytes, *, temporary: Path, area: str) -> None:
    """Replace a file that nobody else edits. area: names the steps. Raises: `StorageError("home_unwritable")`."""
    with writing(path):
        _prepare(temporary, path, data, area)
        step(f"{area}.replace")
        temporary.replace(path)
        step(f"{area}.sync")
        sync_folder(path.parent)


def swap_file(path: Path, data: bytes, seen: str | None, *, area: str) -> None:
    """Replace the bytes of digest `seen`, or create the file where it is None. Owner, group and mode stay.

    Raises: `FileMoved` when other bytes stand there by now; `StorageError("home_unwritable")`. Whatever then lies in
    `temporary_of(path)` and is neither of the two is somebody's edit, and for the caller to keep.
    """
    draft, temporary = draft_of(path), temporary_of(path)
    with writing(path):
        _prepare(draft, path, data, area)
        step(f"{area}.wait")
        draft.replace(temporary)
        step(f"{area}.replace")
        _create(temporary, path) if seen is None else _exchange_seen(temporary, path, seen, sha256_hex(data))
        step(f"{area}.sync")
        sync_folder(path.parent)


def remove_file(path: Path, *, area: str) -> None:
    """Remove a file for good; one that is gone already is fine. Raises: `StorageError("home_unwritable")`."""
    with writing(path):
        step(f"{area}.remove")
        path.unlink(missing_ok=True)
        sync_folder(path.parent)


def move_file(path: Path, target: Path, *, area: str) -> None:
    """Give a file another place, over whatever stands there. Raises: `StorageError("home_unwritable")`."""
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        step(f"{area}.move")
        path.replace(target)
        sync_folder(target.parent)
        sync_folder(path.parent)


def bytes_of(path: Path) -> bytes | None:
    """The bytes of a regular file; None where none stands, a pipe being none. Raises: OSError when it is unreadable."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read()


def digest_of(path: Path) -> str | None:
    """sha256 of a regular file; None where none stands. Raises: as `bytes_of`."""
    data = bytes_of(path)
    return None if data is None else sha256_hex(data)


def _prepare(draft: Path, path: Path, data: bytes, area: str) -> None:
    """Put the new bytes on the disk, for the users of the file that they are for. A link there is never followed."""
    _make_folder(path.parent)
    step(f"{area}.prepare")
    draft.unlink(missing_ok=True)
    try:
        with draft.open("xb") as file:
            step(f"{area}.fill")
            with suppress(FileNotFoundError):
                _take_after(file.fileno(), path.stat())
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _take_after(handle: int, old: os.stat_result) -> None:
    """Give a new file the owner, group and mode of the one whose place it takes, as far as this user may."""
    for owner in (old.st_uid, -1):
        with suppress(OSError):
            os.fchown(handle, owner, old.st_gid)
            break
    os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _make_folder(folder: Path) -> None:
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync_folder(place.parent)


def _create(temporary: Path, path: Path) -> None:
    """A hard link never replaces a file that appeared meanwhile, where a rename would."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError as error:
        raise FileMoved(str(path)) from error
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        if os.path.lexists(path):
            raise FileMoved(str(path)) from error
        temporary.replace(path)
        return
    temporary.unlink()


def _exchange_seen(temporary: Path, path: Path, seen: str, target: str) -> None:
    """Change places, then look at what came out: an edit of the last moment goes back to where it was."""
    if digest_of(path) != seen:
        raise FileMoved(str(path))
    if not exchange(temporary, path):
        temporary.replace(path)
        return
    if digest_of(temporary) != seen:
        exchange(temporary, path)
        if digest_of(temporary) == target:
            temporary.unlink()
        raise FileMoved(str(path))
    temporary.unlink()


def exchange(first: Path, second: Path) -> bool:
    """Let two files change places in one step; False where the system or the file system cannot."""
    call = _renameat2()
    if call is None:
        return False
    if call(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        return True
    error = ctypes.get_errno()
    if error in _UNSUPPORTED:
        return False
    if error == errno.ENOENT:
        raise FileMoved(str(second))
    raise OSError(error, os.strerror(error), str(second))


@functools.cache
def _renameat2() -> ctypes._NamedFuncPointer | None:
    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None
