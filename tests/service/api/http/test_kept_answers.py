from tarry.service.api.http.kept_answers import (
    KEPT_FOR,
    MOST_ANSWER,
    MOST_OF_ALL,
    MOST_OF_APPLICATION,
    MOST_OWNERS,
    KeptAnswers,
)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_answer_that_is_too_large_is_not_kept() -> None:
    kept = KeptAnswers(Clock())
    assert kept.add("app_1", MOST_ANSWER)
    assert not kept.add("app_1", MOST_ANSWER + 1)
    assert not kept.add(None, MOST_ANSWER + 1)


def test_each_application_may_keep_its_bytes_and_they_fade() -> None:
    clock = Clock()
    kept = KeptAnswers(clock)
    room = MOST_OF_APPLICATION // MOST_ANSWER
    assert [kept.add("app_1", MOST_ANSWER) for _ in range(room + 2)] == [True] * room + [False] * 2
    assert kept.add("app_2", MOST_ANSWER)
    clock.now += KEPT_FOR / 2
    assert [kept.add("app_1", MOST_ANSWER) for _ in range(room)].count(True) == room // 2
    clock.now += KEPT_FOR
    assert [kept.add("app_1", MOST_ANSWER) for _ in range(room)].count(True) == room


def test_all_together_are_limited_too() -> None:
    kept = KeptAnswers(Clock())
    answers = (kept.add(f"app_{number}", MOST_ANSWER) for number in range(10_000))
    assert sum(answers) == MOST_OF_ALL // MOST_ANSWER
    assert not kept.add(None, MOST_ANSWER)


def test_those_that_kept_most_are_remembered_longest() -> None:
    kept = KeptAnswers(Clock())
    while kept.add("app_large", MOST_ANSWER):
        pass
    for number in range(MOST_OWNERS * 2):
        assert kept.add(f"app_{number}", 1)
    assert not kept.add("app_large", MOST_ANSWER)
