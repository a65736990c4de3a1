"""Brings a fixture into a home: what is there already stays as it is, what is new comes in whole, or nothing does.
Bodies that were lost here come back with it.

A project that lives in this home already keeps its history to itself: the imported one is then called
`PROJECT@` and ten digits of the fixture's digest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from workbench.core.case import Case, CaseState
from workbench.core.errors import InputError
from workbench.core.fixture import Fixture, FixtureCase, Manifest
from workbench.core.progress import Progress, no_progress
from workbench.evaluation.cases import CaseBook
from workbench.evaluation.export import source_run
from workbench.evaluation.fixture import invalid
from workbench.evaluation.runs import RunHistory
from workbench.storage.fixture_store import FixtureStore, NewCases


@dataclass(frozen=True, slots=True)
class FixtureImporter:
    """One home, as far as an import concerns it."""

    cases: CaseBook
    history: RunHistory
    store: FixtureStore

    def run(self, fixture: Fixture, at: str, progress: Progress = no_progress) -> tuple[str, ...]:
        """Add what is not here yet; the ids of the projects that hold the cases now, each once.

        progress: as `FixtureStore.add`. Raises: `InputError("fixture_invalid")` with every conflict as detail.
        """
        here = {case.case_id: known for case in fixture.cases if (known := self._known(case.case_id))}
        findings = [
            f"cases[{number}]: {finding}"
            for number, case in enumerate(fixture.cases)
            for finding in self._conflicts(case, here.get(case.case_id))
        ]
        if findings:
            raise invalid(findings)
        new = self._new(fixture, [case for case in fixture.cases if case.case_id not in here])
        self.store.add(new, at, progress)
        return tuple(dict.fromkeys(self.cases.get(case.case_id).project_id for case in fixture.cases))

    def _known(self, case_id: str) -> Case | None:
        with suppress(InputError):
            return self.cases.get(case_id)
        return None

    def _conflicts(self, case: FixtureCase, known: Case | None) -> Iterator[str]:
        """What of this home stands against a case of the fixture."""
        if known is None:
            if self.store.has_run(case.run.run_id):
                yield f"the run {case.run.run_id} is here already, without this case"
            return
        if known.state is not CaseState.READY:
            yield f"the case {case.case_id} is here already and is {known.state}"
            return
        if set(known.evidence) != set(case.evidence):
            yield f"the case {case.case_id} is here already with other evidence"
        # Its miv stands in the run: the same miv is the same corpus.
        if source_run(self.history, known.run_id) != case.run.model_copy(update={"corpus": 0}):
            yield f"the case {case.case_id} is here already with another source run"

    def _new(self, fixture: Fixture, cases: list[FixtureCase]) -> NewCases:
        """These cases with their corpora, under the project ids of this home, and all bodies."""
        places = {old: new for new, old in enumerate(dict.fromkeys(case.run.corpus for case in cases))}
        return NewCases(
            bodies=fixture.bodies,
            corpora=[self._renamed(fixture.corpora[old], fixture.digest) for old in places],
            cases=[
                case.model_copy(
                    update={"run": case.run.model_copy(update={"corpus": places[case.run.corpus]})},
                )
                for case in cases
            ],
        )

    def _renamed(self, corpus: Manifest, digest: str) -> Manifest:
        if not self.store.has_project(corpus.project_id):
            return corpus
        return corpus.model_copy(update={"project_id": f"{corpus.project_id}@{digest[:10]}"})
