from tests.audit.check import Result, State, result


def test_a_check_fails_if_it_found_a_problem() -> None:
    assert result("3 files", []) == Result(State.OK, "3 files")
    assert result("3 files", ["a"]) == Result(State.FAILED, "3 files", ("a",))
