import pytest

from tarry.errors import SettingsError
from tarry.service.model.sizes import SIZES, Sizes, check_description


@pytest.mark.parametrize("value", [-1, 1.5, None, True])
def test_a_size_that_cannot_work_is_refused(value: int) -> None:
    with pytest.raises(SettingsError) as caught:
        Sizes(metadata=value)
    assert (caught.value.field, caught.value.value) == ("sizes.metadata", value)


def test_metadata_is_measured_as_json_in_bytes() -> None:
    sizes = Sizes(metadata=len('{"a":"ü"}'.encode()))
    sizes.check_metadata({"a": "ü"})
    sizes.check_metadata({})
    sizes.check_metadata(None)
    with pytest.raises(SettingsError, match=r"'metadata' is '11 bytes'.* at most 10 bytes"):
        sizes.check_metadata({"a": "üx"})


def test_a_filter_is_measured_by_the_bytes_of_its_names() -> None:
    sizes = Sizes(filters=4)
    for names in (("ab", "cd"), ("üü",), (), None):
        sizes.check_filter("channels", names)
    for names in (("ab", "cde"), ("üüx",)):
        with pytest.raises(SettingsError, match=r"'channels' is '5 bytes'.* at most 4 bytes"):
            sizes.check_filter("channels", names)


def test_a_description_is_measured_in_characters() -> None:
    check_description("ü" * 4096)
    check_description(None)
    with pytest.raises(SettingsError, match="'4097 characters'"):
        check_description("x" * 4097)


def test_the_defaults() -> None:
    assert Sizes(endpoints=1000, metadata=16_384, filters=16_384) == SIZES
