"""The report says what ran, and never says passed of what did not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.assertions import ASSERTIONS, WAITS

ALL_BUILT = [name for name in ASSERTIONS if name not in WAITS]
Report = Callable[..., pytest.RunResult]
EACH_WAY = [[], ["-n", "2"]]


@pytest.fixture
def report(pytester: pytest.Pytester) -> Report:
    """Runs a test file of the given text and returns the result."""

    def run(source: str, *options: str) -> pytest.RunResult:
        pytester.makeini("[pytest]\naddopts = --strict-markers\n")
        pytester.makepyfile(f"import pytest\n\n{source}")
        return pytester.runpytest_inprocess("-p", "tests.spec_report", "--spec-report", *options)

    return run


@pytest.mark.parametrize("options", EACH_WAY)
def test_outcomes_are_counted_per_assertion(report: Report, options: list[str]) -> None:
    result = report(
        """
@pytest.mark.spec("D1")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_holds(number): pass

@pytest.mark.spec("D2", "D3")
def test_breaks(): assert False

@pytest.mark.spec("D3")
def test_other(): pass

@pytest.mark.field(21)
def test_row(): pass
""",
        *options,
    )
    result.stdout.fnmatch_lines(
        ["D1  passed  3 tests*", "D2  failed  1 test*", "D3  failed  1 test, 1 passed*", "field 21  passed  1 test"]
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("options", EACH_WAY)
def test_skipped_and_deselected_tests_are_not_run(report: Report, options: list[str]) -> None:
    result = report(
        """
@pytest.mark.spec("D1")
@pytest.mark.skip
def test_skipped(): pass

@pytest.mark.spec("D2")
def test_left_out(): pass

@pytest.mark.spec("D3")
def test_needs(): pytest.skip("not there")

@pytest.mark.spec("D3")
def test_passes(): pass
""",
        "-k",
        "not left_out",
        *options,
    )
    result.stdout.fnmatch_lines(["D1  not run  1 test*", "D2  not run  1 test*", "D3  passed  1 test, 1 not run*"])


@pytest.mark.parametrize("options", EACH_WAY)
def test_an_assertion_without_a_test_fails_the_session(report: Report, options: list[str]) -> None:
    result = report("@pytest.mark.spec('D1')\ndef test_one(): pass", *options)
    result.stdout.fnmatch_lines(["D2  no test*", "no test proves D2, *"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("options", EACH_WAY)
def test_what_waits_is_named_and_does_not_fail_the_session(report: Report, options: list[str]) -> None:
    result = report(f"@pytest.mark.spec(*{ALL_BUILT})\ndef test_all(): pass", *options)
    result.stdout.fnmatch_lines(["T0-1  waits  injection*"])
    result.stdout.no_fnmatch_line("*no test proves*")
    assert result.ret == pytest.ExitCode.OK


def test_a_waiting_assertion_with_a_test_shows_its_outcome(report: Report) -> None:
    report("@pytest.mark.spec('T4-1')\ndef test_early(): pass").stdout.fnmatch_lines(["T4-1  passed  1 test*"])


def test_a_broken_fixture_is_a_failure(report: Report) -> None:
    source = "@pytest.fixture\ndef broken(): yield; raise OSError\n\n@pytest.mark.spec('D1')\ndef test_it(broken): pass"
    report(source).stdout.fnmatch_lines(["D1  failed  1 test*"])


@pytest.mark.parametrize("mark", ["spec('D99')", "spec('d1')", "field(4)", "field('x')"])
def test_an_unknown_id_is_an_error_of_its_test(report: Report, mark: str) -> None:
    result = report(f"@pytest.mark.{mark}\ndef test_it(): pass")
    result.stdout.fnmatch_lines(["*no such assertion or field row: *"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_every_line_names_an_assertion_once_and_in_order(report: Report) -> None:
    lines = report("def test_nothing(): pass").stdout.lines
    names = [line.split("  ")[0] for line in lines if line.split("  ")[0] in ASSERTIONS]
    assert names == list(ASSERTIONS)


def test_only_known_assertions_wait() -> None:
    assert WAITS.keys() <= ASSERTIONS.keys()
