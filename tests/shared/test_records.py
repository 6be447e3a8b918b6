"""Classes of devices are dataclasses in all but the time that they take: compared with the standard library's."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import pytest

from sordino_shared import _records
from sordino_shared._records import field
from sordino_shared.domains import Integers
from sordino_shared.guarantees import PureEpsilon


def _classes(decorate: Callable[..., Any], member: Callable[..., Any]) -> dict[str, Any]:
    """The same classes by either decorator."""

    @decorate(frozen=True)
    class Point:
        kind: ClassVar[str] = "point"
        x: int
        y: int = 2
        _: KW_ONLY
        name: str = member(default="p", repr=False)
        tags: list[str] = member(default_factory=list)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError(self.x)

    @decorate(frozen=True, kw_only=True)
    class Named(Point):
        z: int = 3

    @decorate(frozen=True, order=True)
    class Ordered:
        first: int
        second: str

    @decorate(frozen=True, eq=False)
    class Same:
        a: int

    @decorate
    class Mutable:
        a: int
        b: int = 0

    @decorate(frozen=True)
    class Spoken:
        a: int

        def __repr__(self) -> str:
            return "spoken"

        def __hash__(self) -> int:
            return 7

    return {each.__name__: each for each in (Point, Named, Ordered, Same, Mutable, Spoken)}


OURS = _classes(_records.dataclass, field)
THEIRS = _classes(dataclasses.dataclass, dataclasses.field)
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Point", (1,), {}),
    ("Point", (1, 5), {"name": "q", "tags": ["t"]}),
    ("Point", (), {"x": 1}),
    ("Point", (), {}),
    ("Point", (1, 2, 3), {}),
    ("Point", (1,), {"x": 1}),
    ("Point", (1,), {"other": 1}),
    ("Point", (-1,), {}),
    ("Named", (4,), {"z": 1}),
    ("Named", (4, 5, 6), {}),
    ("Ordered", (1, "a"), {}),
    ("Same", (1,), {}),
    ("Mutable", (1,), {}),
    ("Spoken", (1,), {}),
]


def outcome(call: Callable[[], Any]) -> object:
    """What a call returns, or the kind of error it raises."""
    try:
        return call()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize(("name", "given", "named"), CALLS)
def test_values_are_made_shown_and_hashed_alike(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    ours, theirs = (outcome(lambda: kinds[name](*given, **named)) for kinds in (OURS, THEIRS))  # noqa: B023
    if isinstance(theirs, type):
        assert ours is theirs
        return
    assert repr(ours).split("Same object")[0] == repr(theirs).split("Same object")[0]
    assert vars(ours) == vars(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs) == _records.asdict(ours)  # type: ignore[call-overload]
    hashes = outcome(lambda: hash(ours)), outcome(lambda: hash(theirs))
    assert name == "Same" or hashes[0] == hashes[1]
    assert (ours == copy.copy(ours)) == (theirs == copy.copy(theirs))
    assert ours != theirs


@pytest.mark.parametrize("name", OURS)
def test_classes_are_described_alike(name: str) -> None:
    ours, theirs = OURS[name], THEIRS[name]
    assert inspect.signature(ours) == inspect.signature(theirs)
    assert ours.__match_args__ == theirs.__match_args__
    for listed in (dataclasses.fields(ours), _records.fields(ours)):
        assert [each.name for each in listed] == [each.name for each in dataclasses.fields(theirs)]
    for kind in (ours, theirs):
        assert _records.is_dataclass(kind)
        assert dataclasses.is_dataclass(kind)
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)


@pytest.mark.parametrize("operation", ["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"])
def test_order_is_that_of_the_fields(operation: str) -> None:
    pairs = [((1, "a"), (1, "b")), ((2, "a"), (1, "b")), ((1, "a"), (1, "a"))]
    for first, second in pairs:
        ours, theirs = ((k["Ordered"](*first), k["Ordered"](*second)) for k in (OURS, THEIRS))
        assert getattr(ours[0], operation)(ours[1]) == getattr(theirs[0], operation)(theirs[1])
    assert getattr(OURS["Ordered"](1, "a"), operation)(3) is NotImplemented


def test_frozen_values_stay_as_they_are() -> None:
    for change in (lambda: setattr(PureEpsilon(1), "nano", 2), lambda: delattr(PureEpsilon(1), "nano")):
        with pytest.raises(dataclasses.FrozenInstanceError, match="nano"):
            change()
    mutable = OURS["Mutable"](1)
    mutable.a = 4
    assert mutable == OURS["Mutable"](4)


def test_values_are_replaced_matched_copied_and_pickled() -> None:
    value = Integers("age", 0, 120, unit="years")
    for replace in (dataclasses.replace, _records.replace):
        assert replace(value, high=90) == Integers("age", 0, 90, unit="years")
        with pytest.raises(ValueError):
            replace(value, high=-1)
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
    match PureEpsilon(5):
        case PureEpsilon(nano):
            assert nano == 5


def test_a_dataclass_may_derive_from_one() -> None:
    @dataclasses.dataclass(frozen=True)
    class Longer(PureEpsilon):
        extra: int = 0

    assert (Longer(3, 4).nano, Longer(3).extra) == (3, 0)
    assert [each.name for each in _records.fields(Longer)] == ["nano", "extra"]
    assert _records.replace(Longer(3, 4), nano=5) == Longer(5, 4)


def test_a_field_without_a_default_cannot_follow_one_with_a_default() -> None:
    with pytest.raises(TypeError, match="without a default"):
        _records.dataclass(type("Wrong", (), {"__annotations__": {"a": "int", "b": "int"}, "a": 1}))


def test_the_standard_library_is_imported_only_where_it_is_asked() -> None:
    code = (
        "import sys; from sordino_shared._records import dataclass, replace, fields\n"
        "A = dataclass(frozen=True)(type('A', (), {'__annotations__': {'x': 'int'}}))\n"
        "assert replace(A(1), x=2) == A(2) and hash(A(1)) and fields(A)[0].name == 'x'\n"
        "print('dataclasses' in sys.modules, 'inspect' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
