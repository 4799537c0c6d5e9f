"""The documentation is true: tables are current, blocks of code run page by page, and so does every command."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ort_vitis_plugin.cli.main import main, ort_vitis
from ort_vitis_plugin.compat import uninstall
from ort_vitis_plugin.demo.export import export_demo
from ort_vitis_plugin.presets.toml_file import load_config
from ort_vitis_plugin.reference.pages import PAGES as WITH_BLOCKS
from ort_vitis_plugin.reference.pages import stale_blocks
from ort_vitis_plugin.reference.tables import BLOCKS

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / "README.md", *sorted(file for file in (ROOT / "docs").rglob("*.md") if "_build" not in file.parts)]
PAGES = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in FILES}
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# Shown, not run: set-up from nothing (the first two by .ci/run), and what is no code.
SET_UP = (
    "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/ort-vitis demo",
    "python3 -m venv .venv && .venv/bin/pip install '.[test]' && .venv/bin/python -m pytest -n auto --dist worksteal",
)
NOT_CODE = {"text", "ini"}
# What a page needs that is no dependency of the tests.
NEEDS = {"docs/how-to/pytorch.md": ("torch", "sklearn")}


def commands(block: str) -> Iterator[tuple[list[str], int]]:
    """(words after ort-vitis, the status that the page says) of each line of a shell block."""
    for line in block.splitlines():
        status = re.search(r"# exit (\d)$", line)
        words = shlex.split(line, comments=True)
        if words and line not in SET_UP:
            assert words[0] == "ort-vitis", line
            yield words[1:], int(status[1]) if status else 0


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's files."""
    folder = tmp_path_factory.mktemp("demo")
    export_demo(folder)
    return folder


def run_page(name: str, folder: Path) -> None:
    scope: dict[str, object] = {"__name__": "page"}
    try:
        _run_blocks(name, folder, scope)
    finally:
        uninstall()  # the names of other packages that a page asks for


def _run_blocks(name: str, folder: Path, scope: dict[str, object]) -> None:
    for number, (language, block) in enumerate(_FENCE.findall(PAGES[name])):
        if language == "python":
            exec(compile(block, f"{name}, block {number}", "exec"), scope)
        elif language == "sh":
            for words, status in commands(block):
                assert main(words) == status, words
        elif language == "toml":
            (folder / "config.toml").write_text(block, encoding="utf-8")
            load_config(folder / "config.toml")
        else:
            assert language in NOT_CODE, f"{name}: {language}"


def test_readme_runs_as_it_is_printed(exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    run_page("README.md", tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("default::UserWarning", "default::DeprecationWarning")
@pytest.mark.parametrize("name", [name for name in PAGES if name != "README.md"])
def test_page_runs_as_it_is_printed(name: str, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("PIL", *NEEDS.get(name, ())):
        pytest.importorskip(module)
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    run_page(name, tmp_path)


# Those of the PyTorch front end take arguments, and run in its own tests.
@pytest.mark.slow
@pytest.mark.parametrize(
    "example", [path for path in EXAMPLES if not path.stem.startswith("torch_")], ids=lambda path: path.stem
)
def test_example_runs(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


def test_every_block_is_current_and_has_a_page() -> None:
    assert stale_blocks(ROOT) == [], "run python -m ort_vitis_plugin docs"
    assert set(BLOCKS) <= {name for blocks in WITH_BLOCKS.values() for name in blocks}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_block_that_nobody_writes(name: str) -> None:
    there = re.findall(r"<!-- begin: ([a-z-]+) -->", PAGES[name])
    assert there == [known for known in there if known in WITH_BLOCKS.get(name, {})]


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    folder = (ROOT / name).parent
    for link in _LINK.findall(PAGES[name]):
        if not link.startswith(("http://", "https://", "#")):
            assert (folder / link.partition("#")[0]).exists(), link


def test_every_page_is_in_the_table_of_contents() -> None:
    index = PAGES["docs/index.md"]
    listed = {
        line.strip()
        for block in re.findall(r"```\{toctree\}\n(.*?)```", index, re.DOTALL)
        for line in block.splitlines()
    }
    inside = {name.removeprefix("docs/").removesuffix(".md") for name in PAGES if name.startswith("docs/")}
    assert inside - {"index"} == {line for line in listed if line and not line.startswith(":")}


def test_every_verb_is_in_the_reference() -> None:
    text = PAGES["docs/reference/command_line.md"]
    assert [n for n, verb in ort_vitis.commands.items() if not verb.hidden and f"| `{n}" not in text] == []


def test_readme_is_short_and_sets_itself_up() -> None:
    readme = PAGES["README.md"]
    assert len(readme.splitlines()) <= 130
    assert all(line in readme.splitlines() for line in SET_UP)


@pytest.mark.slow
def test_the_site_builds_strictly(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_parser")
    flags = ["-W", "-n", "-q", "--keep-going", "-d", str(tmp_path / "trees")]
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", *flags, str(ROOT / "docs"), str(tmp_path)], capture_output=True, text=True
    )
    assert (built.returncode, built.stderr) == (0, "")
    assert (tmp_path / "how-to" / "data.html").is_file()
