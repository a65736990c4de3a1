"""What the front ends of all widgets share: one module of script and one sheet of style, before each widget's own."""

from __future__ import annotations

from importlib.resources import files


def joined(package: str, name: str) -> str:
    """The shared part of a front end, `front.js` or `front.css`, and the package's own part behind it."""
    return "".join((files(place) / name).read_text(encoding="utf-8") for place in (__package__, package))
