"""Export and import: the same report elsewhere, nothing twice, and a damaged document changes nothing."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.app.places import ask, write
from tests.app.sets import elsewhere, ready_cases, row_counts
from workbench.app import Home, Project
from workbench.core.case import CaseState, EvidenceRef
from workbench.core.errors import InputError, StorageError
from workbench.core.hashing import digest, sha256_hex
from workbench.core.text import one_line
from workbench.evaluation.export import frozen_set
from workbench.evaluation.fixture import read_fixture
from workbench.evaluation.sets import SetFormat
from workbench.markdown.frozen import cut_frozen
from workbench.storage.blobs import BlobStore
from workbench.storage.central_store import CentralStore
from workbench.storage.corpus_table import CorpusTable
from workbench.storage.faults import on_step

Document = dict[str, Any]


@pytest.fixture
def fixture(home: Home, project: Project) -> str:
    """Two ready cases of one home, exported."""
    ready_cases(home, project)
    return home.export(home.select(project=project)).fixture_json


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Home]:
    """A home in which nothing ever happened."""
    opened = Home.open(tmp_path / "other", engine="fake")
    yield opened
    opened.store.close()


def imported(home: Home, text: str | bytes, name: str | None = None) -> str:
    """Import a fixture; the name of the set."""
    path = home.folder / "given.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return home.import_set(SetFormat.FIXTURE, path, name=name).name


def sealed(document: Document) -> str:
    """The document under a digest that fits, as a forger would hand it out."""
    return json.dumps(document | {"digest": digest({k: v for k, v in document.items() if k != "digest"})})


def findings(home: Home, text: str | bytes) -> list[str]:
    """What an import of this refuses; that it changes nothing is looked at, too."""
    before = row_counts(home) if (home.folder / "local.db").exists() else None
    with pytest.raises(InputError) as refused:
        imported(home, text)
    assert refused.value.code == "fixture_invalid"
    assert before is None or row_counts(home) == before
    return list(refused.value.detail)


@pytest.mark.spec("D15")
def test_an_imported_set_gives_the_same_report_in_another_home(home: Home, project: Project, other: Home) -> None:
    ready_cases(home, project)
    exported = home.export(home.select(project=project))

    name = imported(other, exported.fixture_json)

    again = other.export(other.select(name))
    assert again.report == exported.report
    assert again.fixture_json == exported.fixture_json
    assert exported.report.cases == 2


@pytest.mark.spec("D15")
def test_a_set_comes_back_beside_the_living_project_after_its_cases_were_lost(
    home: Home, project: Project, memory: Path, tmp_path: Path
) -> None:
    ready_cases(home, project)
    exported = home.export(home.select(project=project))
    fresh = Home.open(tmp_path / "fresh", engine="fake")
    living = fresh.project(memory)
    living.refresh()
    kept = ask(living, "water for tea").run_id

    name = imported(fresh, exported.fixture_json)

    report = fresh.export(fresh.select(name)).report
    assert elsewhere(report) == elsewhere(exported.report)
    assert {row.project_id for row in report.rows} == {
        f"{project.project_id}@{json.loads(exported.fixture_json)['digest'][:10]}"
    }
    assert [run.run_id for run in fresh.history.list(living.project_id, 10)] == [kept]
    assert fresh.cases.list((living.project_id,)) == ()


@pytest.mark.spec("D15")
def test_importing_where_it_was_exported_or_twice_changes_no_row(home: Home, other: Home, fixture: str) -> None:
    before = row_counts(home)
    imported(home, fixture)
    assert row_counts(home) == before

    first = imported(other, fixture)
    once = row_counts(other)
    assert imported(other, fixture) == first
    assert row_counts(other) == once
    assert {table: once[table] for table in ("evaluation_cases", "evaluation_evidence", "retrieval_runs")} == {
        "evaluation_cases": 2,
        "evaluation_evidence": 3,
        "retrieval_runs": 2,
    }


def test_runs_traces_requests_and_bodies_come_back_field_by_field(home: Home, other: Home, fixture: str) -> None:
    name = imported(other, fixture)

    for case_id in other.select(name).case_ids or ():
        here, there = other.cases.get(case_id), home.cases.get(case_id)
        assert here == there
        assert other.history.get(here.run_id).summary.pinned
        mine, theirs = other.history.get(here.run_id), home.history.get(here.run_id)
        assert mine.model_copy(update={"manifest": theirs.manifest}) == theirs
        assert other.history.asked(here.run_id).request == home.history.asked(here.run_id).request
        frozen, original = other.cases.frozen(here), home.cases.frozen(there)
        assert frozen.entries == original.entries
        assert [frozen.read(one.resource_id) for one in frozen.entries] == [
            original.read(one.resource_id) for one in original.entries
        ]


@pytest.mark.spec("D15")
def test_the_report_is_on_the_cases_as_they_were_exported_whoever_resolves_them_meanwhile(
    home: Home, project: Project, other: Home
) -> None:
    ready_cases(home, project)
    first, second = (one.case_id for one in home.cases.list((project.project_id,), {CaseState.READY}))

    def resolve(phase: str, done: int, total: int) -> None:
        if (phase, done) == ("export", total):
            home.cases.resolve(first, 2, [EvidenceRef(resource_id="user/tea.md")], False)
            home.cases.resolve(second, 2, [], True)

    exported = home.export(home.select(project=project), progress=resolve)

    assert exported.report.cases == 2
    assert other.export(other.select(imported(other, exported.fixture_json))).report == exported.report


@pytest.mark.field(137)
def test_an_export_holds_every_case_and_every_piece_of_evidence(home: Home, project: Project) -> None:
    ids = ("decisions/queue.md", "decisions/storage.md", "user/tea.md", "runbooks/release.md")
    for number in range(14):
        case = home.cases.create(ask(project, f"queue number {number}").run_id or "")
        home.cases.resolve(case.case_id, 1, [EvidenceRef(resource_id=one) for one in ids], False)

    document = json.loads(home.export(home.select(project=project)).fixture_json)

    assert [len(case["evidence"]) for case in document["cases"]] == [4] * 14


@pytest.mark.field(143)
def test_the_digest_follows_the_content_and_nothing_else(home: Home, project: Project, fixture: str) -> None:
    again = home.export(home.select(project=project))
    assert again.fixture_json == fixture
    reordered = json.dumps(json.loads(fixture), indent=3)
    assert imported(home, reordered) == f"fixture-{json.loads(fixture)['digest'][:10]}"

    case = home.cases.list((project.project_id,))[0]
    home.cases.resolve(case.case_id, case.version, [EvidenceRef(resource_id="user/tea.md")], False)
    changed = home.export(home.select(project=project))
    assert json.loads(changed.fixture_json)["digest"] != json.loads(fixture)["digest"]
    assert changed.report.set_digest != again.report.set_digest


def test_corpora_of_several_moments_stay_apart(home: Home, project: Project, memory: Path, other: Home) -> None:
    for text in ("one", "two", "one"):
        write(memory, {"user/tea.md": f"# Tea\n\nIt is {text}.\n"})
        project.refresh()
        case = home.cases.create(ask(project, "tea").run_id or "")
        home.cases.resolve(case.case_id, 1, [EvidenceRef(resource_id="user/tea.md")], False)
    exported = home.export(home.select(project=project))

    name = imported(other, exported.fixture_json)

    assert other.export(other.select(name)).report == exported.report
    bodies = [other.cases.frozen(other.cases.get(one)).read("user/tea.md").body for one in other.select(name).case_ids]
    assert bodies == [f"# Tea\n\nIt is {text}." for text in ("one", "two", "one")]


def test_a_case_that_was_judged_otherwise_here_is_a_finding_and_stays(
    home: Home, project: Project, fixture: str
) -> None:
    first, second = (case["case_id"] for case in json.loads(fixture)["cases"])
    home.cases.resolve(first, 2, [EvidenceRef(resource_id="user/tea.md")], False)
    home.cases.resolve(second, 2, [], True)

    found = findings(home, fixture)

    assert found == [
        f"cases[0]: the case {first} is here already with other evidence",
        f"cases[1]: the case {second} is here already and is needs_evidence",
    ]
    assert [one.resource_id for one in home.cases.get(first).evidence] == ["user/tea.md"]


def test_another_run_under_the_same_ids_is_a_finding(home: Home, fixture: str) -> None:
    document = json.loads(fixture)
    document["cases"][0]["run"]["latency_us"] = 7
    (found,) = findings(home, sealed(document))
    assert found.endswith("is here already with another source run")


DAMAGE: dict[str, tuple[Callable[[Document], object], tuple[str, ...]]] = {
    "a body changed": (lambda d: _first_body(d).update(body="forged"), ("its text has another sha256",)),
    "a body missing": (lambda d: d["bodies"].popitem(), ("no body has this sha256",)),
    "a body that nothing has": (
        lambda d: d["bodies"].update({sha256_hex('["","",""]'): {"title": "", "description": "", "body": ""}}),
        ("no corpus has it",),
    ),
    "a case twice": (lambda d: d["cases"].append(d["cases"][0]), ("case_id: ", "run.run_id: ")),
    "evidence twice": (lambda d: _evidence(d).append(_evidence(d)[0]), ("the same evidence stands twice",)),
    "an unknown resource": (lambda d: _evidence(d)[0].update(resource_id="gone.md"), ("is not in the corpus",)),
    "an unknown unit": (lambda d: _evidence(d)[0].update(unit_key="x@1"), ("is no unit of",)),
    "a client's excerpt": (lambda d: _evidence(d)[0].update(excerpt="mine"), ("not the beginning of the frozen text",)),
    "no evidence": (lambda d: d["cases"][0].update(evidence=[]), ("cases[0].evidence: Tuple should have at least 1",)),
    "no cases": (lambda d: d.update(cases=[]), ("cases: Tuple should have at least 1",)),
    "a field too many": (lambda d: d["cases"][0]["run"].update(x=1), ("cases[0].run.x: Extra inputs",)),
    "a field missing": (lambda d: d["cases"][1]["run"].pop("trace"), ("cases[1].run.trace: Field required",)),
    "no such corpus": (lambda d: d["cases"][0]["run"].update(corpus=9), ("there is no corpora[9]",)),
    "another miv": (lambda d: d["corpora"][0].update(miv="m"), ("not that of its corpus",)),
    "a resource twice": (lambda d: _resources(d).append(_resources(d)[0]), ("not in the order of resource_id",)),
    "an unused corpus": (lambda d: d["corpora"].append(d["corpora"][0] | {"miv": "n"}), ("no case has it",)),
    "a corpus twice": (lambda d: d["corpora"].append(d["corpora"][0]), ("another corpus has this project",)),
    "a project that leads out": (
        lambda d: d["corpora"][0].update(project_id="../../x"),
        ("project_id: String should",),
    ),
    "a case id for a path": (lambda d: d["cases"][0].update(case_id="../x"), ("case_id: String should match",)),
    "ranks with a hole": (lambda d: _candidates(d).pop(0), ("their final ranks do not count from 1",)),
    "a unit twice": (
        lambda d: _candidates(d)[1].update(unit_key=_candidates(d)[0]["unit_key"]),
        ("run.trace.candidates: a unit stands twice",),
    ),
    "a fragment that was not selected": (
        lambda d: d["cases"][0]["run"]["fragments"].pop(0),
        ("run.fragments: not the selected candidates",),
    ),
    "a fragment of another resource": (
        lambda d: d["cases"][0]["run"]["fragments"][0].update(resource_id="user/tea.md"),
        ("run.fragments: not the selected candidates",),
    ),
    "a rank before the first": (
        lambda d: _candidates(d)[1].update(rrf_rank=0),
        ("run.trace: a rrf_rank is below 1 or stands twice",),
    ),
    "a rank twice": (
        lambda d: _candidates(d)[1].update(bm25_rank=_candidates(d)[0]["bm25_rank"]),
        ("run.trace: a bm25_rank is below 1 or stands twice",),
    ),
    "an empty query": (lambda d: _request(d).update(query=" "), ("run.request.query: The query is empty",)),
    "a limit of no name": (
        lambda d: _request(d).update(limits={"nosuch": 1}),
        ("run.request.limits: ", "nosuch"),
    ),
    "a number too wide": (lambda d: d["cases"][0]["run"].update(latency_us=1 << 80), ("more than 64 bits",)),
    "half a character": (lambda d: d.update(origin="\ud800"), ("origin: half a character",)),
    "another format": (lambda d: d.update(format="beir"), ("format: not",)),
    "a newer version": (lambda d: d.update(version=2), ("version: 2 is newer than 1",)),
}


def _first_body(document: Document) -> Document:
    return document["bodies"][min(document["bodies"])]


def _evidence(document: Document) -> list[Document]:
    return document["cases"][0]["evidence"]


def _resources(document: Document) -> list[Document]:
    return document["corpora"][0]["resources"]


def _request(document: Document) -> Document:
    return document["cases"][0]["run"]["request"]


def _candidates(document: Document) -> list[Document]:
    return document["cases"][0]["run"]["trace"]["candidates"]


@pytest.mark.spec("D15")
@pytest.mark.parametrize("damage", DAMAGE)
def test_each_damage_is_refused_by_its_place_even_under_a_fitting_digest(
    other: Home, fixture: str, damage: str
) -> None:
    document = json.loads(fixture)
    harm, expected = DAMAGE[damage]
    harm(document)

    found = findings(other, sealed(document))

    assert all(any(one in finding for finding in found) for one in expected), found


def test_all_findings_come_at_once(other: Home, fixture: str) -> None:
    document = json.loads(fixture)
    for damage in ("a body changed", "evidence twice", "another miv", "ranks with a hole"):
        DAMAGE[damage][0](document)

    found = findings(other, json.dumps(document))

    assert any(one.startswith("digest: ") for one in found)
    assert len(found) >= 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"\xff\xfe{}", "byte 0: not UTF-8"),
        (b'{"format": NaN}', "NaN is no number"),
        (b"[" * 100_000, "not JSON"),
        (b"9" * 5_000, "not JSON"),
        (b'{"format": 1, "format": 1}', "the key 'format' stands twice"),
    ],
)
def test_what_is_no_document_at_all_is_refused(other: Home, text: bytes, said: str) -> None:
    assert said in findings(other, text)[0]


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_a_value_that_is_nested_too_deep_is_refused_however_deep_it_is(
    other: Home, fixture: str, opening: str, closing: str
) -> None:
    limit = sys.getrecursionlimit()
    for depth in (*range(limit - 120, limit + 5), 10 * limit):
        nested = f"{opening * depth}1{closing * depth}"
        assert findings(other, f'{fixture[:-1]},"x":{nested}}}')


def test_a_document_that_was_cut_off_anywhere_is_refused(other: Home, fixture: str) -> None:
    data = fixture.encode("utf-8")
    for size in sorted(random.Random(7).sample(range(1, len(data)), 25)):
        findings(other, data[:size])


def test_an_infinite_number_is_refused(other: Home, fixture: str) -> None:
    text = fixture.replace('"rrf_score":0.', '"rrf_score":1e999,"x":0.', 1)
    assert any("not finite" in one for one in findings(other, text))


def test_evidence_on_every_unit_of_a_long_page_comes_in(
    home: Home, project: Project, memory: Path, other: Home
) -> None:
    pages = "".join(f"# Part {n}\n\n{'Sentence of this part. ' * 40}\n\n" for n in range(400))
    write(memory, {"long.md": pages})
    project.refresh()
    case = home.cases.create(ask(project, "tea").run_id or "")
    units = [EvidenceRef(resource_id="long.md", unit_key=f"long.md#Part {n}@1") for n in range(400)]
    home.cases.resolve(case.case_id, 1, [EvidenceRef(resource_id="user/tea.md")], False)
    document = json.loads(home.export(home.select(project=project)).fixture_json)
    frozen = home.cases.frozen(case).read("long.md")
    cut = {one.unit_key: one for one in cut_frozen("long.md", frozen.entry.layer, "", frozen.body)}
    document["cases"][0]["evidence"] = [
        one.model_dump() | {"excerpt": one_line(cut[one.unit_key or ""].text, 240)} for one in units
    ]

    imported(other, sealed(document))
    _evidence(document)[7]["unit_key"], _evidence(document)[9]["excerpt"] = "long.md#Part 400@1", "mine"

    assert len(other.cases.get(case.case_id).evidence) == 400
    assert [one.partition(":")[0] for one in findings(other, sealed(document))] == [
        "cases[0].evidence[7].unit_key",
        "cases[0].evidence[9].excerpt",
    ]


def test_a_file_over_the_limit_is_not_even_read(other: Home) -> None:
    huge = other.folder / "huge.json"
    with huge.open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    with pytest.raises(InputError, match="209715200 bytes, more than the limit fixture_bytes") as refused:
        other.import_set(SetFormat.FIXTURE, huge)
    assert refused.value.code == "fixture_invalid"


def test_of_a_pipe_no_more_than_the_limit_is_read(tmp_path: Path, fixture: str) -> None:
    for most, is_whole in ((len(fixture.encode("utf-8")), True), (1_000, False)):
        small = Home.open(tmp_path / f"home of {most}", engine="fake", limits={"fixture_bytes": most})
        pipe = tmp_path / f"pipe of {most}"
        os.mkfifo(pipe)
        with subprocess.Popen(["sh", "-c", 'cat > "$0"', pipe], stdin=subprocess.PIPE) as writer:
            assert writer.stdin is not None
            writer.stdin.write(fixture.encode("utf-8"))
            writer.stdin.close()
            if is_whole:
                assert len(small.import_set(SetFormat.FIXTURE, pipe).cases) == 2
            else:
                with pytest.raises(InputError, match="more than the limit fixture_bytes of 1000"):
                    small.import_set(SetFormat.FIXTURE, pipe)


def test_a_file_that_is_not_there_is_bad_input(other: Home) -> None:
    with pytest.raises(InputError, match="cannot be read") as refused:
        other.import_set(SetFormat.FIXTURE, other.folder / "none.json")
    assert refused.value.code == "invalid_argument"


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every value that holds no other."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    empty = True
    for key, one in inner:
        empty = False
        yield from leaves(one, (*place, key))
    if empty and place:
        yield place


def mutated(document: Document, draw: st.DataObject) -> None:
    """Change, remove or double one value anywhere in the document."""
    *above, last = draw.draw(st.sampled_from(sorted(leaves(document), key=str)))
    holder: Any = document
    for key in above:
        holder = holder[key]
    way = draw.draw(st.sampled_from(["replace", "remove", "double"]))
    if way == "remove":
        del holder[last]
    elif way == "double" and isinstance(holder, list):
        holder.insert(last, holder[last])
    else:
        texts = st.text(max_size=5) | st.sampled_from(["../x", "current", "superseded", "user"])
        values = (
            st.none()
            | st.booleans()
            | st.integers(-2, 1 << 70)
            | st.floats(allow_nan=False, allow_infinity=False)
            | texts
        )
        holder[last] = draw.draw(values | st.just([]) | st.just({}))


def content(text: str) -> tuple[object, ...]:
    """What a fixture says, its cases in no order: an import may put cases of one moment in another one."""
    one = read_fixture(text.encode("utf-8"))
    return one.origin, one.bodies, one.corpora, {case.case_id: case for case in one.cases}


@pytest.mark.spec("D15")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=st.data())
def test_any_single_change_is_refused_or_harmless(
    other: Home, fixture: str, tmp_path_factory: pytest.TempPathFactory, draw: st.DataObject
) -> None:
    document = json.loads(fixture)
    mutated(document, draw)
    if digest({k: v for k, v in document.items() if k != "digest"}) != json.loads(fixture)["digest"]:
        assert any(
            "digest: " in one or "version: " in one or "format: " in one
            for one in findings(other, json.dumps(document))
        )

    forged = sealed(document)
    fresh = Home.open(tmp_path_factory.mktemp("fresh"), engine="fake")
    try:
        name = imported(fresh, forged)
    except InputError as refused:
        assert refused.code == "fixture_invalid" and refused.detail
        assert not (fresh.folder / "local.db").exists() or not any(row_counts(fresh).values())
    else:
        chosen = fresh.select(name)
        again = frozen_set(fresh.cases, fresh.history, chosen.case_ids or (), chosen.origin).fixture_json()
        assert content(again) == content(forged)
        assert fresh.import_set(SetFormat.FIXTURE, fresh.folder / "given.json").name == name
    finally:
        fresh.store.close()


class Broken(Exception):
    """What a test raises at a step."""


def test_an_import_that_breaks_at_any_step_adds_nothing_and_succeeds_the_next_time(
    other: Home, fixture: str, tmp_path: Path
) -> None:
    names: list[str] = []
    with on_step(names.append):
        imported(Home.open(tmp_path / "recorded", engine="fake"), fixture)
    steps = [name for name in dict.fromkeys(names) if not name.startswith("central.migrate")]
    assert "central.import_fixture.case" in steps
    assert "central.import_fixture.commit" in steps

    for broken in steps:
        home = Home.open(tmp_path / broken, engine="fake")

        def stop(name: str, at: str = broken) -> None:
            if name == at:
                raise Broken

        with pytest.raises((Broken, StorageError)), on_step(stop):
            imported(home, fixture)
        assert not any(row_counts(home).values())
        assert home.export(home.select(imported(home, fixture))).fixture_json == fixture
        home.store.close()


def test_bodies_that_another_process_collects_meanwhile_are_written_again(other: Home, fixture: str) -> None:
    """The other process drops the last corpus that had these bodies just before ours refers to them."""

    def collect(name: str) -> None:
        if name == "fixture.bodies_written":
            store, blobs = CentralStore(other.folder / "local.db"), BlobStore(other.folder / "evaluation-corpora")
            CorpusTable(store, blobs).collect()
            for sha256 in json.loads(fixture)["bodies"]:
                blobs.remove(sha256)
            store.close()

    with on_step(collect):
        name = imported(other, fixture)

    assert other.export(other.select(name)).fixture_json == fixture


def test_imported_cases_are_pinned_and_their_bodies_are_never_collected(other: Home, fixture: str) -> None:
    name = imported(other, fixture)
    (project_id,) = other.select(name).project_ids
    assert other.history.clear(project_id) == 0
    assert other.export(other.select(name)).fixture_json == fixture
    assert {case.state for case in other.cases.list((project_id,))} == {CaseState.READY}


def test_importing_again_brings_back_the_bodies_that_were_lost(other: Home, fixture: str) -> None:
    name = imported(other, fixture)
    for sha256 in json.loads(fixture)["bodies"]:
        other.blobs.remove(sha256)
    with pytest.raises(StorageError, match="not readable"):
        other.export(other.select(name))

    assert imported(other, fixture) == name

    assert other.export(other.select(name)).fixture_json == fixture
