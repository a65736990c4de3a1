"""`python -m benchmarks --kb FOLDER`: builds, queries, edits and processes beside their peers, in one run.

Every section measures both sides on the same rows in the same minutes; what counts are the ratios.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.corpus import make_queries, read_material, write_corpus
from benchmarks.live import live
from benchmarks.moments import edits, processes, readers
from benchmarks.report import Report
from benchmarks.sections import Bench, arms, builds, queries
from benchmarks.service import service
from benchmarks.vectors import vectors

SECTIONS: Sequence[Callable[[Bench], None]] = (builds, arms, queries, processes, edits, readers)


def main() -> None:
    """Run every section for each size, then what does not depend on it, and write the report."""
    options = _options()
    material = read_material(options.kb)
    asked, report = make_queries(material), Report()
    with tempfile.TemporaryDirectory(prefix="workbench-bench-") as scratch:
        for units in options.sizes:
            folder = Path(scratch) / str(units)
            bench = Bench(folder, options.home, asked, options.rounds, options.encode, report)
            write_corpus(material, bench.root, units)
            for section in SECTIONS:
                section(bench)
            shutil.rmtree(folder)
    vectors(report, options.rounds)
    live(report)
    service(report)
    report.say(_about_vectors(options.encode))
    report.finish(Path("outputs/bench/bench.json"), {name: str(value) for name, value in vars(options).items()})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed and size beside other engines.")
    parser.add_argument("--kb", type=Path, help="a folder of real Markdown to recombine")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="units to measure at")
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds over all queries")
    parser.add_argument("--encode", action="store_true", help="encode with the real engine; choose small --sizes")
    options = parser.parse_args()
    if options.kb is None or not options.kb.is_dir():
        sys.exit("Name a folder of real Markdown to recombine: make bench KB=FOLDER, or --kb FOLDER.")
    options.home = Path(os.environ.get("WORKBENCH_HOME", ".home")).resolve()
    if not (options.home / "models" / "e5-small" / "install.json").is_file():
        sys.exit("The benchmark asks the default engine: workbench models install e5-small.")
    return options


def _about_vectors(encoded: bool) -> str:
    if encoded:
        return "Every vector was encoded by the real engine."
    return (
        "Unit vectors are stand-ins from a hash of the text, so that nothing was encoded while building. Queries and "
        "edits paid the real engine's time. Figures of speed and size hold; what was found means nothing."
    )


if __name__ == "__main__":
    main()
