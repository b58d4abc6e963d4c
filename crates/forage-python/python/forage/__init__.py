"""Search in code for agents and the programs around them.

>>> import forage
>>> with forage.Workspace(".", index=False) as workspace:
...     answer = workspace.grep("retry", path="src")
>>> [file.path for file in answer]
['src/main.py']
"""

from ._errors import CLASSES as _classes
from ._errors import ForageError
from ._forage import __version__
from ._records import Answer, Record
from ._settings import (
    AskEvent,
    AskingEvent,
    CallEndedEvent,
    CallStartedEvent,
    CollectionSettings,
    FailedEvent,
    FilterSettings,
    MadeRoomEvent,
    ModelSettings,
    SaidEvent,
    TelemetryEvent,
    TextEvent,
)
from ._workspace import SCHEMAS as _schemas
from ._workspace import Asked, AsyncEach, AsyncWorkspace, Each, Workspace

globals().update({error_class.__name__: error_class for error_class in _classes.values()})
globals().update(_schemas.classes)
globals().update(_schemas.words)

__all__ = [
    "Answer",
    "AskEvent",
    "Asked",
    "AskingEvent",
    "AsyncEach",
    "AsyncWorkspace",
    "CallEndedEvent",
    "CallStartedEvent",
    "CollectionSettings",
    "Each",
    "FailedEvent",
    "FilterSettings",
    "ForageError",
    "MadeRoomEvent",
    "ModelSettings",
    "Record",
    "SaidEvent",
    "TelemetryEvent",
    "TextEvent",
    "Workspace",
    "__version__",
    *(error_class.__name__ for error_class in _classes.values()),
    *_schemas.classes,
    *_schemas.words,
]
