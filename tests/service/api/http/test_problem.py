import json

import pytest

from tarry.errors import (
    BacklogFull,
    Conflict,
    DiskNearlyFull,
    EgressRefused,
    NotFound,
    PolicyFormatError,
    ServiceError,
    SettingsError,
    StoreError,
    StoreUnavailable,
    TarryError,
    TooManyEndpoints,
    TooManyReplays,
)
from tarry.service.api.http.problem import (
    BadRequest,
    Invalid,
    TooLarge,
    code_and_detail,
    error_answer,
)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (BadRequest("limit_reached", "no more"), 400, "limit_reached"),
        (TooLarge(["body", "payload"], 2, 1), 413, "payload_too_large"),
        (Conflict("message", "k"), 409, "conflict"),
        (BacklogFull("app_1", 10), 429, "backlog_full"),
        (DiskNearlyFull("app_1", 10, 20), 429, "disk_nearly_full"),
        (TooManyReplays("ep_1", 10), 429, "too_many_replays"),
        (TooManyEndpoints("app_1", 10), 400, "limit_reached"),
    ],
)
def test_what_the_sender_can_mend_is_told_in_words(
    error: ServiceError, status: int, code: str
) -> None:
    answered, _, body = error_answer(error)
    assert (answered, json.loads(body)) == (status, {"code": code, "detail": str(error)})


@pytest.mark.parametrize("error", [StoreError("disk 7 is broken"), ServiceError("x is None")])
def test_what_went_wrong_inside_stays_inside(error: ServiceError) -> None:
    status, _, body = error_answer(error)
    assert status == 500
    assert json.loads(body) == {"code": "server_error", "detail": "something went wrong"}


def test_who_cannot_be_served_now_is_told_when_to_come_back() -> None:
    status, headers, body = error_answer(StoreUnavailable("the disk is full", retry_after=3.4))
    assert (status, headers["retry-after"]) == (503, "3")
    assert b"disk" not in body
    assert error_answer(StoreUnavailable("away", retry_after=0.1))[1]["retry-after"] == "1"
    too_much = (BacklogFull("app_1", 1), DiskNearlyFull("app_1", 1, 2), TooManyReplays("ep_1", 1))
    for full in too_much:
        assert error_answer(full)[1]["retry-after"] == "5"


def test_a_body_that_cannot_be_used_is_told_which_part() -> None:
    status, _, body = error_answer(Invalid(["body"], "no"))
    expected = {"detail": [{"loc": ["body"], "msg": "no", "type": "value_error"}]}
    assert (status, json.loads(body)) == (422, expected)


@pytest.mark.parametrize(
    ("error", "path"),
    [
        (SettingsError("event_types", -1, "positive"), ["body", "eventTypes"]),
        (PolicyFormatError("backoff.cap", -1, "positive"), ["body", "backoff", "cap"]),
        (EgressRefused("localhost", "loopback"), ["body", "url"]),
    ],
)
def test_a_field_that_cannot_be_used_is_told_by_its_name(
    error: TarryError, path: list[str]
) -> None:
    status, _, body = error_answer(error)
    (detail,) = json.loads(body)["detail"]
    assert (status, detail["loc"]) == (422, path)
    assert detail["msg"].startswith(str(error))


def test_who_may_not_call_something_is_told_of_an_option_if_there_is_one() -> None:
    _, _, body = error_answer(EgressRefused("localhost", "loopback", "--allow-network"))
    (detail,) = json.loads(body)["detail"]
    assert detail["msg"].endswith(
        "loopback; the operator of this server may allow it by --allow-network"
    )
    _, _, body = error_answer(EgressRefused("ftp://", "only http and https are called"))
    (detail,) = json.loads(body)["detail"]
    assert detail["msg"].endswith("only http and https are called")


def test_what_is_not_there_reads_the_same_whatever_it_was_called() -> None:
    status, _, body = error_answer(NotFound("application", "app_1"))
    assert body == error_answer(NotFound("application", "app_2"))[2]
    expected = {"code": "not_found", "detail": "there is no such application"}
    assert (status, json.loads(body)) == (404, expected)
    assert (
        b"there is no such delivery: it was not for you"
        in error_answer(NotFound("delivery", "msg_1 to ep_1", "it was not for you"))[2]
    )


def test_an_error_among_others_is_a_code_and_words() -> None:
    assert code_and_detail(Conflict("message", "k"))[0] == "conflict"
