"""A process that builds an index and dies at a step: `HOME ROOT [STEP]`. Run by the tests, never alone."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.index.builds import PROJECT, build
from workbench.models.fake import FakeEmbedder
from workbench.storage.faults import on_step
from workbench.storage.project_index import ProjectIndex


def main(home: str, root: str, last_step: str = "") -> None:
    def die(name: str) -> None:
        if name == last_step:
            os._exit(9)

    with on_step(die):
        build(Path(root), ProjectIndex(Path(home), PROJECT), FakeEmbedder())


if __name__ == "__main__":
    main(*sys.argv[1:])
