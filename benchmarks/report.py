"""The figures as tables on a terminal and as JSON in a file, and the ratios beside the marks they have to reach."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Timing


@dataclass(frozen=True, slots=True)
class Mark:
    """A ratio, or a time, and the greatest value that is good enough."""

    what: str
    value: float
    bound: float
    unit: str = "×"

    @property
    def reached(self) -> bool:
        return self.value <= self.bound


def _console() -> Console:
    """As wide as the terminal, and wide enough for the tables where there is none."""
    return Console() if sys.stdout.isatty() else Console(width=120)


@dataclass
class Report:
    """Collects tables and marks while they are measured, and shows each at once."""

    console: Console = field(default_factory=_console)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)

    def say(self, line: str) -> None:
        self.console.print(line, highlight=False)

    def table(self, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Rows of one shape, in the order given; floats with three significant digits."""
        self.tables[title] = [dict(row) for row in rows]
        shown = Table(title=title, title_justify="left", header_style="bold")
        for number, column in enumerate(rows[0]):
            shown.add_column(column, justify="right" if number else "left")
        for row in rows:
            shown.add_row(*(_shown(value) for value in row.values()))
        self.console.print(shown)

    def timings(self, title: str, timings: Mapping[str, Timing], against: str) -> None:
        """Timings with each engine's CPU time as a ratio of `against`'s."""
        base = timings[against].cpu_p50
        self.table(
            title,
            [
                {
                    "engine": name,
                    "CPU p50 ms": one.cpu_p50,
                    f"÷ {against}": one.cpu_p50 / base,
                    "wall p50 ms": one.wall_p50,
                    "wall p95 ms": one.wall_p95,
                    "calls": one.samples,
                }
                for name, one in timings.items()
            ],
        )

    def mark(self, what: str, value: float, bound: float, unit: str = "×") -> None:
        self.marks.append(Mark(what, value, bound, unit))

    def finish(self, file: Path, settings: Mapping[str, Any]) -> None:
        """Show all marks and write everything to a file."""
        rows = [
            {
                "mark": one.what,
                "measured": f"{one.value:.3g} {one.unit}",
                "to reach": f"≤ {one.bound:g} {one.unit}",
                "": "reached" if one.reached else "missed",
            }
            for one in self.marks
        ]
        if rows:
            self.table("Marks", rows)
        document = {
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": {"python": platform.python_version(), "processor": platform.machine()},
            "settings": dict(settings),
            "tables": self.tables,
            "marks": [{**asdict(one), "reached": one.reached} for one in self.marks],
        }
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document, indent=2, ensure_ascii=False), encoding="utf-8")
        self.say(f"Written to {file}.")


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
