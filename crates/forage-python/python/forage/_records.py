"""Answers as objects. Each schema has a class with the fields as attributes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Optional, TypeVar

Read = Callable[[Any], Any]


class Record:
    """An object with the fields of a JSON object as attributes. An optional field that is absent is ``None``."""

    __slots__ = ("_fields",)

    #: The fields that every object of the class has.
    _required: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def to_dict(self) -> dict[str, Any]:
        """Returns the JSON object: what ``--json`` prints."""
        return self._fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.to_dict().items())
        return f"{type(self).__name__}({fields})"


class Answer(Record):
    """An answer: ``text`` for a model or a person, and the records of the tool as attributes.

    It is true if anything was found. The answers of methods are collections: ``len`` and iteration use the field with the results,
    such as ``files``.
    """

    __slots__ = ("_raw",)

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._fields: Any = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the records: what ``--json`` prints."""
        if self._fields is None:
            self._fields = json.loads(self._raw.records())
        fields: dict[str, Any] = self._fields
        return fields

    @property
    def text(self) -> str:
        """The answer as a model or a person reads it."""
        return str(self._raw.text)

    @property
    def found(self) -> bool:
        """Whether anything was found."""
        return bool(self._raw.found)

    def __bool__(self) -> bool:
        return self.found

    def __str__(self) -> str:
        return self.text


Base = TypeVar("Base", bound=Record)


class Schemas:
    """The classes of the schemas. Each class is created once."""

    def __init__(self) -> None:
        self.classes: dict[str, type[Record]] = {}
        self.words: dict[str, Any] = {}

    def record(self, name: str, schema: dict[str, Any], parts: dict[str, Any]) -> type[Record]:
        """Returns the class with this name. Creates it first if necessary."""
        return self.classes.get(name) or self._create(Record, name, schema, parts)

    def answer(self, name: str, schema: dict[str, Any], items: str) -> type[Answer]:
        """Returns the class of a tool's answers, which are collections of the field ``items``."""
        created = self._create(Answer, name, schema, schema["$defs"])
        if items:
            setattr(created, "__iter__", lambda self: iter(getattr(self, items)))
            setattr(created, "__len__", lambda self: len(self.to_dict()[items]))
        return created

    def _create(self, base: type[Base], name: str, schema: dict[str, Any], parts: dict[str, Any]) -> type[Base]:
        doc = schema.get("description", "")
        required = frozenset(schema.get("required", ()))
        members: dict[str, Any] = {"__doc__": doc, "__slots__": (), "__module__": "forage", "_required": required}
        created: type[Base] = type(name, (base,), members)
        self.classes[name] = created
        # The class must be registered before, because its fields can refer to it. Attributes of the base class take precedence.
        for field, field_schema in schema["properties"].items():
            if not hasattr(base, field):
                setattr(created, field, _field(field, self._read(field_schema, parts), field_schema.get("description", "")))
        return created

    def _read(self, schema: dict[str, Any], parts: dict[str, Any]) -> Optional[Read]:
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            part = parts.get(name, {})
            if "properties" in part:
                return self.record(name, part, parts)
            words = tuple(word["const"] for word in part.get("oneOf", ()) if "const" in word)
            if words:
                self.words[name] = Literal[words]
            return None
        if schema.get("type") == "array":
            read = self._read(schema.get("items", {}), parts)
            return None if read is None else lambda values: [read(value) for value in values]
        if "anyOf" in schema:
            classes = [read for read in (self._read(one, parts) for one in schema["anyOf"]) if read is not None]
            return None if not classes else lambda value: _first_match(classes, value)(value)
        return None


def _field(name: str, read: Optional[Read], description: str) -> property:
    """Creates the property of a field."""

    def get(self: Record) -> Any:
        value = self.to_dict().get(name)
        return value if value is None or read is None else read(value)

    return property(get, doc=description)


def _first_match(classes: list[Any], value: Any) -> Any:
    matches = (it for it in classes if not isinstance(it, type) or it._required <= value.keys())  # type: ignore[attr-defined,unused-ignore]
    return next(matches, classes[0])

