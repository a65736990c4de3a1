"""Imports a set: writes its memories, indexes them, asks every question as any caller would, and confirms its evidence.

Every question has a request key of its own, made from the set's digest and its id: what is there already is not asked
again, so that an import can be repeated, and one that was interrupted goes on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.app.fixtures import import_fixture
from workbench.app.project import Project
from workbench.core.activation import ActivationRequest
from workbench.core.case import CaseState, CaseSummary
from workbench.core.errors import InputError, NotReady, StorageError
from workbench.core.hashing import digest
from workbench.core.limits import resolve_limits
from workbench.core.progress import Progress, no_progress
from workbench.core.text import clean_text
from workbench.evaluation.importers.evidence import EvidenceFinder
from workbench.evaluation.importers.memory_files import folder_name, write_memory
from workbench.evaluation.importers.parsed import Findings, ParsedSet, Question, SetScope
from workbench.evaluation.sets import ImportedSet, SetFormat, free_name, set_folder, write_set
from workbench.storage.locks import exclusive

if TYPE_CHECKING:
    from workbench.app.parts import HomeParts

_NO_NAME = re.compile(r"[^a-z0-9._-]+")


def import_set(
    home: HomeParts,
    form: SetFormat,
    path: Path,
    *,
    name: str | None = None,
    memory: Path | None = None,
    progress: Progress = no_progress,
) -> ImportedSet:
    """Import a set of another maker, questions about the memory root `memory`, or a fixture; once more changes nothing.

    progress: the phases of an index build, and `cases` in questions. Raises: `InputError("invalid_argument")` for a
    set that cannot be used, with all findings, when another set has this name, or for a memory that questions lack or
    that anything else is given; `NotReady("writer_busy")` while another import runs in this home; as `import_fixture`,
    `Project.refresh` and `activate`.
    """
    if (memory is None) is (form is SetFormat.QUESTIONS):
        raise InputError("invalid_argument", "Name the memory that questions are about; other sets bring their own.")
    busy = NotReady("writer_busy", "Another process imports a set into this home; wait for it.")
    with exclusive(home.folder / "import.lock", busy):
        if form is SetFormat.FIXTURE:
            return import_fixture(home, path, name, progress)
        parsed = _read(form, path)
        name = free_name(home.folder, name or _name_of(parsed.name), parsed.digest, memory)
        return _Import(home, parsed, name, memory, progress).run()


class _Import:
    """One import: what all of its scopes share."""

    def __init__(self, home: HomeParts, parsed: ParsedSet, name: str, memory: Path | None, progress: Progress) -> None:
        self._home, self._parsed, self._name, self._memory, self._progress = home, parsed, name, memory, progress
        self._findings = Findings()
        self._total, self._done = sum(len(scope.questions) for scope in parsed.scopes), 0

    def run(self) -> ImportedSet:
        cases: dict[str, None] = {}
        projects: dict[str, Project] = {}
        for scope in self._parsed.scopes:
            project, finder = self._open(scope)
            projects[project.project_id] = project
            cases.update(dict.fromkeys(self._cases(scope, project, finder)))
        findings = (*self._parsed.findings, *self._findings.all())
        if not cases:
            raise InputError("invalid_argument", f"The set {self._name} has no case: {findings[-1]}.", detail=findings)
        imported = ImportedSet(
            name=self._name,
            format=self._parsed.format,
            digest=self._parsed.digest,
            origin=f"{self._parsed.format} set {self._name}, sha256 {self._parsed.digest}",
            project_ids=tuple(projects),
            roots=tuple(str(project.root) for project in projects.values()),
            cases=tuple(cases),
            findings=findings,
        )
        write_set(self._home.folder, imported)
        return imported

    def _open(self, scope: SetScope) -> tuple[Project, EvidenceFinder]:
        """The indexed memory of a scope, and what finds evidence in it."""
        if self._memory is not None:
            project = Project(self._home, self._memory)
            project.refresh(progress=self._progress)
            resources = {resource_id: resource_id for resource_id, _ in _indexed(project)}
            return project, EvidenceFinder({}, resources, self._findings)
        root = set_folder(self._home.folder, self._name) / folder_name(scope.name)
        documents = write_memory(scope.documents, root, self._findings, self._progress)
        project = Project(self._home, root)
        project.refresh(progress=self._progress)
        by_id = {document.document_id: document for document in scope.documents}
        return project, EvidenceFinder(by_id, self._resources(project, documents), self._findings)

    def _resources(self, project: Project, documents: Mapping[str, str]) -> dict[str, str]:
        """document id -> resource id, for every document whose file is exactly one resource."""
        indexed = _indexed(project)
        counts = Counter(path for _, path in indexed)
        for path, document_id in documents.items():
            if counts[path] != 1:
                self._findings.add(f"document {document_id!r}", f"its file is {counts[path]} resources instead of one")
        return {documents[path]: resource_id for resource_id, path in indexed if counts[path] == 1}

    def _cases(self, scope: SetScope, project: Project, finder: EvidenceFinder) -> list[str]:
        known = {case.request_key: case for case in self._home.cases.list((project.project_id,))}
        cases = []
        for question in scope.questions:
            key = digest(["import-1", self._parsed.digest, question.query_id])
            # What is to be said of a question is said each time, also of one whose case stands already.
            text = self._text(question) if finder.knows(question) else ""
            case = known.get(key)
            if text:
                case = case or self._home.cases.create(self._ask(project, text, key))
                self._confirm(case, question, finder)
            if case is not None and (text or case.state is not CaseState.DRAFT):
                cases.append(case.case_id)
            self._done += 1
            self._progress("cases", self._done, self._total)
        return cases

    def _text(self, question: Question) -> str:
        """The query as it can be asked; empty, with a finding, when nothing is left of it."""
        text, most = clean_text(question.text).strip(), resolve_limits(self._home.settings.limits).query_chars
        if not text:
            self._findings.add(f"question {question.query_id!r}", "it is empty and left out")
        if len(text) > most:
            self._findings.add(f"question {question.query_id!r}", f"its {len(text)} characters are cut to {most}")
        return text[:most].strip()

    def _ask(self, project: Project, text: str, key: str) -> str:
        result = project.activate(ActivationRequest(query=text, request_key=key))
        if result.run_id is None:
            raise StorageError("home_unwritable", "A run could not be recorded, the log says why; import again.")
        return result.run_id

    def _confirm(self, case: CaseSummary, question: Question, finder: EvidenceFinder) -> None:
        """Decide a draft; a case that was decided stays as it is, and so does one that froze none of its evidence."""
        cases = self._home.cases
        evidence = finder.refs(question, cases.frozen(case))
        if case.state is CaseState.DRAFT and evidence:
            cases.confirm(case.case_id, evidence)
        elif case.state is CaseState.DRAFT and not question.evidence:
            cases.resolve(case.case_id, case.version, (), none_matched=True)


def _read(form: SetFormat, path: Path) -> ParsedSet:
    from workbench.evaluation.importers.beir import read_beir
    from workbench.evaluation.importers.locomo import read_locomo
    from workbench.evaluation.importers.questions import read_questions

    readers = {SetFormat.BEIR: read_beir, SetFormat.LOCOMO: read_locomo, SetFormat.QUESTIONS: read_questions}
    return readers[form](path.expanduser().absolute())


def _indexed(project: Project) -> list[tuple[str, str]]:
    """(resource id, path) of everything that the project's head holds."""
    with project.index.reader() as reader:
        return [(row[0], row[5]) for row in reader.corpus()]


def _name_of(name: str) -> str:
    return _NO_NAME.sub("-", name.lower()).strip("-._")[:64] or "set"
