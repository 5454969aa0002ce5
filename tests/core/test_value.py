import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.value import Value


class Point(Value):
    x: int
    y: int = 0


class Place(Point):
    name: str = "here"


class Spot(Point, init=False):
    """Adds behaviour and no field."""


class Stone(Value):
    x: int
    y: int = 0


def test_a_value_takes_its_fields_by_place_or_by_name() -> None:
    assert Point(1) == Point(1, 0) == Point(x=1) == Point(y=0, x=1)
    assert (Point(1, 2).x, Point(1, 2).y) == (1, 2)
    assert Place(1, 2, "there").name == "there"
    assert Place(1) == Place(1, 0, "here")


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((), {}, "Point takes x, y; given () and {}"),
        ((), {"y": 1}, "Point takes x, y; given () and {'y': 1}"),
        ((1, 2, 3), {}, "Point takes x, y; given (1, 2, 3) and {}"),
        ((1,), {"x": 1}, "Point takes x, y; given (1,) and {'x': 1}"),
        ((1,), {"z": 1}, "Point takes x, y; given (1,) and {'z': 1}"),
    ],
    ids=repr,
)
def test_too_few_too_many_or_unknown_fields_are_refused(
    args: tuple[int, ...], named: dict[str, int], message: str
) -> None:
    with pytest.raises(TypeError) as caught:
        Point(*args, **named)
    assert str(caught.value) == message


def test_a_value_without_fields_takes_nothing() -> None:
    class Nothing(Value):
        pass

    assert Nothing() == Nothing()
    with pytest.raises(TypeError, match="Nothing takes nothing; given"):
        Nothing(1)


def test_a_value_cannot_be_changed() -> None:
    point = Point(1)
    with pytest.raises(AttributeError, match="Point is frozen: 'x' cannot be set"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="Point is frozen: 'x' cannot be deleted"):
        del point.x
    with pytest.raises(AttributeError, match="Point is frozen: 'z' cannot be set"):
        point.z = 2
    assert point == Point(1)


def test_values_are_equal_by_kind_and_content() -> None:
    assert Point(1) != Point(2)
    assert Point(1) != Stone(1)
    assert Point(1) != (1, 0)
    assert Point(1) == Spot(1) == Point(1)
    assert Point(1) != Place(1)
    assert hash(Point(1)) == hash(Spot(1)) != hash(Point(2))


def test_a_value_reads_as_it_is_written() -> None:
    assert repr(Place(1, name="there")) == "Place(x=1, y=0, name='there')"


def test_a_value_can_be_taken_apart() -> None:
    match Place(1, 2, "there"):
        case Place(x, y, name):
            assert (x, y, name) == (1, 2, "there")


def test_a_changed_value_is_a_new_one() -> None:
    place = Place(1, 2)
    assert place.replace(y=3, name="there") == Place(1, 3, "there")
    assert place == Place(1, 2)
    with pytest.raises(TypeError, match="Place takes x, y, name"):
        place.replace(z=1)


@given(x=st.integers(), y=st.integers())
def test_a_value_survives_pickling_and_copying(x: int, y: int) -> None:
    point = Place(x, y)
    again = pickle.loads(pickle.dumps(point))  # noqa: S301  our own bytes
    assert type(again) is Place
    assert again == copy.copy(point) == copy.deepcopy(point) == point


def test_a_value_has_room_for_its_fields_and_nothing_else() -> None:
    assert not hasattr(Place(1), "__dict__")
    assert Place.__fields__ == ("x", "y", "name")
