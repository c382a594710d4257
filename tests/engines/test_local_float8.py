"""The local engine with float8 weights: what it records, and that answers of two arithmetics never meet."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from stablechoice.engines.local import LocalEngine
from stablechoice.errors import ModelError
from stablechoice.request import Address, Decoding, Request, request_key
from tests.engines.test_float8 import write_fp8_dynamic
from tests.tiny_model import pins, save_tiny

CAP = Decoding(0.0, 16)
ASKED = [Request(f"q{n}", Address("direct_mcq", n), f"Question {n % 5}: why? {'x' * n}") for n in range(20)]
EIGHT = ("fp8-dynamic", "quanto-float8")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """`conf/model` mappings of a plain model and of its FP8-dynamic form."""
    folder = tmp_path_factory.mktemp("models")
    save_tiny(folder / "plain")
    write_fp8_dynamic(folder / "plain", folder / "eight")
    return {"quanto-float8": pins(folder / "plain"), "fp8-dynamic": pins(folder / "eight")}


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STABLECHOICE_MODELS", str(tmp_path / "models"))


def answered(engine: LocalEngine) -> list[str]:
    found = dict(engine.answer(ASKED, CAP))
    return [found[n].text for n in range(len(ASKED))]


@pytest.mark.parametrize("weights", EIGHT)
@pytest.mark.parametrize("arithmetic", ["kernel", "emulated", "dequantised"])
def test_the_path_taken_is_recorded_as_counted_in_the_model(
    folders: dict[str, dict[str, Any]], weights: str, arithmetic: str
) -> None:
    engine = LocalEngine(model=folders[weights], dtype="bfloat16", quantization=weights, arithmetic=arithmetic)
    assert engine.identity()["quantization"] == {"weights": weights, "arithmetic": arithmetic}
    assert len(set(answered(engine))) > 5
    recorded = engine.facts()["quantization"]
    assert recorded["layers"] == {arithmetic: 14}
    assert "float8_e4m3fn" in recorded["weights"]


def test_every_way_of_computing_has_keys_of_its_own(folders: dict[str, dict[str, Any]]) -> None:
    plain = folders["quanto-float8"]
    ways: list[dict[str, Any]] = [{}, {"dtype": "bfloat16"}]
    for dtype in ("float32", "bfloat16"):
        for arithmetic in ("kernel", "emulated", "dequantised"):
            ways += [{"dtype": dtype, "quantization": "quanto-float8", "arithmetic": arithmetic}]
            ways += [{"dtype": dtype, "quantization": "fp8-dynamic", "arithmetic": arithmetic}]
    keys = [request_key(LocalEngine(model=plain, **way).identity(), CAP, ASKED[0]) for way in ways]
    assert all(one != other for one, other in combinations(keys, 2))


@pytest.mark.parametrize("weights", EIGHT)
def test_multiplied_out_in_float32_an_answer_is_its_own_requests(
    folders: dict[str, dict[str, Any]], weights: str
) -> None:
    def made(**arrangement: Any) -> LocalEngine:
        return LocalEngine(model=folders[weights], quantization=weights, arithmetic="dequantised", **arrangement)

    engine = made()
    assert not engine.composes
    expected = answered(engine)
    assert answered(made(batch=3, share_prefixes=False)) == expected
    ((_, alone),) = made().answer([ASKED[7]], CAP)
    assert alone.text == expected[7]


def test_rounded_activations_make_a_composed_engine_even_in_float32(folders: dict[str, dict[str, Any]]) -> None:
    engine = LocalEngine(model=folders["fp8-dynamic"], quantization="fp8-dynamic", arithmetic="emulated")
    assert engine.composes
    assert engine.identity()["batching"]["composition"] == "by cell and step"


def test_the_configuration_must_say_how_a_checkpoint_is_quantised(folders: dict[str, dict[str, Any]]) -> None:
    with pytest.raises(ModelError, match="set quantization: fp8-dynamic and arithmetic"):
        answered(LocalEngine(model=folders["fp8-dynamic"], dtype="bfloat16"))
