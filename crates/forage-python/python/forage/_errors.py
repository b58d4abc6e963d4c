"""Exceptions: one class for each error code, and their base class :class:`ForageError`."""

from __future__ import annotations

import json
from typing import Any

from . import _forage


class ForageError(Exception):
    """A call has no answer. Each code has its own subclass.

    Attributes:
        code: Stable code for programs.
        message: What is wrong, in one sentence.
        hint: The next step, unless the message names it.
        text: The text for a model that wrote the call.
        transcript: The transcript of a question that got no answer.
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


def _class(description: dict[str, str]) -> type[ForageError]:
    members = {"__doc__": description["description"], "__module__": "forage", "code": description["code"]}
    return type(description["name"], (ForageError,), members)


CLASSES = {description["code"]: _class(description) for description in json.loads(_forage.error_classes())}


def make(code: str, message: str, hint: str | None, text: str, transcript: str | None) -> ForageError:
    """Creates the exception for an error. The native module calls this."""
    error_class = CLASSES.get(code, ForageError)
    return error_class(message, hint, text, json.loads(transcript) if transcript else None)
