"""The commands of `python -m loopdiff`."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopdiff.__main__ import main
from loopdiff.disk import entries, report


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOOPDIFF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("LOOPDIFF_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path / "cache"


def test_the_cache_is_shown_and_cleared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries.write("derived/f.json", bytes(5000))
    for arguments in (["cache"], ["cache", "--info"]):
        assert main(arguments) == 0
        text = capsys.readouterr().out
        assert f"folder   {folder}\n" in text
        assert "KiB of 1.0 GiB in 1 files\n" in text
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out == "1 files removed\n"
    assert main(["cache", "--clear"]) == 0


def test_what_cannot_be_removed_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    entries.write("derived/f.json", b"")
    monkeypatch.setattr(report, "remove", lambda path: False)
    assert main(["cache", "--clear"]) == 1
    assert capsys.readouterr().out == "0 files removed, 1 could not be\n"
