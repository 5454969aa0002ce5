"""Each kind of mistake is made where it matters, and none where no test should notice."""

from pathlib import Path

import pytest

from tests.mutation.mutants import Mutant, mutants_of


def mutants(folder: Path, code: str) -> list[Mutant]:
    """Return the mutants of these lines as the inside of a function."""
    file = folder / "shop.py"
    file.write_text(
        "def work(a, b, log):\n" + "".join(f"    {line}\n" for line in code.splitlines())
    )
    return mutants_of(file)


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("yield a < b", ["a < b -> a <= b"]),
        ("yield a is None", ["a is None -> a is not None"]),
        ("yield 1 < a < b", ["1 < a < b -> 1 <= a < b", "1 < a < b -> 1 < a <= b", "1 -> 2"]),
        ("yield a and b", ["a and b -> a or b"]),
        ("yield not a", ["not a -> a"]),
        ("yield a + b", ["a + b -> a - b"]),
        ("yield True", ["True -> False"]),
        ("yield 'open'", ["'open' -> 'open~'"]),
        ("yield min(a, b)", ["min(a, b) -> max(a, b)"]),
        ("yield f(a, b=b)", ["f(...) without b=b"]),
        ("yield a if b else a", ["a if b else a -> a if not b else a"]),
        ("if a: yield", ["if a -> if not a"]),
        ("if a == b: yield", ["a == b -> a != b"]),
        ("return a", ["return a -> return None"]),
        ("return", ["without return"]),
        ("raise a", ["without raise a"]),
        ("while a: break", ["without break"]),
        ("a.sort()", ["without a.sort()"]),
        ("a.b = b", ["without a.b = b"]),
        ("a += b", ["without a += b", "a += b -> a -= b"]),
        ("def inner(): return a", ["return a -> return None"]),
    ],
)
def test_a_mistake_reads_like_a_change_of_the_code(
    tmp_path: Path, code: str, changes: list[str]
) -> None:
    assert [mutant.change for mutant in mutants(tmp_path, code)] == changes


@pytest.mark.parametrize(
    "code",
    [
        "'A text that explains.'",
        "log.warning('%d are left', 3)",
        "assert a > 0",
        "b: 'int | None'",
        "def inner(c: 'int' = 3) -> 'int': ...",
        "b = cast('int', a)",
        "assert_never(a)",
        "raise AssertionError('this cannot be')",
        "yield zip(a, b, strict=True)",
    ],
)
def test_no_mistake_is_made_where_no_test_should_notice(tmp_path: Path, code: str) -> None:
    assert not mutants(tmp_path, code)


def test_the_text_of_an_error_stays(tmp_path: Path) -> None:
    (left_out,) = mutants(tmp_path, "raise ValueError('too many', 3)")
    assert left_out.change == "without raise ValueError('too many', 3)"


def test_constants_outside_of_functions_stay(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text("MOST = 3\nclass Till:\n    coins = 0\n")
    assert not mutants_of(file)


def test_a_mistake_in_the_head_of_a_block_concerns_only_the_lines_of_the_head(
    tmp_path: Path,
) -> None:
    code = "if (\n  a\n  == b\n):\n    a.sort()\n    a.clear()"
    assert [mutant.lines for mutant in mutants(tmp_path, code)] == [
        range(2, 6),
        range(6, 7),
        range(7, 8),
    ]


def test_the_changed_function_does_what_the_mistake_says(tmp_path: Path) -> None:
    (mutant,) = mutants(tmp_path, "return a - b")[1:]
    assert str(mutant) == f"{tmp_path / 'shop.py'}:2: a - b -> a + b"

    def work(a: int, b: int, log: object) -> int:
        return a - b if log is None else 0

    work.__code__ = mutant.compile()
    assert work(2, 3, None) == 5
