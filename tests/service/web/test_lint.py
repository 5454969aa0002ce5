"""The pages' scripts pass TypeScript's checks and a linter."""

import json
import shutil
from pathlib import Path

import pytest

from tests import node
from tests.service.web.test_pages import SCRIPTS, STATIC

HERE = Path(__file__).parent / "lint"


@pytest.fixture(scope="module")
def tools() -> Path:
    """A folder with the tools installed, and their settings."""
    folder = node.packages(HERE)
    for name in ("tsconfig.json", "eslint.config.mjs"):
        shutil.copy(HERE / name, folder)
    return folder


def checked(tools: Path, folder: Path, *scripts: Path) -> tuple[int, str]:
    """Run TypeScript's checker over scripts; return its exit code and output."""
    project = folder / "project.json"
    settings = {"extends": str(tools / "tsconfig.json"), "files": list(map(str, scripts))}
    project.write_text(json.dumps(settings))
    checker = str(tools / "node_modules" / "typescript" / "bin" / "tsc")
    return node.run("node", [checker, "--project", str(project)], folder)


def linted(tools: Path, folder: Path) -> tuple[int, str]:
    """Run the linter over a folder; return its exit code and output."""
    linter = str(tools / "node_modules" / "eslint" / "bin" / "eslint.js")
    options = ["--no-config-lookup", "--config", str(tools / "eslint.config.mjs")]
    return node.run("node", [linter, *options, "--max-warnings", "0", "."], folder)


def test_the_scripts_have_no_type_errors(tools: Path, tmp_path: Path) -> None:
    code, output = checked(tools, tmp_path, *SCRIPTS)
    assert code == 0, output


def test_the_scripts_follow_the_rules_of_the_linter(tools: Path) -> None:
    code, output = linted(tools, STATIC)
    assert code == 0, output


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(STATIC)))
def test_an_editor_checks_the_types_of_a_script_too(script: Path) -> None:
    assert script.read_text().startswith("// @ts-check\n")


def test_the_checks_find_mistakes(tools: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.js"
    script.write_text("// @ts-check\nconst size = 1;\nsize.trim();\nif (size == 2) nowhere();\n")
    code, output = checked(tools, tmp_path, script)
    assert code != 0
    assert "Property 'trim' does not exist" in output
    assert "Cannot find name 'nowhere'" in output
    code, output = linted(tools, tmp_path)
    assert code != 0
    assert "eqeqeq" in output


def test_the_lock_names_no_host() -> None:
    assert "resolved" not in (HERE / "package-lock.json").read_text()
