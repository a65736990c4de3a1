"""Random histories of one memory, through the gate, by hand, with crashes: it always says what a simple model says."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from workbench.app import Home, Project
from workbench.core.activation import ActivationRequest
from workbench.core.errors import InputError
from workbench.core.hashing import sha256_hex
from workbench.core.resource import Status
from workbench.memory.writing.gate import StateChange, Write
from workbench.storage.faults import on_step

NAMES = tuple(f"notes/{letter}.md" for letter in "abcdef")
names = st.sampled_from(NAMES)


class Killed(BaseException):
    """The end of a process: no clean-up of ours catches it."""


@dataclass
class Model:
    """Texts by name, statuses by id, and what was retracted as it then was.

    A note whose text claims an id has it wherever it lies.
    """

    texts: dict[str, str] = field(default_factory=dict)
    states: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    taken_back: dict[str, str] = field(default_factory=dict)

    def copy(self) -> Model:
        return Model(dict(self.texts), dict(self.states), dict(self.taken_back))

    def id_of(self, name: str) -> str:
        text = self.texts[name]
        return text.split("\n")[1].removeprefix("id: ") if text.startswith("---") else name

    def state(self, resource_id: str) -> tuple[str, str | None]:
        return self.states.get(resource_id, ("current", None))

    def current(self) -> set[str]:
        return {name for name in self.texts if self.state(self.id_of(name))[0] == "current"}


class Histories(RuleBasedStateMachine):
    """Every rule does the same to a real memory and to the model; the gate's refusals are predicted, too."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.root = self.folder / "memory"
        self.root.mkdir()
        (self.root / "keep.md").write_text("# Keep\n\nAlways there.\n", encoding="utf-8")
        self.count, self.model = 0, Model({"keep.md": "# Keep\n\nAlways there.\n"})
        self.project = self.opened()

    def opened(self) -> Project:
        return Home.open(self.folder / "home", engine="fake").project(self.root)

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def text(self, name: str, *, claims: bool = False) -> str:
        """A text that was never there; one that claims an id keeps it when it is changed."""
        self.count += 1
        old = self.model.texts.get(name, "")
        head = old.split("---\n")[1] if old.startswith("---") else f"id: id-{self.count}\n" if claims else ""
        return (f"---\n{head}---\n" if head else "") + f"# Note\n\nwording{self.count}\n"

    def commit(self, writes: dict[str, str], states: dict[str, StateChange], wanted: Model | None) -> None:
        """One transaction, that has to be refused where no model is wanted."""
        digests = {name: sha256_hex(self.model.texts[name]) for name in writes if name in self.model.texts}
        asked = [Write(name, text.encode(), digests.get(name)) for name, text in writes.items()]
        self.count += 1
        try:
            self.project.gate.commit_mutation(f"tx-{self.count}", asked, states)
        except InputError as error:
            assert wanted is None, error
        else:
            assert wanted is not None
            self.model = wanted

    def written(self, name: str, text: str) -> Model | None:
        """The model with this text; None when the gate has to refuse it."""
        after = self.model.copy()
        after.texts[name] = text
        return None if after.state(after.id_of(name))[0] == "retracted" else after

    def stated(self, name: str, status: str, successor: str | None = None) -> tuple[Model, dict[str, StateChange]]:
        after, resource_id = self.model.copy(), self.model.id_of(name)
        after.states[resource_id] = (status, successor)
        return after, {resource_id: StateChange(Status(status), successor)}

    @rule(name=names, claims=st.booleans())
    def write(self, name: str, claims: bool) -> None:
        text = self.text(name, claims=claims and name not in self.model.texts)
        self.commit({name: text}, {}, self.written(name, text))

    @rule(name=names, claims=st.booleans())
    def edit_by_hand(self, name: str, claims: bool) -> None:
        text = self.text(name, claims=claims and name not in self.model.texts)
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")
        self.model.texts[name] = text

    @rule(name=names, other=names)
    def move_by_hand(self, name: str, other: str) -> None:
        if name in self.model.texts and other not in self.model.texts:
            (self.root / name).rename(self.root / other)
            self.model.texts[other] = self.model.texts.pop(name)

    @rule(name=names, status=st.sampled_from(["retracted", "current"]))
    def retract_or_restore(self, name: str, status: str) -> None:
        if name in self.model.texts:
            after, change = self.stated(name, status)
            if self.model.state(self.model.id_of(name))[0] != status:
                after.taken_back[self.model.id_of(name)] = self.model.texts[name]
            self.commit({}, change, after)

    @rule(old=names, new=names)
    def supersede(self, old: str, new: str) -> None:
        if old in self.model.texts and new in self.model.texts:
            after, change = self.stated(old, "superseded", self.model.id_of(new))
            fine = old != new and new in self.model.current()
            self.commit({}, change, after if fine else None)

    @rule(name=names, other=names)
    def write_again_what_was_retracted(self, name: str, other: str) -> None:
        texts = self.model.texts
        if name not in texts or other in texts or self.model.state(self.model.id_of(name))[0] != "retracted":
            return
        words = self.model.taken_back[self.model.id_of(name)].splitlines()[-1]
        self.commit({other: f"# Other\n\n{words.upper()}\n"}, {}, None)

    @rule(name=names, step=st.integers(0, 24), edited=st.booleans())
    def crash(self, name: str, step: int, edited: bool) -> None:
        """Two files and a status are under way; afterwards all of it is there, or nothing; a newer edit stays."""
        text, keep = self.text(name), self.text("keep.md")
        after = self.written(name, text)
        if after is None or self.model.state("keep.md")[0] == "retracted":
            return
        after.texts["keep.md"] = keep
        is_current = after.state(after.id_of(name))[0] == "current"
        status, successor = ("superseded", after.id_of(name)) if is_current else ("current", None)
        after.states["keep.md"] = (status, successor)
        left = [step]

        def die(_: str) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Killed

        try:
            with on_step(die):
                self.commit({name: text, "keep.md": keep}, {"keep.md": StateChange(Status(status), successor)}, after)
        except Killed:
            if edited:
                self.edit_by_hand("keep.md", False)
            self.project = self.opened()
            told = self.told()
            if edited:
                after.texts["keep.md"] = self.model.texts["keep.md"]
                after.texts[name] = text
            assert told in (self.seen(self.model), self.seen(after))
            self.model = after if told == self.seen(after) else self.model

    @rule()
    def restart(self) -> None:
        self.project = self.opened()
        self.project.gate.recover()

    @rule()
    def lose_the_index(self) -> None:
        self.project.index.close()
        shutil.rmtree(self.folder / "home")
        self.project = self.opened()

    @rule(name=names)
    def ask(self, name: str) -> None:
        """The same answers as the model gives, and never a text that is not current."""
        if name not in self.model.texts:
            return
        self.project.refresh()
        word = self.model.texts[name].splitlines()[-1]
        result = self.project.activate(ActivationRequest(query=word))
        found = {one.path for one in result.fragments if word in (one.text or "").splitlines()}
        assert found == {name} & self.model.current()
        assert {one.path for one in result.fragments} <= self.model.current()

    @invariant()
    def memory_and_model_agree(self) -> None:
        assert self.told() == self.seen(self.model)

    def told(self) -> dict[str, tuple[str, str, str | None]]:
        snapshot = self.project.capture()
        return {
            one.source_ref: (one.body.splitlines()[-1], str(one.status), one.superseded_by)
            for one in snapshot.resources
        }

    def seen(self, model: Model) -> dict[str, tuple[str, str, str | None]]:
        return {name: (text.splitlines()[-1], *model.state(model.id_of(name))) for name, text in model.texts.items()}


HISTORIES = settings(max_examples=8, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.spec("T1-1", "T1-2", "T1-4")
@pytest.mark.field(98)
class TestHistories(Histories.TestCase):
    settings = HISTORIES


@pytest.mark.slow
class TestManyHistories(Histories.TestCase):
    settings = settings(HISTORIES, max_examples=150, stateful_step_count=40)
