"""TREC files: another tool that reads them finds the figures of the report."""

from __future__ import annotations

from pathlib import Path

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, R, nDCG

from tests.evaluation.judging import fused, judged, part, runs, unit, whole
from workbench.evaluation.benchmark import Variant
from workbench.evaluation.figures import Report
from workbench.evaluation.judged import JudgedRun
from workbench.evaluation.report import build_report
from workbench.evaluation.trec import QRELS_FILE, trec_files

MEASURES = {"recall@20": R @ 20, "ndcg@10": nDCG @ 10, "mrr@10": RR @ 10}


def as_read(folder: Path, files: dict[str, str], variant: Variant) -> dict[tuple[str, str], float]:
    """(case, metric) -> value, as another tool reads the files."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    qrels = list(ir_measures.read_trec_qrels(str(folder / QRELS_FILE)))
    ranked = list(ir_measures.read_trec_run(str(folder / f"{variant}.run")))
    found = {(case, metric): 0.0 for case in {one.query_id for one in qrels} for metric in MEASURES}
    names = {str(measure): metric for metric, measure in MEASURES.items()}
    for one in ir_measures.iter_calc(list(MEASURES.values()), qrels, ranked):
        found[one.query_id.replace("%20", " "), names[str(one.measure)]] = one.value
    return found


def of_report(report: Report, variant: Variant) -> dict[tuple[str, str], float]:
    return {(row.case_id, metric): row.figures[variant][metric] for row in report.rows for metric in MEASURES}


def named(run: JudgedRun, case_id: str) -> JudgedRun:
    return JudgedRun(**{name: getattr(run, name) for name in run.__slots__} | {"case_id": case_id})


@pytest.mark.spec("D9")
@given(drawn=st.lists(runs(), min_size=1, max_size=5))
def test_another_tool_finds_the_figures_of_the_report(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[JudgedRun]
) -> None:
    given_runs = [named(run, f"c{number}") for number, run in enumerate(drawn)]
    report = build_report(given_runs, origin="drawn")

    files = trec_files(given_runs)

    assert set(files) == {QRELS_FILE, *(f"{one.variant}.run" for one in report.variants)}
    for one in report.variants:
        if files[f"{one.variant}.run"]:
            read = as_read(tmp_path_factory.mktemp("trec"), files, one.variant)
            assert read == pytest.approx(of_report(report, one.variant))


def test_ids_hold_no_white_space_and_tell_units_from_resources() -> None:
    unit_key = "notes/a b.md#混合/x\ty@1"
    ranked = unit(1, bm25_rank=1, rrf_rank=1)._replace(unit_key=unit_key)
    files = trec_files([judged(ranked, *fused(2)[0:1], evidence=(whole(2), part(3)), case_id="c1")])

    lines = files["b3_hybrid_rrf.run"].splitlines()
    assert lines[0] == "c1 Q0 notes/a%20b.md#%E6%B7%B7%E5%90%88/x%09y@1 1 2 b3_hybrid_rrf"
    assert all(len(line.split()) == 6 for line in lines)
    assert files[QRELS_FILE] == "c1 0 r2 1\nc1 0 u3.0 1\n"


def test_every_candidate_is_written_however_deep() -> None:
    files = trec_files([judged(*fused(*range(1, 31)), case_id="c1")])
    assert len(files["b1_bm25.run"].splitlines()) == 30
