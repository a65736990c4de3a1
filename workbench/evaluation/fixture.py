"""Whether a document is a fixture that can be imported: every reason why it is not, each with its place.

Pure: nothing of a home is looked at and nothing is written.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, NoReturn

from pydantic import ValidationError

from workbench.core.activation import ActivationRequest
from workbench.core.candidate import EXCERPT_CHARS, Disposition
from workbench.core.case import Evidence
from workbench.core.errors import InputError
from workbench.core.fixture import (
    FIXTURE_FORMAT,
    FIXTURE_VERSION,
    Fixture,
    FixtureCase,
    FrozenBody,
    ManifestResource,
    SourceRun,
)
from workbench.core.hashing import digest, sha256_hex
from workbench.core.limits import LIMIT_FIELDS, resolve_limits
from workbench.core.text import is_valid_unicode, one_line
from workbench.markdown.errors import UnreadableSource
from workbench.markdown.frozen import cut_frozen
from workbench.retrieval.query import normal_query
from workbench.storage.corpus_table import frozen_body

_RANKS = ("exact_rank", "bm25_rank", "vector_rank", "rrf_rank", "rerank_rank")
_shared = attrgetter("unit_key", "content_hash", "resource_id", "scope", "kind", "path", "heading_path", "delta_action")
"""What a fragment has of its candidate."""
_WIDEST = 1 << 63
_DEEPEST = 64
_SHOWN = 3


def read_fixture(data: bytes) -> Fixture:
    """The fixture that these bytes are.

    Raises: `InputError("fixture_invalid")` with every finding as detail. What the schema does not admit is looked at
    no further; of a newer version, or of a value that is nested too deep, only that is said.
    """
    document = _document(data)
    version = document.get("version")
    if document.get("format") != FIXTURE_FORMAT:
        raise invalid([f"format: not {FIXTURE_FORMAT!r}"])
    if isinstance(version, int) and version > FIXTURE_VERSION:
        raise invalid([f"version: {version} is newer than {FIXTURE_VERSION}, which this workbench reads; update it"])
    findings = [*_unstorable("", document), *_digest_findings(document)]
    try:
        fixture = Fixture.model_validate(document)
    except ValidationError as error:
        raise invalid([*findings, *map(_schema_finding, error.errors())]) from error
    findings += [*_body_findings(fixture), *_corpus_findings(fixture), *_case_findings(fixture)]
    if findings:
        raise invalid(findings)
    return fixture


def invalid(findings: Iterable[str]) -> InputError:
    """The error that carries all findings; its sentence shows the first."""
    found = list(findings)
    shown = "; ".join(one_line(finding, 200) for finding in found[:_SHOWN])
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return InputError("fixture_invalid", f"Nothing was imported. Export the set again: {shown}{more}.", detail=found)


def _document(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data.decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_distinct)
    except UnicodeDecodeError as error:
        raise invalid([f"byte {error.start}: not UTF-8"]) from error
    except (ValueError, RecursionError) as error:
        raise invalid([f"not JSON, or not whole: {error}"]) from error
    if not isinstance(document, dict):
        raise invalid(["not a JSON object"])
    return document


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys all stand once: of two, every reader would choose for itself."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {twice[:80]!r} stands twice in one object")
    return found


def _unstorable(place: str, value: Any, depth: int = 0) -> Iterator[str]:
    """Numbers and texts that the store could not hold, wherever they stand."""
    if depth > _DEEPEST:
        raise invalid([f"{place[:200]}: nested deeper than {_DEEPEST} levels"])
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _unstorable(place, key)
            yield from _unstorable(f"{place}.{key}" if place else key, inner, depth + 1)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _unstorable(f"{place}[{number}]", inner, depth + 1)
    elif isinstance(value, str) and not is_valid_unicode(value):
        yield f"{place}: half a character"
    elif isinstance(value, int) and not -_WIDEST <= value < _WIDEST:
        yield f"{place}: a number of more than 64 bits"


def _digest_findings(document: Mapping[str, Any]) -> Iterator[str]:
    try:
        actual = digest({name: value for name, value in document.items() if name != "digest"})
    except ValueError:  # an infinite number, such as 1e999
        yield "digest: the document holds a number that is not finite"
        return
    if actual != document.get("digest"):
        yield f"digest: the document's is {actual}; it was changed after the export"


def _schema_finding(error: Any) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"]).lstrip(".")
    return f"{place}: {error['msg']}"


def _body_findings(fixture: Fixture) -> Iterator[str]:
    used = {one.resource_hash for corpus in fixture.corpora for one in corpus.resources}
    for name, body in fixture.bodies.items():
        if sha256_hex(frozen_body(body)) != name:
            yield f"bodies.{name}: its text has another sha256"
        if name not in used:
            yield f"bodies.{name}: no corpus has it"


def _corpus_findings(fixture: Fixture) -> Iterator[str]:
    used = {case.run.corpus for case in fixture.cases}
    seen = Counter((corpus.project_id, corpus.miv) for corpus in fixture.corpora)
    for number, corpus in enumerate(fixture.corpora):
        place = f"corpora[{number}]"
        if number not in used:
            yield f"{place}: no case has it"
        if seen[corpus.project_id, corpus.miv] > 1:
            yield f"{place}: another corpus has this project and miv, too"
        names = [one.resource_id for one in corpus.resources]
        if names != sorted(set(names)):
            yield f"{place}.resources: not in the order of resource_id, or one stands twice"
        for at, one in enumerate(corpus.resources):
            if one.resource_hash not in fixture.bodies:
                yield f"{place}.resources[{at}].resource_hash: no body has this sha256"


def _case_findings(fixture: Fixture) -> Iterator[str]:
    case_ids = Counter(case.case_id for case in fixture.cases)
    run_ids = Counter(case.run.run_id for case in fixture.cases)
    resources = [{one.resource_id: one for one in corpus.resources} for corpus in fixture.corpora]
    excerpts = _Excerpts(fixture.bodies)
    for number, case in enumerate(fixture.cases):
        place = f"cases[{number}]"
        if case_ids[case.case_id] > 1:
            yield f"{place}.case_id: {case.case_id} stands twice"
        if run_ids[case.run.run_id] > 1:
            yield f"{place}.run.run_id: {case.run.run_id} stands twice"
        yield from _trace_findings(f"{place}.run", case.run)
        yield from _request_findings(f"{place}.run.request", case.run.request)
        if case.run.corpus >= len(fixture.corpora):
            yield f"{place}.run.corpus: there is no corpora[{case.run.corpus}]"
            continue
        if case.run.index.miv != fixture.corpora[case.run.corpus].miv:
            yield f"{place}.run.index.miv: not that of its corpus"
        yield from _evidence_findings(place, case, resources[case.run.corpus], fixture.bodies, excerpts)


def _trace_findings(place: str, run: SourceRun) -> Iterator[str]:
    candidates = run.trace.candidates
    if [one.final_rank for one in candidates] != list(range(1, len(candidates) + 1)):
        yield f"{place}.trace.candidates: their final ranks do not count from 1"
    if len({one.unit_key for one in candidates}) < len(candidates):
        yield f"{place}.trace.candidates: a unit stands twice"
    for name in _RANKS:
        units = (*candidates, *run.trace.fused_out)
        ranks = [rank for one in units if (rank := getattr(one, name, None)) is not None]
        if len(set(ranks)) < len(ranks) or min(ranks, default=1) < 1:
            yield f"{place}.trace: a {name} is below 1 or stands twice"
    selected = [_shared(one) for one in candidates if one.disposition is Disposition.SELECTED]
    if list(map(_shared, run.fragments)) != selected:
        yield f"{place}.fragments: not the selected candidates in their order"


def _request_findings(place: str, request: ActivationRequest) -> Iterator[str]:
    """What would keep the request from being asked again, as a replay does."""
    if not request.request_key:
        yield f"{place}.request_key: a recorded run has one"
    if request.state is not None:
        yield f"{place}.state: a recorded run has none"
    try:
        normal_query(request.query, LIMIT_FIELDS["query_chars"].cap)
    except InputError as error:
        yield f"{place}.query: {error.message}"
    try:
        resolve_limits(request.limits)
    except InputError as error:
        yield f"{place}.limits: {error.message}"


def _evidence_findings(
    place: str,
    case: FixtureCase,
    resources: Mapping[str, ManifestResource],
    bodies: Mapping[str, FrozenBody],
    excerpts: _Excerpts,
) -> Iterator[str]:
    seen: set[tuple[str, str | None]] = set()
    for number, one in enumerate(case.evidence):
        where = f"{place}.evidence[{number}]"
        if (one.resource_id, one.unit_key) in seen:
            yield f"{where}: the same evidence stands twice"
        seen.add((one.resource_id, one.unit_key))
        resource = resources.get(one.resource_id)
        if resource is None:
            yield f"{where}.resource_id: {one.resource_id!r} is not in the corpus"
        elif resource.resource_hash in bodies:
            excerpt = excerpts.of(one, case, resource)
            if excerpt is None:
                yield f"{where}.unit_key: {one.unit_key!r} is no unit of {one.resource_id!r}"
            elif excerpt != one.excerpt:
                yield f"{where}.excerpt: not the beginning of the frozen text"


class _Excerpts:
    """Excerpts of the units of frozen bodies. A body is cut once, however much evidence is in it."""

    def __init__(self, bodies: Mapping[str, FrozenBody]) -> None:
        self._bodies = bodies
        self._cut: dict[tuple[str, str, str], dict[str, str]] = {}

    def of(self, evidence: Evidence, case: FixtureCase, resource: ManifestResource) -> str | None:
        """The excerpt of what the evidence names; None when it names nothing."""
        body = self._bodies[resource.resource_hash]
        if evidence.unit_key is None:
            return one_line(body.body or body.description or body.title, EXCERPT_CHARS)
        for candidate in case.run.trace.candidates:
            if (candidate.unit_key, candidate.resource_id) == (evidence.unit_key, evidence.resource_id):
                return one_line(candidate.excerpt, EXCERPT_CHARS)
        key = (resource.resource_id, resource.resource_hash, resource.layer)
        if key not in self._cut:
            self._cut[key] = _unit_excerpts(resource, body)
        return self._cut[key].get(evidence.unit_key)


def _unit_excerpts(resource: ManifestResource, body: FrozenBody) -> dict[str, str]:
    try:
        units = cut_frozen(resource.resource_id, resource.layer, body.description, body.body)
    except UnreadableSource:
        return {}
    return {unit.unit_key: one_line(unit.text, EXCERPT_CHARS) for unit in units}
