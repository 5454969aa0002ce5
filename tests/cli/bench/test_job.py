import time

from standardwebhooks import Webhook

from tarry.cli.bench.job import PAYLOAD, SECRET, message_id, signed_headers


def test_the_job_is_one_kilobyte() -> None:
    assert len(PAYLOAD.encode()) == 1024


def test_ids_differ_and_are_all_of_one_length() -> None:
    assert message_id(7) != message_id(8)
    assert len(message_id(0)) == len(message_id(10**9))


def test_the_signature_is_what_a_receiver_expects() -> None:
    headers = signed_headers(SECRET, message_id(7), int(time.time()), PAYLOAD.encode())
    assert Webhook(SECRET).verify(PAYLOAD, headers)["type"] == "order.created"
