"""One load for all who ask, a failure that can be tried again, and foreign errors as `ModelError`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from workbench.core.errors import ModelError
from workbench.models.base import LoadState
from workbench.models.loading import Loader


@pytest.mark.field(85)
def test_two_cold_callers_share_one_load() -> None:
    together, loads = Barrier(8), []

    def load() -> object:
        loads.append(loader.state)
        return object()

    loader = Loader("m", load)

    def ask() -> object:
        together.wait()
        return loader.get()

    with ThreadPoolExecutor(8) as pool:
        found = {id(future.result()) for future in [pool.submit(ask) for _ in range(8)]}
    assert len(found) == 1
    assert loads == [LoadState.LOADING]
    assert loader.state is LoadState.READY


def test_a_failed_load_says_so_and_can_be_tried_again() -> None:
    answers = iter([OSError("no such file"), None])

    def load() -> str:
        error = next(answers)
        if error is not None:
            raise error
        return "model"

    loader = Loader("m", load)
    assert loader.state is LoadState.ABSENT
    with pytest.raises(ModelError, match=r"no such file.*workbench models verify m") as raised:
        loader.get()
    assert raised.value.code == "model_invalid"
    assert loader.state is LoadState.FAILED
    assert loader.get() == "model"
    assert loader.state is LoadState.READY


def test_a_missing_library_names_what_to_install() -> None:
    def load() -> None:
        raise ImportError("No module named 'torch'", name="torch")

    with pytest.raises(ModelError, match=r"needs torch.*memory-workbench\[torch\]"):
        Loader("m", load).get()


def test_why_a_model_cannot_be_loaded_names_its_file_and_not_where_it_lies() -> None:
    """It is read by agents, too, whom the folders of this machine do not concern."""

    def load() -> None:
        raise RuntimeError("Load model from /home/somebody/models/m/model.onnx failed: Protobuf parsing failed.")

    with pytest.raises(ModelError, match=r"model from model\.onnx failed") as raised:
        Loader("m", load).get()
    assert "somebody" not in raised.value.message
