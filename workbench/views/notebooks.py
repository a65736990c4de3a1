"""Running a parameterised notebook by papermill: unknown parameters are refused, a failed run keeps its traceback.

`python -m workbench.views.notebooks NOTEBOOK OUTPUT [NAME=VALUE ...]`; a value is read as JSON where it is JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.core.errors import InputError


def run_notebook(notebook: Path, output: Path, parameters: Mapping[str, Any] | None = None) -> Path:
    """Execute a notebook into `output`, in its own folder's view of relative paths, and return `output`.

    Raises: `InputError("invalid_argument")` for a missing notebook or parameters it does not have; papermill's
    `PapermillExecutionError` when a cell fails, with the executed copy up to that cell kept in `output`.
    """
    if not notebook.is_file():
        raise InputError("invalid_argument", f"There is no notebook {notebook}.")
    import papermill

    given = dict(parameters or {})
    known = papermill.inspect_notebook(str(notebook))
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise InputError(
            "invalid_argument",
            f"{notebook.name} has no parameter {', '.join(unknown)}; it has {', '.join(sorted(known))}.",
            detail=unknown,
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    papermill.execute_notebook(
        str(notebook),
        str(output),
        parameters=given,
        cwd=str(notebook.parent),
        kernel_name="python3",
        progress_bar=sys.stderr.isatty(),
    )
    return output


def parse_parameter(text: str) -> tuple[str, Any]:
    """`NAME=VALUE` as a pair; the value is read as JSON where it is JSON, else it is the text itself."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise InputError("invalid_argument", f"Write parameters as NAME=VALUE, not {text!r}.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def main() -> None:
    """The command of this module."""
    notebook, output, *parameters = sys.argv[1:]
    run_notebook(Path(notebook), Path(output), dict(map(parse_parameter, parameters)))


if __name__ == "__main__":
    main()
