"""Recall@20, nDCG@10 and MRR@10 of the four orders on sets in BEIR layout, through the product path.

`python -m benchmarks.quality DATA [--only NAME]...` writes each set as a Markdown memory below the home, indexes it,
activates every query as any caller would, reads the stored run back and orders its candidates four ways. A set with
scopes becomes one project a scope. Means are over all queries with evidence; one without candidates scores 0.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer
from tqdm import tqdm

from workbench.app import Home, Project
from workbench.core.activation import ActivationRequest
from workbench.core.run import Trace
from workbench.evaluation.benchmark import Variant, resource_order, variant_order
from workbench.evaluation.importers.beir import read_beir
from workbench.evaluation.importers.memory_files import folder_name, write_memory
from workbench.evaluation.importers.parsed import Findings, ParsedSet, Question
from workbench.evaluation.judged import ranked_units
from workbench.evaluation.metrics import METRICS, score_orders
from workbench.views.progress import bars

Orders = dict[Variant, dict[str, tuple[str, ...]]]


def measure(home: Home, beir: ParsedSet) -> dict[str, Any]:
    """The means of one set: variant -> metric, beside the counts, the digest and the zero-hit rate."""
    orders: Orders = {variant: {} for variant in Variant}
    relevant: dict[str, set[str]] = {}
    for scope in beir.scopes:
        root = home.folder / "sets" / beir.name / folder_name(scope.name)
        names = write_memory(scope.documents, root, Findings())
        project = home.project(root)
        with bars() as advance:
            project.refresh(progress=advance)
        for question in tqdm([one for one in scope.questions if one.evidence], desc=beir.name, file=sys.stderr):
            relevant[question.query_id] = {target.document_id for target in question.evidence}
            _collect(orders, question, _activate(project, question), names)
    means = {
        str(variant): {metric: fmean(scores.values()) for metric, scores in score_orders(relevant, lists).items()}
        for variant, lists in orders.items()
        if any(lists.values())
    }
    return {
        "set": beir.name,
        "digest": beir.digest,
        "documents": len({document.document_id for scope in beir.scopes for document in scope.documents}),
        "queries": len(relevant),
        "means": means,
        "zero_hit": sum(not orders[Variant.RRF][query] for query in relevant) / len(relevant),
    }


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The Markdown table of measured sets: Recall@20 / nDCG@10 / MRR@10 in each cell."""
    yield "| set | digest | documents | queries | " + " | ".join(Variant) + " |"
    yield "|---|---|---|---|" + "---|" * len(Variant)
    for row in rows:
        cells = [
            " / ".join(f"{row['means'][variant][metric]:.3f}" for metric in METRICS) if variant in row["means"] else "–"
            for variant in Variant
        ]
        yield f"| {row['set']} | `{row['digest'][:12]}` | {row['documents']} | {row['queries']} | {' | '.join(cells)} |"


def main(
    data: Annotated[Path, typer.Argument(help="A folder with one set a folder.")],
    only: Annotated[list[str] | None, typer.Option(help="Measure only this set; may be repeated.")] = None,
    output: Annotated[Path, typer.Option(help="Where the rows are kept as JSON.")] = Path("outputs/quality.json"),
) -> None:
    """Measure the sets and print one table."""
    folders = sorted(folder for folder in data.iterdir() if (folder / "qrels.tsv").is_file())
    chosen = [folder for folder in folders if not only or folder.name in only]
    home = Home.open()
    rows = []
    for folder in chosen:
        rows.append(measure(home, read_beir(folder)))
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(rows, indent=2), encoding="utf-8")
        print("\n".join(table(rows[-1:])), flush=True)
    print("\n".join(table(rows)))


def _activate(project: Project, question: Question) -> Trace:
    result = project.activate(ActivationRequest(query=question.text[:4096]))
    if result.run_id is None:
        raise SystemExit("The history could not be written; the benchmark reads stored runs.")
    return project.home.history.get(result.run_id).trace


def _collect(orders: Orders, question: Question, trace: Trace, names: dict[str, str]) -> None:
    for variant in Variant:
        resources = resource_order(variant_order(ranked_units(trace), variant))
        sources = dict.fromkeys(resource.partition("#")[0] for resource in resources)
        orders[variant][question.query_id] = tuple(names[source] for source in sources)


if __name__ == "__main__":
    typer.run(main)
