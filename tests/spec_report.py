"""pytest plug-in: which assertions the tests prove. `pytest --spec-report` prints one line an assertion.

A skipped or deselected test is `not run`, never passed. An assertion without a test fails the session, unless its part
is still to be built (`WAITS`). An unknown id in a marker is an error of its test, with or without the report.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.assertions import ASSERTIONS, FIELD_ROWS, WAITS


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--spec-report", action="store_true", help="print id, outcome and tests of every assertion")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "spec(id, ...): proves the assertions with these ids")
    config.addinivalue_line("markers", "field(row, ...): holds the right behaviour of these field reports")
    if config.getoption("--spec-report"):
        config.pluginmanager.register(SpecReport(), "spec-report-session")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    unknown = [key for key in _keys(item) if key not in ASSERTIONS and key not in _FIELD_KEYS]
    if unknown:
        pytest.fail(f"no such assertion or field row: {', '.join(unknown)}", pytrace=False)


class SpecReport:
    """Collects who proves what. Under xdist the workers know the markers and the controller hears the outcomes."""

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = {}
        self.outcomes: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for key in _keys(item):
                self.tests.setdefault(key, []).append(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        before = self.outcomes.get(report.nodeid)
        if before != "failed" and (report.when == "call" or report.outcome != "passed"):
            self.outcomes[report.nodeid] = report.outcome

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.tests |= getattr(node, "workeroutput", {}).get("spec_tests", {})

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["spec_tests"] = self.tests
        elif session.exitstatus == pytest.ExitCode.OK and self._unproved():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("assertions")
        for name, title in ASSERTIONS.items():
            terminalreporter.write_line(f"{self._line(name)}  {title}")
        for key in sorted(self.tests.keys() & _FIELD_KEYS, key=lambda key: int(key.split()[1])):
            terminalreporter.write_line(self._line(key))
        if unproved := self._unproved():
            terminalreporter.write_line(f"no test proves {', '.join(unproved)}", red=True)

    def _line(self, key: str) -> str:
        """`D1  passed  3 tests`; what did not run is counted beside what passed."""
        if key not in self.tests:
            return f"{key}  waits  {WAITS[key]}" if key in WAITS else f"{key}  no test"
        counts = Counter(self.outcomes.get(test, "skipped") for test in self.tests[key])
        outcome = next(word for word in ("failed", "passed", "skipped") if counts[word])
        line = f"{key}  {_WORDS[outcome]}  {_tests(counts[outcome])}"
        rest = [f"{counts[word]} {_WORDS[word]}" for word in _WORDS if word != outcome and counts[word]]
        return ", ".join((line, *rest))

    def _unproved(self) -> list[str]:
        return [name for name in ASSERTIONS if name not in self.tests and name not in WAITS]


_WORDS = {"failed": "failed", "passed": "passed", "skipped": "not run"}
_FIELD_KEYS = frozenset(f"field {row}" for row in FIELD_ROWS)


def _keys(item: pytest.Item) -> list[str]:
    """The ids that the markers of an item name, each once, in order."""
    names = [str(name) for mark in item.iter_markers("spec") for name in mark.args]
    rows = [f"field {row}" for mark in item.iter_markers("field") for row in mark.args]
    return list(dict.fromkeys(names + rows))


def _tests(count: int) -> str:
    return "1 test" if count == 1 else f"{count} tests"
