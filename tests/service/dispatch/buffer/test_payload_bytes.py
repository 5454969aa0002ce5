"""Bytes in memory are counted in and out."""

from tarry.service.dispatch.buffer.payload_bytes import PayloadBytes


def test_what_came_and_left_is_in_memory_no_more() -> None:
    count = PayloadBytes()
    count.add(10)
    count.add(5)
    count.remove(10)
    assert count.bytes == 5
