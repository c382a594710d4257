"""Where launches lie: found by their folders, whatever else lies beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablechoice.errors import ConfigError
from stablechoice.shards.place import Place, all_launches, count, launches


def test_a_number_of_shards_is_plain_digits() -> None:
    assert [count(text) for text in ("1", "64", "999999")] == [1, 64, 999_999]
    for text in ("", "0", "-1", "03", "1000000", "2.5", "1e3", "many", "\u00b2", "\u0663", " 3"):
        assert count(text) is None


def test_foreign_folders_and_files_are_no_launches(tmp_path: Path) -> None:
    for name in ("small/_all/3", "small/_all/0", "small/_all/\u00b2", "small/_all/old", "small/m/10", "small/m/9"):
        (tmp_path / name / "shard-1").mkdir(parents=True)
    # What a launch leaves that SLURM refused.
    (tmp_path / "small/_all/2000/logs").mkdir(parents=True)
    (tmp_path / "small/notes").write_text("x", "utf-8")
    (tmp_path / "small/_all/4").write_text("x", "utf-8")
    found = [Place(tmp_path, "small", None, 3), Place(tmp_path, "small", "m", 9), Place(tmp_path, "small", "m", 10)]
    assert all_launches(tmp_path, "small") == found
    assert all_launches(tmp_path, "none") == []
    assert launches(tmp_path, "small", 9) == [found[1]]
    with pytest.raises(ConfigError, match="small/m: was launched into 9, 10 shards; name one of them"):
        launches(tmp_path, "small")
