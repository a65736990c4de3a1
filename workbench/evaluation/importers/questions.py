"""Questions about a memory that is there already: one JSON object a line, as in `fixtures/queries.jsonl`.

Each has `id`, `text` and `evidence`, a list of `resource_id` with, optionally, the headings that lead to the `unit`;
an empty list says that nothing in the memory answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.evaluation.importers.parsed import Findings, ParsedSet, Question, SetScope, Target, parsed_set
from workbench.evaluation.importers.reading import SetFiles, text_of
from workbench.evaluation.sets import SetFormat


def read_questions(path: Path) -> ParsedSet:
    """Read a file of questions; its one scope has no documents of its own.

    Raises: `InputError("invalid_argument")` when it cannot be read or nothing can be asked, with all findings.
    """
    findings = Findings()
    files = SetFiles(path.parent, findings)
    questions: dict[str, Question] = {}
    for place, row in files.objects(path.name):
        query_id, text, evidence = text_of(row, "id"), row.get("text"), row.get("evidence")
        if query_id is None or not isinstance(text, str) or not isinstance(evidence, list):
            findings.add(place, "a question needs an `id`, a `text` and a list of `evidence`")
        elif query_id in questions:
            findings.add(place, f"the question {query_id!r} stands twice; the first one counts")
        else:
            targets = tuple(dict.fromkeys(_targets(place, evidence, findings)))
            if targets or not evidence:
                questions[query_id] = Question(query_id, text, targets)
            else:
                findings.add(place, f"no evidence of {query_id!r} can be read; it is left out")
    return parsed_set(
        path.stem, SetFormat.QUESTIONS, files.read, [SetScope("", (), tuple(questions.values()))], findings
    )


def _targets(place: str, evidence: list[Any], findings: Findings) -> Iterator[Target]:
    for number, one in enumerate(evidence):
        resource_id = text_of(one, "resource_id") if isinstance(one, Mapping) else None
        if resource_id is None:
            findings.add(place, f"evidence[{number}] names no `resource_id`")
        else:
            yield Target(resource_id, headings=text_of(one, "unit"))
