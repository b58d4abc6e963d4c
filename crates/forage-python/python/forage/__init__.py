"""Search in code for agents and the programs around them.

>>> import forage
>>> with forage.Workspace(".", index=False) as workspace:
...     answer = workspace.grep("retry", path="src")
>>> answer.found
True
"""

import builtins as _builtins

from ._errors import CLASSES as _classes
from ._errors import ForageError
from ._forage import __version__
from ._records import Answer, Record
from ._workspace import SCHEMAS as _schemas
from ._workspace import Asked, AsyncEach, AsyncWorkspace, Each, Workspace

globals().update({of_code.__name__: of_code for of_code in _classes.values()})
globals().update(_schemas.classes)
globals().update(_schemas.words)

# Whoever imports all names keeps Python's own.
__all__ = [
    "Answer",
    "Asked",
    "AsyncEach",
    "AsyncWorkspace",
    "Each",
    "ForageError",
    "Record",
    "Workspace",
    "__version__",
    *(of_code.__name__ for of_code in _classes.values() if not hasattr(_builtins, of_code.__name__)),
    *_schemas.classes,
    *_schemas.words,
]
