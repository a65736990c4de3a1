"""One activation as a host asks for it: its limits, its deadline, its checks, and what the history keeps of it."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tests.app.places import PAGES, ask, codes, home_with, paths, set_states, write
from workbench.app import Home, Project
from workbench.core.errors import InputError, NotReady, WorkbenchError
from workbench.core.run import CODE_CHARS, STAGE_CHARS, SUMMARY_CHARS, RunState
from workbench.models.fake import FakeEmbedder


def last_run(project: Project) -> Any:
    return project.home.history.list(project.project_id, 1)[0]


@pytest.mark.spec("D6")
def test_the_answer_and_the_stored_run_are_one(project: Project) -> None:
    answer = ask(project, "gave way storage queue", request_key="mine")
    record = project.home.history.get(answer.run_id or "")

    assert record.fragments == answer.fragments
    assert record.summary.state is RunState.SUCCEEDED and record.summary.request_key == "mine"
    assert (record.summary.index, record.summary.budget) == (answer.index, answer.budget)
    assert record.summary.stage_us == answer.stage_us and record.summary.degradations == answer.degradations
    selected = [one.unit_key for one in record.trace.candidates if one.disposition == "selected"]
    assert selected == [fragment.unit_key for fragment in answer.fragments]
    assert record.corpus_size == len(PAGES)


@pytest.mark.spec("D7")
def test_a_request_that_fails_is_a_failed_run_with_its_stage_and_a_bounded_error(home: Home, memory: Path) -> None:
    project = home.project(memory)
    with pytest.raises(NotReady):
        ask(project, "tea")
    unprepared = last_run(project)
    project.refresh()
    with pytest.raises(InputError):
        ask(project, "tea", state="x" * 5000)
    foreign_state = last_run(project)

    assert (unprepared.error.stage, unprepared.error.code) == ("head", "index_preparing")
    assert (foreign_state.error.stage, foreign_state.error.code) == ("state", "activation_state_invalid")
    for run in (unprepared, foreign_state):
        assert run.state is RunState.FAILED and run.fragment_count == 0 and run.latency_us is not None
        assert 0 < len(run.error.stage) <= STAGE_CHARS and 0 < len(run.error.code) <= CODE_CHARS
        assert 0 < len(run.error.summary) <= SUMMARY_CHARS


@pytest.mark.spec("D7")
@pytest.mark.parametrize("query", ["", " \n\t ", "x" * 4097, "nul \x00", "half \ud83d"])
def test_what_does_not_pass_basic_validation_is_no_run(project: Project, query: str) -> None:
    with pytest.raises(InputError) as refused:
        ask(project, query)

    assert refused.value.code == "invalid_query"
    assert project.home.history.list(project.project_id, 5) == ()


@pytest.mark.spec("D7", "D16")
@pytest.mark.parametrize("broken", ["garbage", "folder", "newer"])
def test_a_history_that_cannot_be_opened_costs_the_run_id_only(tmp_path: Path, memory: Path, broken: str) -> None:
    home = Home.open(tmp_path / "home", engine="fake")
    store = tmp_path / "home" / "local.db"
    if broken == "garbage":
        store.write_bytes(b"not a database" * 500)
    elif broken == "folder":
        store.mkdir()
    else:
        _make_newer(tmp_path, memory, store)
    kept = store.read_bytes() if store.is_file() else None
    project = home.project(memory)

    report, answer = project.refresh(), ask(project, "green tea")

    assert report.published and paths(answer)[0] == "user/tea.md"
    assert answer.run_id is None
    assert (store.read_bytes() if store.is_file() else None) == kept


@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    ("limits", "most"),
    [({"fragments": 1}, 1), ({"fragments": 2}, 2), ({"arm_width": 1, "fused_keep": 24}, 2), ({"budget_tokens": 1}, 0)],
)
def test_a_request_may_ask_for_less(project: Project, limits: dict[str, int], most: int) -> None:
    answer = ask(project, "gave way storage queue tea", limits=limits)

    assert len(answer.fragments) <= most
    assert answer.budget.budget_fragments == limits.get("fragments", 12)
    assert answer.budget.tokens <= answer.budget.budget_tokens


def test_limits_of_the_home_hold_and_a_request_goes_over_them(home: Home, memory: Path) -> None:
    (home.folder / "config.toml").write_text("[limits]\nfragments = 1\n", encoding="utf-8")
    project = Home.open(home.folder, engine="fake").project(memory)
    project.refresh()

    assert len(ask(project, "gave way storage queue tea").fragments) == 1
    assert len(ask(project, "gave way storage queue tea", limits={"fragments": 3}).fragments) == 3


@pytest.mark.field(112)
@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ({"fragmets": 3}, ["fragmets"]),
        ({"fragments": 0, "budget_tokens": 10**9}, ["fragments", "budget_tokens"]),
        ({"rerank_window": 30, "fused_keep": 24}, ["rerank_window"]),
        ({"deadline_ms": 60_001}, ["deadline_ms"]),
    ],
)
def test_limits_that_do_not_hold_are_all_named_and_nothing_runs(
    project: Project, limits: dict[str, int], named: list[str]
) -> None:
    with pytest.raises(InputError) as refused:
        ask(project, "tea", limits=limits)

    assert refused.value.code == "limits_invalid"
    assert all(name in refused.value.message for name in named)
    assert project.home.history.list(project.project_id, 5) == ()


@pytest.mark.field(112)
@pytest.mark.parametrize(
    "config", ["egine = 'fake'\n", "threads = 0\nlexical = 'bm25'\n", "[limits\n", "threads = 'x'\n"]
)
def test_a_setting_that_does_not_hold_is_named_when_the_home_is_opened(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.toml").write_text(config, encoding="utf-8")

    with pytest.raises(InputError) as refused:
        Home.open(tmp_path)

    assert refused.value.code == "invalid_argument"
    names = [line.split("=")[0].strip() for line in config.splitlines() if "=" in line] or ["TOML"]
    assert all(name in refused.value.message for name in names)


@pytest.mark.field(112)
@pytest.mark.parametrize("deadline_ms", [0, -1])
def test_a_deadline_that_is_no_time_is_refused(project: Project, deadline_ms: int) -> None:
    with pytest.raises(InputError) as refused:
        ask(project, "tea", deadline_ms=deadline_ms)

    assert "deadline_ms" in refused.value.message


@pytest.mark.parametrize("how", ["request", "limit"])
def test_a_deadline_ends_in_an_answer_that_says_so_or_in_a_recorded_failure(project: Project, how: str) -> None:
    log = " ".join(f"word{number} 日志" for number in range(400))[:4000]
    asked = {"deadline_ms": 1} if how == "request" else {"limits": {"deadline_ms": 1}}
    for _ in range(5):
        try:
            answer = ask(project, log, **asked)
        except WorkbenchError as error:
            assert error.code == "deadline_exceeded"
            assert last_run(project).error.code == "deadline_exceeded" and last_run(project).error.stage
        else:
            assert answer.fragments or "deadline" in " ".join(codes(answer)) or answer.stage_us


@pytest.mark.spec("D5")
def test_a_verified_activation_leaves_out_what_changed_on_disk_and_keeps_the_neighbours(project: Project) -> None:
    query = "gave way storage queue tea"
    write(project.root, {"user/tea.md": "# Tea\n\nGreen tea in the evening, water at eighty degrees.\n"})

    unverified, verified = ask(project, query), ask(project, query, verify=True)

    assert "user/tea.md" in paths(unverified)
    assert set(paths(verified)) == set(paths(unverified)) - {"user/tea.md"}
    trace = project.home.history.get(verified.run_id or "").trace
    lost = [str(one.exclusion_reason) for one in trace.candidates if one.path == "user/tea.md"]
    assert lost == ["snapshot_mismatch"]


@pytest.mark.spec("D5")
@pytest.mark.parametrize("change", ["deleted", "replaced by a link", "unreadable bytes"])
def test_a_verified_activation_gives_no_text_of_a_page_that_is_no_longer_there(
    project: Project, tmp_path: Path, change: str
) -> None:
    page, elsewhere = project.root / "user/tea.md", tmp_path / "elsewhere.md"
    elsewhere.write_bytes(page.read_bytes())
    page.unlink()
    if change == "replaced by a link":
        page.symlink_to(elsewhere)
    elif change == "unreadable bytes":
        page.write_bytes(b"\xff\xfe\x00")

    assert "user/tea.md" not in paths(ask(project, "green tea", verify=True))


def test_a_verified_activation_of_an_unchanged_memory_is_the_plain_one(project: Project) -> None:
    assert ask(project, "green tea", verify=True).fragments == ask(project, "green tea").fragments


@pytest.mark.spec("D14")
def test_one_state_walks_through_an_edit_a_deletion_and_a_retraction(project: Project) -> None:
    query = "gave way storage queue tea"
    first = ask(project, query)
    assert {str(one.delta_action) for one in first.fragments} == {"add"}
    write(project.root, {"user/tea.md": "# Tea\n\nBlack tea at noon, boiling water.\n"})
    (project.root / "decisions/storage.md").unlink()
    project.refresh()
    set_states(project.root, 1, **{"decisions/queue.md": "retracted"})

    second = ask(project, query, state=first.state)

    assert {one.path: str(one.delta_action) for one in second.fragments}["user/tea.md"] == "replace"
    removed = {one.unit_key.split("#")[0]: one.reason for one in second.remove}
    assert removed["decisions/storage.md"] == "gone" and removed["decisions/queue.md"] == "not_current"
    third = ask(project, query, state=second.state)
    assert {str(one.delta_action) for one in third.fragments} == {"reuse"} and third.remove == ()
    assert all(one.text is None for one in third.fragments)


@pytest.mark.field(59)
def test_asking_never_writes_the_index(project: Project) -> None:
    ask(project, "green tea")
    before = _files(project.index.folder)

    for _ in range(5):
        ask(project, "green tea")

    assert _files(project.index.folder) == before


@pytest.mark.slow
@pytest.mark.field(65)
def test_an_answer_needs_memory_for_its_candidates_and_not_for_the_corpus(home: Home, tmp_path: Path) -> None:
    line = "Every importer retries a failed upload with a longer pause. "
    pages = {f"{number}.md": f"# Page {number}\n\n" + (line + f"n{number} ") * 60 for number in range(700)}
    project = Home.open(home.folder, engine="none").project(write(tmp_path / "large", pages))
    project.refresh()
    corpus_bytes = sum(map(len, pages.values()))
    ask(project, "importer retries a failed upload")

    tracemalloc.start()
    answer = ask(project, "importer retries a failed upload")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert answer.fragments
    assert peak < corpus_bytes / 4, (peak, corpus_bytes)


@pytest.mark.field(62)
def test_the_end_of_a_long_page_is_found(project: Project) -> None:
    filler = "".join(f"Paragraph {n} speaks of nothing in particular.\n\n" for n in range(4000))
    write(project.root, {"long.md": f"# Long\n\n{filler}The needle is zirconium.\n"})
    project.refresh()

    assert "needle is zirconium" in (ask(project, "zirconium needle").fragments[0].text or "")


@pytest.mark.field(14, 15, 16)
@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("can anyone tell me what on earth we decided about where the thumbnails of our uploads live?", "storage.md"),
        ("at which temperature should one pour water over those leaves again, was it ninety?", "tea.md"),
        ("请问一下我们每次上线之前到底需要先做哪些准备工作和检查呢", "release.md"),
        ("подскажите пожалуйста, где лежит описание поставщика платежей", "payments.md"),
        ("ワークショップの予約はどこで確認できますか", "booking.md"),
        ("예약 확인은 어디에서 하나요", "reservation.md"),
    ],
)
def test_a_long_natural_question_of_any_script_finds_its_page_by_words_alone(
    home: Home, memory: Path, query: str, page: str
) -> None:
    others = {
        "ru/payments.md": "# Платежи\n\nОписание поставщика и комиссии.\n",
        "ja/booking.md": "# 予約\n\nワークショップの予約は掲示板に出ます。\n",
        "ko/reservation.md": "# 예약\n\n예약 확인은 게시판 참고.\n",
    }
    project = Home.open(home.folder, engine="none").project(write(memory, others))
    project.refresh()

    assert paths(ask(project, query))[0].endswith(page)


@pytest.mark.field(20, 21, 22, 24, 26, 29, 31)
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("中文合約", {"合約.md"}),
        ("修复 ok", {"ok.md", "fix.md"}),
        ("花名", {"花名.md"}),
        ("雨", {"雨.md"}),
        ('"用户身份"', {"身份.md"}),
        ("混合检索", {"检索.md"}),
    ],
)
def test_chinese_words_of_any_length_are_found_by_the_lexical_arm(
    home: Home, tmp_path: Path, query: str, found: set[str]
) -> None:
    pages = {
        "合約.md": "# 合約\n\n這份中文合約需要簽名。\n",
        "ok.md": "# State\n\nThe run was ok.\n",
        "fix.md": "# 修复\n\n已经修复。\n",
        "花名.md": "# 名册\n\n她的花名叫小云。\n",
        "雨.md": "# 天气\n\n今天有雨。\n",
        "身份.md": "# 登录\n\n系统校验用户身份之后放行。\n",
        "检索.md": "# 搜索\n\n采用混合检索的做法。\n",
        **{f"quick/{n}.md": f"# Quick {n}\n\nquick brown fox {n}\n" for n in range(30)},
    }
    project = Home.open(home.folder, engine="none").project(write(tmp_path / "中文", pages))
    project.refresh()

    answer = ask(project, query)
    trace = project.home.history.get(answer.run_id or "").trace

    by_words = {one.path for one in trace.candidates if one.bm25_rank is not None}
    assert found <= by_words and not any(path.startswith("quick/") for path in by_words)
    assert [code for code in codes(answer) if code.startswith("lexical")] == []


@pytest.mark.field(28)
def test_a_chinese_page_held_twice_is_handed_out_once(project: Project) -> None:
    text = "# 检索\n\n混合检索先走词法再走向量，最后按名次融合，同一份材料只出现一次。\n"
    write(project.root, {"one/检索.md": text, "two/检索.md": text})
    project.refresh()

    answer = ask(project, "混合检索 融合")

    assert len([path for path in paths(answer) if path.endswith("检索.md")]) == 1
    reasons = {str(one.exclusion_reason) for one in project.home.history.get(answer.run_id or "").trace.candidates}
    assert "overlap" in reasons


def test_a_query_engine_is_asked_once(home: Home, memory: Path) -> None:
    engine = FakeEmbedder()
    project = home_with(home.folder, engine).project(memory)
    project.refresh()

    ask(project, "green tea", verify=True)

    assert len(engine.queries) == 1


def _files(folder: Path) -> dict[str, bytes]:
    return {
        entry.name: Path(entry.path).read_bytes() for entry in os.scandir(folder) if not entry.name.endswith("-shm")
    }


def _make_newer(tmp_path: Path, memory: Path, store: Path) -> None:
    import sqlite3

    home = Home.open(tmp_path / "other-home", engine="fake")
    other = home.project(memory)
    other.refresh()
    ask(other, "tea")
    home.history.close()
    connection = sqlite3.connect(tmp_path / "other-home" / "local.db")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("PRAGMA user_version = 4000")
    connection.close()
    store.write_bytes((tmp_path / "other-home" / "local.db").read_bytes())
