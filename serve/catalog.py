"""The memory as MCP resources: the catalog of a project, and the text of one resource. Only what is current."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from workbench.app import Project
from workbench.core.deadline import Deadline, DeadlinePassed
from workbench.core.errors import InputError, NotReady, WorkbenchError
from workbench.core.resource import Status
from workbench.storage.index_reader import IndexReader

CATALOG_URI = "memory://{project_id}/catalog"
RESOURCE_URI = "memory://{project_id}/resources/{+resource_id}"
_SCHEME = "memory://"


def place_of(uri: str) -> tuple[str, str | None]:
    """(project_id, resource_id) of a URI; None for the catalog. Raises: `InputError("invalid_argument")`."""
    project_id, _, rest = uri.removeprefix(_SCHEME).partition("/")
    kind, _, resource_id = rest.partition("/")
    if uri.startswith(_SCHEME) and project_id:
        if rest == "catalog":
            return project_id, None
        if kind == "resources" and resource_id:
            return project_id, unquote(resource_id)
    raise InputError("invalid_argument", f"Ask for {CATALOG_URI} or {RESOURCE_URI}.")


@contextmanager
def _reading(project: Project, deadline: Deadline) -> Iterator[IndexReader]:
    try:
        with project.index.reader(deadline) as reader:
            if reader.revision is None:
                raise NotReady("index_preparing", "The memory is being indexed; ask again shortly.")
            yield reader
    except DeadlinePassed:
        raise WorkbenchError("deadline_exceeded", "The memory could not be read in time; ask again.") from None


def catalog_of(project: Project, deadline: Deadline) -> str:
    """JSON of every current resource, by resource_id, and of every source with the digest that a writer names."""
    manifest = project.manifest()
    sources = [
        {"source_ref": ref, "layer": stamp.source.layer, "digest": stamp.source.file_digest}
        for ref, stamp in sorted(project.index.stamps().items())
        if stamp.error is None
    ]
    with _reading(project, deadline) as reader:
        rows = [
            {"resource_id": resource_id, "title": title, "layer": layer, "scope": scope, "kind": kind, "path": path}
            for resource_id, _, layer, scope, kind, path, title in reader.corpus()
            if manifest.status(resource_id) is Status.CURRENT
        ]
    return json.dumps({"resources": rows, "sources": sources}, ensure_ascii=False)


def text_of(project: Project, resource_id: str, deadline: Deadline) -> str:
    """The text of one current resource."""
    with _reading(project, deadline) as reader:
        resource = reader.resource(resource_id)
    if resource is None or project.manifest().status(resource_id) is not Status.CURRENT:
        raise InputError("invalid_argument", "No current resource of this memory has this id; the catalog lists them.")
    return resource.body
