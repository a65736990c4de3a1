"""The composition root: opens a home and its projects, and wires the floors together.

No rule of memory, retrieval or evaluation stands here; every method is a few calls in their order. What only a build
needs is imported by the build: a process that just answers starts without it.
"""

from workbench.app.home import Home
from workbench.app.project import MOST_RESTARTS, Project, project_id_of

__all__ = ["MOST_RESTARTS", "Home", "Project", "project_id_of"]
