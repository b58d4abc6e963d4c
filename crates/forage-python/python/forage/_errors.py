"""Errors: one class for each code, so that each can be caught by itself, or all of them as :class:`ForageError`."""

from __future__ import annotations

import json
from typing import Any

from . import _forage


class ForageError(Exception):
    """A call has no answer.

    ``code`` is what programs know it by, ``hint`` what can be done about it beside what the message says, ``text`` what a model
    that wrote the call is told, and ``transcript`` what a question without an answer came to.
    """

    code = "failed"

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        text: str | None = None,
        transcript: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.text = str(self) if text is None else text
        self.transcript = transcript

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


def class_name(code: str) -> str:
    return "".join(part.capitalize() for part in code.split("_")) + "Error"


def _class(code: str, description: str) -> type[ForageError]:
    return type(class_name(code), (ForageError,), {"__doc__": description, "__module__": "forage", "code": code})


CLASSES = {code: _class(code, description) for code, description in _forage.error_codes()}


def make(code: str, message: str, hint: str | None, text: str, transcript: str | None) -> ForageError:
    """The exception of an error; the native part calls it."""
    of_code = CLASSES.get(code, ForageError)
    return of_code(message, hint, text, json.loads(transcript) if transcript else None)
