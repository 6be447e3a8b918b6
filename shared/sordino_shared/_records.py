"""`dataclass`, `field`, `replace` and `fields` as in the standard library, at a thirtieth of the time of import.

The standard library writes, compiles and runs the source of several methods for each class, and imports `inspect` to do
so: for the classes that a device loads that takes longer than all the rest. Here the methods are shared and look the
fields up. Everything else is the same: `frozen`, `eq`, `order`, `kw_only`, defaults, `KW_ONLY`, `__post_init__`, hash,
comparison, repr and `__match_args__`; type checkers see the standard library's own. `dataclasses.replace`, `asdict`,
`fields` and `is_dataclass` take these classes too, and a dataclass may derive from one: what they look at is made by
the standard library when they look.

Annotations are text (`from __future__ import annotations`). There is no `init=False`, `slots` or `InitVar`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import KW_ONLY, asdict, dataclass, field, fields, is_dataclass, replace
else:
    _NOTHING: Any = type("_Nothing", (), {"__repr__": lambda self: "nothing"})()

    class KW_ONLY:
        """`_: KW_ONLY`: the fields that follow are given by name."""

    class _Field:
        """A field: its default or the function that makes one, and whether repr shows it."""

        __slots__ = ("default", "default_factory", "kw_only", "name", "repr", "type")

        def __init__(self, default: Any, default_factory: Any, repr: bool, kw_only: bool | None) -> None:
            self.default, self.default_factory, self.repr, self.kw_only = default, default_factory, repr, kw_only
            self.name = self.type = ""

        @property
        def has_default(self) -> bool:
            """Whether a value may be left out."""
            return self.default is not _NOTHING or self.default_factory is not _NOTHING

        def make_default(self) -> Any:
            """The value of a field that is left out."""
            return self.default if self.default_factory is _NOTHING else self.default_factory()

    class _Form:
        """The fields of a class, in order, and how it was declared."""

        __slots__ = ("by_name", "frozen", "kind", "names", "options", "positional", "shown")

        def __init__(self, kind: type, found: dict[str, _Field], options: dict[str, bool]) -> None:
            self.kind, self.options, self.frozen = kind, options, options["frozen"]
            self.by_name = found
            self.names = tuple(found)
            self.positional = tuple(name for name, field in found.items() if not field.kw_only)
            self.shown = tuple(name for name, field in found.items() if field.repr)

        def twin(self) -> type:
            """A dataclass of the standard library with the same fields, for its functions to look at."""
            import dataclasses

            listed = []
            for each in self.by_name.values():
                given = {
                    name: value
                    for name in ("default", "default_factory")
                    if (value := getattr(each, name)) is not _NOTHING
                }
                made = dataclasses.field(**given, repr=each.repr, kw_only=bool(each.kw_only))
                listed.append((each.name, each.type, made))
            return dataclasses.make_dataclass(self.kind.__name__, listed, **self.options)

    class _FromTwin:
        """A class attribute that the standard library's functions read, made when it is read."""

        def __init__(self, find: Callable[[type], Any]) -> None:
            self._find = find
            self._found: Any = None

        def __get__(self, instance: object, kind: type) -> Any:
            if self._found is None:
                self._found = self._find(kind.__record__.twin())
            return self._found

    def dataclass(kind=None, /, *, frozen=False, eq=True, order=False, kw_only=False):
        """As `dataclasses.dataclass`."""

        def decorate(kind: type) -> type:
            return _decorated(kind, {"frozen": frozen, "eq": eq, "order": order, "kw_only": kw_only})

        return decorate if kind is None else decorate(kind)

    def field(*, default=_NOTHING, default_factory=_NOTHING, repr=True, kw_only=None):
        """As `dataclasses.field`."""
        return _Field(default, default_factory, repr, kw_only)

    def fields(kind):
        """The fields of a class or of a value in order, each with its name and default; of standard dataclasses too."""
        owner = kind if isinstance(kind, type) else type(kind)
        if (form := owner.__dict__.get("__record__")) is not None:
            return tuple(form.by_name.values())
        import dataclasses

        return dataclasses.fields(owner)

    def is_dataclass(value):
        """Whether a class or a value is one of these, or of the standard library's."""
        owner = value if isinstance(value, type) else type(value)
        return hasattr(owner, "__record__") or hasattr(owner, "__dataclass_fields__")

    def replace(value, /, **changes):
        """The same value with other fields."""
        return type(value)(**({field.name: getattr(value, field.name) for field in fields(value)} | changes))

    def asdict(value):
        """Fields by name; values that have fields themselves, and tuples of them, as well."""
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}

    def _plain(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(map(_plain, value))
        return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value

    def _decorated(kind: type, options: dict[str, bool]) -> type:
        found: dict[str, _Field] = {}
        for base in reversed(kind.__mro__[1:]):
            if (form := base.__dict__.get("__record__")) is not None:
                found |= form.by_name
        found |= _own_fields(kind, options["kw_only"])
        kind.__record__ = form = _Form(kind, found, options)
        required = [name for name in form.positional if not found[name].has_default]
        if tuple(required) != form.positional[: len(required)]:
            raise TypeError(f"{kind.__name__} has a field without a default after one with a default")
        kind.__init__ = _initialise
        kind.__repr__ = kind.__dict__.get("__repr__", _represent)
        kind.__match_args__ = form.positional
        kind.__replace__ = replace
        if options["eq"]:
            kind.__eq__ = kind.__dict__.get("__eq__", _equal)
            # The class body that has __eq__ has None here, which stands for no hash of its own.
            if kind.__dict__.get("__hash__") is None:
                kind.__hash__ = _hash if options["frozen"] else None
        if options["order"]:
            for name, compare in _COMPARISONS.items():
                setattr(kind, name, compare)
        if options["frozen"]:
            kind.__setattr__, kind.__delattr__ = _refuse_to_set, _refuse_to_delete
        kind.__dataclass_fields__ = _FromTwin(lambda twin: twin.__dataclass_fields__)
        kind.__dataclass_params__ = _FromTwin(lambda twin: twin.__dataclass_params__)
        kind.__signature__ = _FromTwin(_signature)
        return kind

    def _own_fields(kind: type, kw_only: bool) -> dict[str, _Field]:
        found: dict[str, _Field] = {}
        for name, annotation in kind.__annotations__.items():
            if annotation.startswith("ClassVar"):
                continue
            if annotation == "KW_ONLY":
                kw_only = True
                continue
            stated = kind.__dict__.get(name, _NOTHING)
            made = stated if isinstance(stated, _Field) else _Field(stated, _NOTHING, True, None)
            made.name, made.type = name, annotation
            made.kw_only = kw_only if made.kw_only is None else made.kw_only
            if made is stated:
                delattr(kind, name) if made.default is _NOTHING else setattr(kind, name, made.default)
            found[name] = made
        return found

    def _initialise(self, /, *positional, **named):
        form = self.__record__
        if len(positional) > len(form.positional):
            many = f"takes {len(form.positional)} positional arguments but {len(positional)} were given"
            raise TypeError(f"{form.kind.__name__}.__init__() {many}")
        # Not by attribute: a frozen value refuses that.
        values = self.__dict__
        values.update(zip(form.positional, positional, strict=False))
        for name, value in named.items():
            if name not in form.by_name:
                raise TypeError(f"{form.kind.__name__}.__init__() got an unexpected keyword argument {name!r}")
            if name in values:
                raise TypeError(f"{form.kind.__name__}.__init__() got multiple values for argument {name!r}")
            values[name] = value
        if len(values) < len(form.names):
            _add_defaults(form, values)
        if hasattr(self, "__post_init__"):
            self.__post_init__()

    def _add_defaults(form: _Form, values: dict[str, Any]) -> None:
        absent = [name for name, field in form.by_name.items() if name not in values]
        if required := [name for name in absent if not form.by_name[name].has_default]:
            names = ", ".join(map(repr, required))
            raise TypeError(f"{form.kind.__name__}.__init__() missing required arguments: {names}")
        for name in absent:
            values[name] = form.by_name[name].make_default()

    def _values(self) -> tuple[Any, ...]:
        return tuple(map(self.__dict__.__getitem__, self.__record__.names))

    def _represent(self):
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__record__.shown)
        return f"{type(self).__qualname__}({shown})"

    def _equal(self, other):
        return _values(self) == _values(other) if other.__class__ is self.__class__ else NotImplemented

    def _hash(self):
        return hash(_values(self))

    def _compared(operation: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
        def compare(self, other):
            return operation(_values(self), _values(other)) if other.__class__ is self.__class__ else NotImplemented

        return compare

    _ORDER = (operator.lt, operator.le, operator.gt, operator.ge)
    _COMPARISONS = {f"__{each.__name__}__": _compared(each) for each in _ORDER}

    def _refuse_to_set(self, name, value):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def _refuse_to_delete(self, name):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def _signature(twin: type) -> Any:
        import inspect

        return inspect.signature(twin)


__all__ = ["KW_ONLY", "asdict", "dataclass", "field", "fields", "is_dataclass", "replace"]
