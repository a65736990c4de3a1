"""The service stands in the house: small modules that say what they answer, without cycles, on top of everything."""

from __future__ import annotations

import grimp

from tests.conftest import ROOT
from tests.test_house import LONGEST_MODULE


def test_every_module_of_the_service_says_what_it_answers_and_fits_on_a_few_pages() -> None:
    for module in sorted((ROOT / "serve").rglob("*.py")):
        text = module.read_text(encoding="utf-8")
        assert text.startswith('"""'), f"{module} does not say what it answers"
        assert text.count("\n") <= LONGEST_MODULE, f"{module} is long: it does more than one thing"


def test_the_service_has_no_import_cycle_and_reads_no_database() -> None:
    graph = grimp.build_graph("serve", include_external_packages=True, cache_dir=None)
    assert not graph.nominate_cycle_breakers("serve")
    assert not graph.modules & {"sqlite3", "onnxruntime", "numpy"}
