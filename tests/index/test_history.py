"""Whatever the history of edits, the index built step by step equals the one built from nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.index.builds import PROJECT, build, check_integrity, contents, write
from workbench.models.fake import FakeEmbedder
from workbench.storage.project_index import ProjectIndex

NAMES = ("user/a.md", "notes/b.md", "notes/c.md", "log/2026.md")
WORDS = ("tea", "owner", "owners", "小云", "花名", "C#", "DEC-0054", "getUserName", "the", "don't", "Ünïcode", "é")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
SECTIONS = st.lists(st.tuples(st.sampled_from(("One", "Two", "One")), TEXTS), max_size=4)
DOCUMENTS = st.builds(
    lambda title, intro, sections: (
        f"# {title}\n\n{intro}\n\n" + "".join(f"## {head}\n\n{text}\n\n" for head, text in sections)
    ),
    st.sampled_from(("Alpha", "Beta")),
    TEXTS,
    SECTIONS,
)
EDITS = st.lists(st.tuples(st.sampled_from(NAMES), st.none() | DOCUMENTS), min_size=1, max_size=3)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(history=st.lists(st.tuples(EDITS, st.booleans(), st.booleans()), min_size=1, max_size=5))
def test_any_history_of_edits_gives_the_index_of_a_rebuild(history: list[tuple[list, bool, bool]]) -> None:  # type: ignore[type-arg]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "memory"
        write(root, {"notes/always.md": "# Always\n\nthe note that stays\n"})
        index = ProjectIndex(Path(folder) / "home", PROJECT)
        for edits, dense, trigram in history:
            for name, text in edits:
                if text is None:
                    (root / name).unlink(missing_ok=True)
                else:
                    write(root, {name: text})
            build(root, index, FakeEmbedder() if dense else None, trigram=trigram)
        _, dense, trigram = history[-1]
        fresh = ProjectIndex(Path(folder) / "fresh", PROJECT)
        build(root, fresh, FakeEmbedder() if dense else None, trigram=trigram)
        grown, made = contents(index), contents(fresh)
        # A file that went and came back has another epoch, and thus the snapshot another identity.
        assert {**grown, "miv": None} == {**made, "miv": None}
        check_integrity(index)
