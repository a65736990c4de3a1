"""What a build did."""

from __future__ import annotations

from workbench.core.activation import DegradationNote
from workbench.core.wire import Wire


class BuildReport(Wire):
    """One build. `published` is false when the head was this snapshot by this engine already; then nothing was done.

    units_*: what the publication did to the units that there were. aliased: units that got a vector in this build;
    reused: those of them whose vector was in the cache; encoded: inputs that the encoder saw.
    degradations: the snapshot's, such as sources that could not be read. seconds: by phase.
    """

    revision: int
    miv: str
    published: bool
    arms: tuple[str, ...]
    engine: str | None
    sources: int
    sources_new: int
    sources_changed: int
    sources_removed: int
    sources_unreadable: int
    resources: int
    units: int
    units_added: int
    units_removed: int
    aliased: int
    encoded: int
    reused: int
    degradations: tuple[DegradationNote, ...]
    seconds: dict[str, float]
