from msgspec.structs import replace

from tarry.service.api.resources.call import chance_of
from tarry.service.model.claim import Claim

CLAIM = Claim(environment="org_1", key="k", fingerprint=b"f", at=1.0, holder="a", until=2.0)


def test_whoever_carries_a_claim_out_has_the_same_chance() -> None:
    first, second = chance_of(CLAIM), chance_of(replace(CLAIM, holder="b", until=9.0))
    drawn = [first(19) for _ in range(3)]
    assert drawn == [second(19) for _ in range(3)]
    assert len(set(drawn)) == 3
    assert {len(drawn_bytes) for drawn_bytes in drawn} == {19}


def test_another_claim_has_another_chance() -> None:
    drawn = {chance_of(CLAIM)(8)}
    for other in ({"key": "l"}, {"fingerprint": b"g"}, {"at": 2.0}, {"environment": "org_2"}):
        drawn.add(chance_of(replace(CLAIM, **other))(8))
    assert len(drawn) == 5
