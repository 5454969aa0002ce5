from tarry.service.wire.fair_queue import FairQueue


def queue_of(*names: tuple[str, str], slow: tuple[tuple[str, str], ...] = ()) -> FairQueue:
    queue = FairQueue()
    for owner, name in names:
        queue.add(owner, name, slow=False)
    for owner, name in slow:
        queue.add(owner, name, slow=True)
    return queue


def drained(queue: FairQueue) -> list[tuple[str, str]]:
    """Take out all names, whatever they are."""
    taken = []
    while (chosen := queue.take(lambda _owner, _slow: True)) is not None:
        taken.append(chosen)
    return taken


def test_owners_take_turns_whoever_has_how_many_names() -> None:
    queue = queue_of(("a", "1"), ("a", "2"), ("a", "3"), ("b", "4"), ("b", "5"), ("c", "6"))
    order = [("a", "1"), ("b", "4"), ("c", "6"), ("a", "2"), ("b", "5"), ("a", "3")]
    assert drained(queue) == order
    assert drained(queue) == []


def test_an_owner_that_may_not_run_is_passed_over_and_not_forgotten() -> None:
    queue = queue_of(("a", "1"), ("b", "2"), ("b", "3"))
    assert queue.take(lambda owner, _slow: owner == "b") == ("b", "2")
    assert queue.take(lambda owner, _slow: owner == "b") == ("b", "3")
    assert queue.take(lambda owner, _slow: owner == "b") is None
    assert drained(queue) == [("a", "1")]


def test_slow_names_wait_behind_the_owners_other_names() -> None:
    queue = queue_of(("a", "2"), slow=(("a", "1"), ("b", "3")))
    assert drained(queue) == [("a", "2"), ("b", "3"), ("a", "1")]


def test_slow_names_may_be_passed_over_alone() -> None:
    queue = queue_of(("b", "2"), slow=(("a", "1"),))
    assert queue.take(lambda _owner, slow: not slow) == ("b", "2")
    assert queue.take(lambda _owner, slow: not slow) is None
    assert drained(queue) == [("a", "1")]


def test_two_owners_may_wait_for_one_name() -> None:
    queue = queue_of(("a", "1"), ("b", "1"))
    queue.discard("a", "1")
    assert drained(queue) == [("b", "1")]


def test_names_can_be_taken_out() -> None:
    queue = queue_of(("a", "1"), ("a", "2"), slow=(("a", "3"), ("b", "4")))
    queue.discard("a", "1")
    queue.discard("a", "3")
    queue.discard("a", "nothing")
    queue.discard("nobody", "1")
    assert drained(queue) == [("a", "2"), ("b", "4")]
    queue.add("a", "5", slow=True)
    queue.clear()
    assert drained(queue) == []
