from pathlib import Path

import pytest

from tarry.cli.input.policy_file import BadFile, read_document, read_policy
from tarry.core.policy import Policy
from tarry.core.text import to_json, to_toml


@pytest.mark.parametrize("name", ["p.toml", "p.TOML", "p.json", "p.JSON", "a.json.toml"])
def test_a_policy_is_read_by_its_suffix(tmp_path: Path, name: str) -> None:
    policy = Policy(attempts=3, name="Bücher")
    write = to_toml if name.lower().endswith(".toml") else to_json
    (tmp_path / name).write_text(write(policy), encoding="utf-8")
    assert read_policy(tmp_path / name) == policy


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.toml", b"attempts 3", "'line 1' is 'attempts 3'; it must be valid TOML: Expected '='"),
        ("p.json", b"{", "'line 1' is '{'; it must be valid JSON: Expecting property name"),
        ("p.json", b"[]", "'policy' is []; it must be a table of keys and values"),
        ("p.json", b'{"version": 2}', "'version' is 2; it must be 1, the newest version"),
        ("p.toml", b"within = -1", "'within' is -1; it must be a number of seconds"),
        ("p.yaml", b"", "'file name' is '"),
        ("policy", b"", "'file name' is '"),
        ("p.toml", b"\xff\xfe", "'file' is '"),
    ],
    ids=repr,
)
def test_a_file_that_is_wrong_is_named_with_what_would_do(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadFile) as caught:
        read_policy(path)
    assert caught.value.exit_code == 2
    assert caught.value.message.startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("p.yaml", "it must be a name that ends in .toml or .json"),
        ("p.toml", "it must be text in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_at_all_says_what_would_do(
    tmp_path: Path, name: str, wanted: str
) -> None:
    path = tmp_path / name
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BadFile) as caught:
        read_policy(path)
    assert caught.value.message.endswith(wanted)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    with pytest.raises(BadFile) as caught:
        read_policy(path)
    wanted = "name a policy file that can be read"
    assert caught.value.message == f"{path}: No such file or directory; {wanted}"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "policies.toml"
    folder.mkdir()
    with pytest.raises(BadFile, match="Is a directory; name a policy file"):
        read_policy(folder)


@pytest.mark.parametrize(
    ("name", "content"), [("p.toml", "attempts = 3"), (".JSON", '{"attempts": 3}')]
)
def test_a_document_says_no_more_than_its_file(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    assert read_document(tmp_path / name) == {"attempts": 3}


def test_a_document_is_read_as_closely_as_a_policy(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text("attempts = -3")
    with pytest.raises(BadFile, match="attempts"):
        read_document(tmp_path / "p.toml")
