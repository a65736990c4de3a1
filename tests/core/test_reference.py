"""The reference page is what the code holds."""

from __future__ import annotations

from workbench.core import reference


def test_the_kept_reference_is_the_one_that_the_code_gives() -> None:
    assert reference.KEPT.read_text(encoding="utf-8") == reference.text(), "run `python -m workbench.core.reference`"
