# Written by `cargo xtask generate`; don't edit.
import builtins
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar

from ._settings import (
    AskEvent as AskEvent,
    AskingEvent as AskingEvent,
    CallEndedEvent as CallEndedEvent,
    CallStartedEvent as CallStartedEvent,
    CollectionSettings as CollectionSettings,
    FailedEvent as FailedEvent,
    FilterSettings as FilterSettings,
    MadeRoomEvent as MadeRoomEvent,
    ModelSettings as ModelSettings,
    SaidEvent as SaidEvent,
    TelemetryEvent as TelemetryEvent,
    TextEvent as TextEvent,
)

__version__: str
__all__ = [
    "__version__",
    "Answer",
    "ArgumentError",
    "AskEvent",
    "Asked",
    "AskingEvent",
    "AsyncEach",
    "AsyncWorkspace",
    "BadNameError",
    "CallEndedEvent",
    "CallStartedEvent",
    "CallVerdict",
    "CancelledError",
    "ChangedDefinition",
    "ChangedFile",
    "ChangedLine",
    "CollectionError",
    "CollectionSettings",
    "CompanionFile",
    "CutDefinition",
    "Each",
    "EarlierLines",
    "EngineError",
    "ErrorCode",
    "FailedError",
    "FailedEvent",
    "FilesLeftOut",
    "FilterSettings",
    "ForageError",
    "FoundChange",
    "FoundCommit",
    "FromCache",
    "GrepAnswer",
    "GrepAnswerOfRoot",
    "GrepDefinition",
    "GrepDirectory",
    "GrepFile",
    "GrepImpact",
    "GrepLine",
    "GrepReceiver",
    "GrepWithin",
    "Has",
    "HistoryAnswer",
    "HistoryAnswerOfRoot",
    "ImpactDefinition",
    "ImpactEdge",
    "ImpactFile",
    "ImpactTests",
    "InternalError",
    "KeywordFile",
    "KeywordLine",
    "KeywordSearchAnswer",
    "KeywordSearchAnswerOfRoot",
    "Limit",
    "LineRange",
    "ListAnswer",
    "ListAnswerOfRoot",
    "ListChanges",
    "ListEntry",
    "ListMap",
    "LookupAnswer",
    "LookupAnswerOfRoot",
    "LookupHit",
    "LookupLine",
    "LookupName",
    "LookupStatus",
    "LookupWithoutFilter",
    "MadeRoomEvent",
    "MappedDefinition",
    "MappedDirectory",
    "MappedFile",
    "ModelRecord",
    "ModelSettings",
    "ModelsFailedError",
    "NoAnswerError",
    "NoEngineError",
    "NoModelError",
    "OutlineEntry",
    "PathError",
    "PatternError",
    "Presence",
    "RankAnswer",
    "RankAnswerOfRoot",
    "RankedChunk",
    "RankedCode",
    "RankedFile",
    "RankedLine",
    "RankedReason",
    "RateLimitedError",
    "ReadAnswer",
    "ReadAnswerOfRoot",
    "ReadPart",
    "Record",
    "RequestError",
    "SaidEvent",
    "SameNameError",
    "SearchAnswer",
    "SearchAnswerOfRoot",
    "SearchData",
    "SearchIndexError",
    "SearchRecord",
    "SearchText",
    "SimilarCode",
    "Submatch",
    "TelemetryEvent",
    "TermRecord",
    "TextEvent",
    "TooBroadError",
    "UnfinishedError",
    "UnknownToolError",
    "UnreadRoot",
    "UnshownDefinition",
    "UsageError",
    "Workspace",
]

class ForageError(Exception):
    """A call has no answer. Each code has its own subclass."""
    code: str
    message: str
    hint: str | None
    text: str
    transcript: dict[str, Any] | None
    def __init__(self, message: str, hint: str | None = None, text: str | None = None, transcript: dict[str, Any] | None = None) -> None: ...

class Record:
    """An object with the fields of a JSON object as attributes. An optional field that is absent is `None`."""
    def __init__(self, fields: dict[str, Any]) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def to_dict(self) -> dict[str, Any]:
        """Returns the JSON object: what `--json` prints."""

class Answer(Record):
    """An answer: `text` for a model or a person, and the records of the tool as attributes. True if anything was found."""
    def __init__(self, raw: Any) -> None: ...
    def __bool__(self) -> bool: ...
    @property
    def text(self) -> str:
        """The answer as a model or a person reads it."""
    @property
    def found(self) -> bool:
        """Whether anything was found."""

class Asked(Answer):
    """The answer to a question; `to_dict()` returns the transcript."""
    @property
    def answer(self) -> str:
        """The answer of the model."""

_Piece = TypeVar("_Piece", bound=Record, covariant=True)
_Answer = TypeVar("_Answer", bound=Answer, covariant=True)

class Each(Iterator[_Piece], Generic[_Piece, _Answer]):
    """The results of a search that runs while they are read. `answer` has the counts once all have been read."""
    @property
    def answer(self) -> _Answer | None: ...
    def __init__(self, pieces: Any, piece: type[Record], answer: type[Answer]) -> None: ...
    def __iter__(self) -> Each[_Piece, _Answer]: ...
    def __next__(self) -> _Piece: ...
    def __enter__(self) -> Each[_Piece, _Answer]: ...
    def __exit__(self, *_: object) -> None: ...
    def close(self) -> None:
        """Ends the search."""

class AsyncEach(AsyncIterator[_Piece], Generic[_Piece, _Answer]):
    """The results of a search for `async for`."""
    def __init__(self, pieces: Any, piece: type[Record], answer: type[Answer]) -> None: ...
    @property
    def answer(self) -> _Answer | None: ...
    def __aiter__(self) -> AsyncEach[_Piece, _Answer]: ...
    async def __anext__(self) -> _Piece: ...
    async def __aenter__(self) -> AsyncEach[_Piece, _Answer]: ...
    async def __aexit__(self, *_: object) -> None: ...
    def close(self) -> None:
        """Ends the search."""

class UsageError(ForageError):
    """The command line is not valid. See `forage help COMMAND`."""

class RequestError(ForageError):
    """The request of a tool is not a JSON object with the right fields. The message names the field."""

class ArgumentError(ForageError):
    """The value of an argument is not valid, for example a malformed glob. The message names the argument and the values that it accepts."""

class PatternError(ForageError):
    """A pattern is not valid. Fix it at the position in the message, or search for plain text."""

class PathError(ForageError):
    """A path does not exist, can't be read, or is outside of the roots. The message suggests similar paths."""

class UnknownToolError(ForageError):
    """There is no tool with this name. The message lists the tools."""

class BadNameError(ForageError):
    """The configuration gives a tool a name that clients do not accept. Change the setting in the message."""

class SameNameError(ForageError):
    """The configuration gives two tools the same name. Change one of the settings in the message, or turn a tool off."""

class TooBroadError(ForageError):
    """Every term of a keyword search matches too much. Use longer, more specific terms."""

class NoModelError(ForageError):
    """No model is available. Set a key, run a local model, or filter without one; the message lists the settings that were checked."""

class ModelsFailedError(ForageError):
    """All requested models failed. The message has the errors; try again later, or use another model."""

class NoEngineError(ForageError):
    """None of the configured external engines can run. Install ugrep or ripgrep, or use the embedded engine."""

class EngineError(ForageError):
    """An external engine failed. The message has its output; the embedded engine needs no other program."""

class SearchIndexError(ForageError):
    """The ranked index can't be used. Search lines, or rebuild the index."""

class CollectionError(ForageError):
    """The collection does not exist or is incompatible, or its store does not answer. See the message."""

class UnfinishedError(ForageError):
    """The call ended before it found anything, for example at its time limit. There may be matches: allow more time, or search a smaller directory."""

class NoAnswerError(ForageError):
    """The model returned no answer, or refused. Rephrase the question, or use another model."""

class CancelledError(ForageError):
    """The call was interrupted. The answer has the results so far."""

class RateLimitedError(ForageError):
    """A token of a team's server has reached its limit of calls. The message says when you should call again."""

class InternalError(ForageError):
    """A bug in Forage. Please report it."""

class FailedError(ForageError):
    """Any other error, such as an invalid configuration. See the message."""

class CallVerdict(Record):
    """The result of a check of the files that a search excludes by default."""
    @property
    def hidden_matches(self) -> builtins.list[str]:
        """A sentence for each rule that hides matches."""
    @property
    def complete(self) -> bool:
        """True if all such files were searched. Without hidden matches, the pattern is then in no text file below the start, except in those that may hold secrets. False if the search found something or did not finish."""
    @property
    def other_readings(self) -> builtins.list[str] | None:
        """A sentence for each variant of the pattern that matches: another case or spelling, plain text, one edit."""
    @property
    def ranked_first(self) -> builtins.list[str] | None:
        """The best files of the ranking for the words of the pattern."""
    @property
    def in_dependencies(self) -> builtins.list[str] | None:
        """Places in dependencies that define the name in the pattern."""
    @property
    def unread(self) -> dict[str, int] | None:
        """Files that were not read, by reason."""

class ChangedDefinition(Record):
    """A definition that was added, changed or removed."""
    @property
    def change(self) -> str:
        """`added`, `changed` or `removed`."""
    @property
    def kind(self) -> str:
        """The keyword of its kind, such as `struct`."""
    @property
    def symbol(self) -> str:
        """Its name, after those of the definitions around it."""
    @property
    def start_line(self) -> int:
        """Its first line, counted from 1; for a removed definition, in the file before the change."""
    @property
    def end_line(self) -> int:
        """Its last line."""

class ChangedFile(Record):
    """A changed file."""
    @property
    def change(self) -> str:
        """`added`, `modified`, `type changed`, `deleted`, `renamed`, `untracked` or `conflicted`."""
    @property
    def path(self) -> str:
        """Path below the root; for a renamed file, the new path."""
    @property
    def path_bytes(self) -> str | None:
        """The bytes of the path in base64, if `path` is quoted."""
    @property
    def old_path(self) -> str | None:
        """The previous path of a renamed file."""
    @property
    def similarity(self) -> int | None:
        """The share of a renamed file that is the same, in percent."""
    @property
    def definitions(self) -> builtins.list[ChangedDefinition] | None:
        """Its definitions that were added, changed or removed, in the order of their lines."""

class ChangedLine(Record):
    """A line that a commit added or removed."""
    @property
    def change(self) -> str:
        """`added` or `removed`."""
    @property
    def line_number(self) -> int:
        """From 1, in the new version if it was added, otherwise in the old one."""
    @property
    def text(self) -> str:
        """The line, cut if it is long; U+FFFD replaces bytes that are not UTF-8."""

class CompanionFile(Record):
    """A file that usually changes with one that has changed."""
    @property
    def path(self) -> str:
        """Below the root."""
    @property
    def changed_file(self) -> str:
        """The changed file that it goes with."""
    @property
    def both(self) -> int:
        """Commits that changed both."""
    @property
    def commits(self) -> int:
        """Commits that changed `changed_file`."""

class CutDefinition(Record):
    """A definition whose end is not shown."""
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def end_line(self) -> int:
        """Its last line, from 1."""

class EarlierLines(Record):
    """Lines that an earlier answer has shown."""
    @property
    def start_line(self) -> int:
        """The first line, counted from 1."""
    @property
    def end_line(self) -> int:
        """The last line."""

class FilesLeftOut(Record):
    """Files of a kind that an answer excludes."""
    @property
    def kind(self) -> str:
        """`test`, `translation`, `lock file` or `generated file`."""
    @property
    def files(self) -> int:
        """Number of these files."""

class FoundChange(Record):
    """A changed file of a commit."""
    @property
    def change(self) -> str:
        """`added`, `modified`, `deleted`, `renamed` or `type changed`."""
    @property
    def path(self) -> str:
        """Below the root, after the change."""
    @property
    def old_path(self) -> str | None:
        """The path that a renamed file had, or the file from which the definition was moved."""
    @property
    def removed(self) -> int:
        """Number of matching lines that were removed."""
    @property
    def added(self) -> int:
        """Number of matching lines that were added."""
    @property
    def lines(self) -> builtins.list[ChangedLine] | None:
        """The first of these lines."""

class FoundCommit(Record):
    """A commit."""
    @property
    def id(self) -> str:
        """The whole id."""
    @property
    def date(self) -> str:
        """The date of the commit, in UTC."""
    @property
    def subject(self) -> str:
        """The first line of the message, without addresses of people."""
    @property
    def reason(self) -> str | None:
        """Why it is a suspect."""
    @property
    def continued(self) -> bool | None:
        """True if the previous page has the first files or lines of this commit."""
    @property
    def files(self) -> builtins.list[FoundChange]:
        """The changed files that count, in path order."""
    @property
    def files_more(self) -> int | None:
        """Number of such files that are not in `files`."""

class FromCache(Record):
    """Answers from the cache."""
    @property
    def answers(self) -> int:
        """Number of cached answers."""
    @property
    def age_seconds(self) -> int:
        """Age of the oldest."""

class GrepDefinition(Record):
    """A definition of the name, or of a type that implements or extends it."""
    @property
    def path(self) -> str:
        """Its file, below the root."""
    @property
    def path_bytes(self) -> str | None:
        """The bytes of the path in base64, if `path` is quoted."""
    @property
    def kind(self) -> str:
        """The keyword of the language, such as `struct`, or a general word, such as `function`."""
    @property
    def start_line(self) -> int:
        """The first line of the comments and attributes above it, from 1."""
    @property
    def line(self) -> int:
        """The line with the name."""
    @property
    def end_line(self) -> int:
        """The last line of its body."""
    @property
    def symbol(self) -> str | None:
        """The type that implements or extends the name, or the definition around an anonymous type."""
    @property
    def within(self) -> str | None:
        """The definitions around a definition of the name, outermost first: `Queue > push`."""
    @property
    def text(self) -> str:
        """The line with the name, trimmed and cut."""

class GrepDirectory(Record):
    """Matches in a top-level directory, or at the top itself."""
    @property
    def path(self) -> str:
        """Below the root."""
    @property
    def match_count(self) -> int:
        """Matching lines below it."""
    @property
    def file_count(self) -> int:
        """Files with matching lines below it."""

class GrepFile(Record):
    """A file with matching lines."""
    @property
    def path(self) -> str:
        """Its path below the root."""
    @property
    def path_bytes(self) -> str | None:
        """The bytes of the path in base64, if `path` is quoted."""
    @property
    def match_count(self) -> int:
        """Number of matching lines shown; for `output: "files"`, of all matching lines."""
    @property
    def lines(self) -> builtins.list[GrepLine] | None:
        """Matching lines and their context, in order."""

class GrepImpact(Record):
    """The impact of a definition or of a change."""
    @property
    def definitions(self) -> builtins.list[ImpactDefinition]:
        """The definitions that the impact starts from."""
    @property
    def edges(self) -> builtins.list[ImpactEdge]:
        """The definitions that use these, then those that use the former."""
    @property
    def edge_counts(self) -> builtins.list[int]:
        """Number of all edges of each step, shown or not."""
    @property
    def name_only(self) -> builtins.list[ImpactFile] | None:
        """Lines with a name of `definitions` that may mean another definition."""
    @property
    def name_only_counts(self) -> builtins.list[int]:
        """Number of all such lines of each step."""
    @property
    def only_imported(self) -> builtins.list[str] | None:
        """Files that import a name of `definitions` and do not use it otherwise."""
    @property
    def tests(self) -> builtins.list[ImpactTests]:
        """The tests among the edges, and those that the change contains."""
    @property
    def not_followed(self) -> builtins.list[str] | None:
        """Definitions of the first step whose uses were not followed."""

class GrepLine(Record):
    """A line of a file."""
    @property
    def line_number(self) -> int:
        """From 1."""
    @property
    def type(self) -> str:
        """`match` or `context`."""
    @property
    def text(self) -> str:
        """The line without its line feed; U+FFFD replaces bytes that are not UTF-8."""
    @property
    def bytes(self) -> str | None:
        """The bytes of the line in base64, if `text` differs from them."""
    @property
    def spans(self) -> builtins.list[builtins.list[int]] | None:
        """Byte ranges of the matches in `bytes`, or in `text` if that is absent."""
    @property
    def cut_before(self) -> int | None:
        """Bytes that were cut before `text`."""
    @property
    def cut_after(self) -> int | None:
        """Bytes that were cut after `text`."""
    @property
    def mention(self) -> str | None:
        """With uses, the use of the name: `definition`, `implementation`, `call`, `type`, `import`, `code`, `string` or `comment`."""
    @property
    def receiver(self) -> str | None:
        """`unknown` if this may be a use of the qualified name or not."""
    @property
    def within(self) -> GrepWithin | None:
        """With uses, the innermost definition around the line."""

class GrepReceiver(Record):
    """Lines that a qualified name excludes, because the name belongs to another type or module there."""
    @property
    def name(self) -> str:
        """The other type or module."""
    @property
    def line_count(self) -> int:
        """Lines of the page's files."""

class GrepWithin(Record):
    """The innermost definition around a line."""
    @property
    def symbol(self) -> str:
        """Its name, after those of the definitions around it."""
    @property
    def start_line(self) -> int:
        """Its first line, from 1."""
    @property
    def end_line(self) -> int:
        """Its last line."""

class ImpactDefinition(Record):
    """A definition that the impact starts from."""
    @property
    def path(self) -> str:
        """Its file, below the root."""
    @property
    def kind(self) -> str:
        """The keyword of the language, such as `struct`."""
    @property
    def symbol(self) -> str:
        """Its name, after those of the definitions around it."""
    @property
    def start_line(self) -> int:
        """The first line of its comments and attributes, from 1."""
    @property
    def end_line(self) -> int:
        """Its last line."""
    @property
    def change(self) -> str | None:
        """With a change: `added`, `changed` or `removed`."""

class ImpactEdge(Record):
    """A definition that uses another one."""
    @property
    def step(self) -> int:
        """1 if it uses one of `definitions`, 2 if it uses one that does."""
    @property
    def path(self) -> str:
        """Its file, below the root."""
    @property
    def lines(self) -> builtins.list[int]:
        """Lines of the uses, from 1."""
    @property
    def within(self) -> GrepWithin | None:
        """The innermost definition around these lines; none for code outside of definitions."""
    @property
    def kind(self) -> str | None:
        """Its keyword, such as `fn`."""
    @property
    def reason(self) -> str:
        """Why we believe that the lines use this definition: `same file`, `same package`, `import seen`, `type seen` or `only definition`."""
    @property
    def used(self) -> str:
        """The used definition."""
    @property
    def used_path(self) -> str:
        """Its file."""
    @property
    def used_line(self) -> int:
        """The first line of its comments and attributes."""
    @property
    def is_test(self) -> bool:
        """True if it is in test code."""

class ImpactFile(Record):
    """Lines of a file."""
    @property
    def path(self) -> str:
        """Its path below the root."""
    @property
    def lines(self) -> builtins.list[int]:
        """From 1."""

class ImpactTests(Record):
    """Tests of a file."""
    @property
    def path(self) -> str:
        """Its path below the root."""
    @property
    def names(self) -> builtins.list[str]:
        """The tests, as their runner takes them: `path::name` for pytest, a path of modules for Rust. Empty if the whole file is to run."""

class KeywordFile(Record):
    """A file of the answer."""
    @property
    def path(self) -> str:
        """The absolute path of the file."""
    @property
    def path_bytes(self) -> str | None:
        """The bytes of the path in base64, if `path` is quoted."""
    @property
    def explanation(self) -> str:
        """The reason, in the words of the model or of the ranking."""
    @property
    def grade(self) -> int | None:
        """Relevance according to the model, 1 to 3; only from answers by ids."""
    @property
    def ranges(self) -> builtins.list[LineRange] | None:
        """Lines that the model names; only from answers by ids."""
    @property
    def not_filtered(self) -> bool | None:
        """No model has judged this file, unlike other files in the same answer."""
    @property
    def is_ranked(self) -> bool | None:
        """Only the ranking selected this file, and no term."""
    @property
    def match_lines(self) -> builtins.list[int]:
        """Numbers of the lines that match a term; for a file from the ranking, of its best lines."""
    @property
    def more_match_lines(self) -> int | None:
        """Minimum number of further matching lines."""
    @property
    def evidence(self) -> builtins.list[KeywordLine] | None:
        """The best lines, if there is no explanation of a model."""

class KeywordLine(Record):
    """A line of a file."""
    @property
    def line_number(self) -> int:
        """From 1."""
    @property
    def text(self) -> str:
        """The line without indentation; a long line is cut around its first match."""

class LineRange(Record):
    """Lines that a model names."""
    @property
    def first(self) -> int:
        """From 1."""
    @property
    def last(self) -> int:
        """The last line of them."""
    @property
    def shown(self) -> bool:
        """True if the model has seen these lines."""

class ListChanges(Record):
    """The files in which two states of a project differ."""
    @property
    def range(self) -> str:
        """The range as the caller wrote it."""
    @property
    def files(self) -> builtins.list[ChangedFile]:
        """In the order of their paths, untracked files last."""
    @property
    def companions(self) -> builtins.list[CompanionFile] | None:
        """Files that usually change with these and have not changed."""

class ListEntry(Record):
    """A name in a directory."""
    @property
    def path(self) -> str:
        """Below the root."""
    @property
    def path_bytes(self) -> str | None:
        """The bytes of the path in base64, if `path` is quoted."""
    @property
    def type(self) -> str:
        """`directory`, `file` or `symlink`."""
    @property
    def lines(self) -> int | None:
        """Number of lines, for a text file."""
    @property
    def symbols(self) -> builtins.list[str] | None:
        """Top-level names that the file defines, in line order; if requested."""
    @property
    def symbols_more(self) -> int | None:
        """Number of further names that are not in `symbols`."""
    @property
    def note(self) -> str | None:
        """Why there is no line count."""
    @property
    def target(self) -> str | None:
        """Target of a link, as stored."""

class ListMap(Record):
    """A map of a directory."""
    @property
    def tokens(self) -> int:
        """The tokens that the text may take."""
    @property
    def files(self) -> int:
        """Source files that the map is about."""
    @property
    def other_files(self) -> int:
        """Tests, examples, documentation, data, generated and third-party files, which the map leaves out."""
    @property
    def directory_count(self) -> int:
        """Directories that contain such source files themselves, named or not."""
    @property
    def directories(self) -> builtins.list[MappedDirectory]:
        """The named directories in path order, beginning with the listed one."""

class LookupHit(Record):
    """A chunk of the collection."""
    @property
    def id(self) -> str:
        """Id of its point."""
    @property
    def score(self) -> float:
        """Comparable within one answer."""
    @property
    def has(self) -> Has | None:
        """If the query is a name: the kind of match."""
    @property
    def payload(self) -> dict[str, Any]:
        """The payload fields of the configuration; texts are cut to 4,000 bytes, except in Python and Node."""
    @property
    def lines(self) -> builtins.list[LookupLine]:
        """The lines of the text with the most words."""

class LookupLine(Record):
    """A line of a chunk."""
    @property
    def line_number(self) -> int | None:
        """Present if the chunk has line numbers."""
    @property
    def text(self) -> str:
        """The line."""

class LookupName(Record):
    """The result for a name."""
    @property
    def name(self) -> str:
        """The name, as in the query."""
    @property
    def presence(self) -> Presence:
        """Whether the name occurs in the filtered collection."""
    @property
    def whole(self) -> int:
        """Compared chunks that contain it exactly."""
    @property
    def other_case(self) -> int:
        """Chunks that contain it only in another case."""
    @property
    def compared(self) -> int:
        """Compared chunks."""
    @property
    def without_text(self) -> int:
        """Chunks without a text to compare."""
    @property
    def complete(self) -> bool:
        """True if all chunks that can contain it were compared."""
    @property
    def without_filter(self) -> int | None:
        """If no chunk with this filter contains it: the number of chunks that contain it without the filter, in any case."""

class LookupWithoutFilter(Record):
    """The result without the filter."""
    @property
    def chunks(self) -> int:
        """Chunks that contain any of the words."""
    @property
    def at_least(self) -> bool:
        """The number is a lower bound."""
    @property
    def under_filter(self) -> int:
        """Chunks that pass the filter, with any words."""

class MappedDefinition(Record):
    """A definition of a map."""
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def kind(self) -> str:
        """Its kind, such as `struct`."""
    @property
    def line(self) -> int:
        """Its line."""
    @property
    def used_by(self) -> int:
        """Number of files that contain the name and do not define it."""

class MappedDirectory(Record):
    """A directory of a map."""
    @property
    def path(self) -> str:
        """Below the root."""
    @property
    def path_bytes(self) -> str | None:
        """The bytes of the path in base64, if `path` is quoted."""
    @property
    def file_count(self) -> int:
        """Source files in it, at any depth."""
    @property
    def files(self) -> builtins.list[MappedFile] | None:
        """The files of this directory with named definitions."""

class MappedFile(Record):
    """A file of a map."""
    @property
    def path(self) -> str:
        """Below the root."""
    @property
    def path_bytes(self) -> str | None:
        """The bytes of the path in base64, if `path` is quoted."""
    @property
    def definitions(self) -> builtins.list[MappedDefinition]:
        """Its most used definitions, in line order. A file without any is one in which a program starts."""

class ModelRecord(Record):
    """The requests to models."""
    @property
    def name(self) -> str:
        """`provider/model` of the first request."""
    @property
    def input_tokens(self) -> int | None:
        """Tokens of the requests, if all providers report them."""
    @property
    def cached_input_tokens(self) -> int | None:
        """Tokens that the provider read from its cache."""
    @property
    def output_tokens(self) -> int | None:
        """Tokens of the answers."""
    @property
    def cost_usd(self) -> float | None:
        """Cost in US dollars, if all tokens and prices are known."""
    @property
    def elapsed_ms(self) -> int:
        """Time until all had answered."""
    @property
    def shards(self) -> int | None:
        """Number of requests, if the evidence was split."""
    @property
    def from_cache(self) -> FromCache | None:
        """Answers from the cache, which cost nothing."""
    @property
    def redacted(self) -> int:
        """Secrets that were removed from the requests."""
    @property
    def dropped_paths(self) -> int:
        """Entries of the answer that name files which were not sent."""

class OutlineEntry(Record):
    """A definition of the outline."""
    @property
    def name(self) -> str:
        """The name, without its qualifiers."""
    @property
    def kind(self) -> str:
        """The keyword of the language, such as `struct` or `def`, or a general word, such as `function`, if `by_line`."""
    @property
    def start_line(self) -> int:
        """The first line of the comments and attributes above it, from 1."""
    @property
    def line(self) -> int:
        """The line with the name."""
    @property
    def end_line(self) -> int:
        """The last line of its body."""
    @property
    def depth(self) -> int:
        """Number of definitions around it."""
    @property
    def text(self) -> str:
        """The line with the name, without indentation, cut."""

class RankedChunk(Record):
    """Lines of one definition, or of a part of a file outside of definitions."""
    @property
    def start_line(self) -> int:
        """The first line, counted from 1."""
    @property
    def end_line(self) -> int:
        """The last line."""
    @property
    def symbol(self) -> str | None:
        """The innermost definition, preceded by those around it (`A > b`)."""
    @property
    def kind(self) -> str | None:
        """Its kind, such as `struct`."""
    @property
    def lines(self) -> builtins.list[RankedLine]:
        """Lines that match the most of the query, in order."""

class RankedCode(Record):
    """Consecutive lines of a file."""
    @property
    def start_line(self) -> int:
        """The first line, counted from 1."""
    @property
    def end_line(self) -> int:
        """The last line."""
    @property
    def within(self) -> str | None:
        """The definitions around the first line that begin before it, outermost first: `Queue > push`."""
    @property
    def within_end_line(self) -> int | None:
        """The last line of the innermost of these, if the shown lines continue after it."""
    @property
    def cut(self) -> CutDefinition | None:
        """The function in which the shown lines end, if its end is not shown."""
    @property
    def comment_lines(self) -> int | None:
        """Omitted lines of a long comment directly before the first line."""
    @property
    def lines(self) -> builtins.list[str]:
        """The lines without line ends. U+FFFD replaces bytes that are not UTF-8; characters that hide or reorder text are escaped."""

class RankedFile(Record):
    """A ranked file."""
    @property
    def path(self) -> str:
        """The path, below the root."""
    @property
    def path_bytes(self) -> str | None:
        """The bytes of the path in base64, if `path` is quoted."""
    @property
    def score(self) -> float:
        """Comparable within one answer."""
    @property
    def chunks(self) -> builtins.list[RankedChunk]:
        """Best first. In an answer with code, files without shown code have one part of one line."""
    @property
    def reason(self) -> str | None:
        """In an answer with code, for files without shown code: the strongest rule."""
    @property
    def code(self) -> builtins.list[RankedCode] | None:
        """Lines that help most, in order, in an answer with code."""
    @property
    def shown_earlier(self) -> builtins.list[EarlierLines] | None:
        """Unchanged lines that an earlier answer has shown."""
    @property
    def unshown(self) -> builtins.list[UnshownDefinition] | None:
        """Definitions without shown lines, in the first files with code, the most likely ones first."""
    @property
    def unshown_more(self) -> int | None:
        """Number of further definitions that are not in `unshown`."""
    @property
    def siblings(self) -> builtins.list[str] | None:
        """Files that match less and whose paths only differ by the name of a platform or backend."""
    @property
    def reasons(self) -> builtins.list[RankedReason] | None:
        """The points of each rule, strongest first; with `explain`."""

class RankedLine(Record):
    """A line of a part."""
    @property
    def line_number(self) -> int:
        """From 1."""
    @property
    def text(self) -> str:
        """The line without indentation; a long line is cut around the match."""

class RankedReason(Record):
    """The points of a rule."""
    @property
    def rule(self) -> str:
        """The name of the rule."""
    @property
    def gives(self) -> float:
        """Points added; if negative, the fraction by which the score is reduced."""
    @property
    def about(self) -> str:
        """The evidence of the rule."""

class ReadPart(Record):
    """A further requested definition."""
    @property
    def start_line(self) -> int:
        """The first line of `lines`, from 1."""
    @property
    def end_line(self) -> int:
        """The last line shown."""
    @property
    def lines(self) -> builtins.list[str]:
        """As in [`ReadResponse::lines`]."""

class SearchData(Record):
    """Like `data` of `rg --json`."""
    @property
    def path(self) -> SearchText:
        """The file, below the root."""
    @property
    def line_number(self) -> int:
        """From 1."""
    @property
    def lines(self) -> SearchText:
        """The line without its line feed."""
    @property
    def submatches(self) -> builtins.list[Submatch] | None:
        """Byte ranges of the matches in the line."""
    @property
    def distance(self) -> int | None:
        """Edits of the best match in the line; fuzzy searches only."""
    @property
    def cut_before(self) -> int | None:
        """Number of bytes cut from the start of the line."""
    @property
    def cut_after(self) -> int | None:
        """Bytes that were cut after the line."""

class SearchRecord(Record):
    """A matching line, or a context line."""
    @property
    def type(self) -> str:
        """`match` or `context`."""
    @property
    def data(self) -> SearchData:
        """The line."""

class SearchText(Record):
    """A text that may not be UTF-8."""
    @property
    def text(self) -> str:
        """As UTF-8."""
    @property
    def bytes(self) -> str | None:
        """The bytes in base64, if `text` differs from them."""

class SimilarCode(Record):
    """A definition that is similar to the given code."""
    @property
    def path(self) -> str:
        """Its file, below the root."""
    @property
    def path_bytes(self) -> str | None:
        """The bytes of the path in base64, if `path` is quoted."""
    @property
    def start_line(self) -> int:
        """Its first line, from 1."""
    @property
    def end_line(self) -> int:
        """Its last line."""
    @property
    def symbol(self) -> str:
        """Its name, preceded by those of the definitions around it (`A > b`)."""
    @property
    def kind(self) -> str:
        """Its kind, such as `struct`."""
    @property
    def similarity(self) -> float:
        """1 if it has all runs of tokens and all words of the given code and its length, 0 if it has none."""
    @property
    def given_lines(self) -> int:
        """Lines of the given code without blank lines, comments and lines of punctuation."""
    @property
    def alike_lines(self) -> int:
        """Number of these that it has too, apart from names, numbers and strings."""
    @property
    def equal_lines(self) -> int:
        """Number of these that it has unchanged."""
    @property
    def names(self) -> builtins.list[str] | None:
        """The rarest names that both have."""
    @property
    def code(self) -> RankedCode | None:
        """Its lines, within the tokens for code."""

class Submatch(Record):
    """A match within a line."""
    @property
    def start(self) -> int:
        """The first byte of the match in the line."""
    @property
    def end(self) -> int:
        """The byte after the match."""
    @property
    def distance(self) -> int | None:
        """Edits of this match; fuzzy searches only."""

class TermRecord(Record):
    """The result of a term."""
    @property
    def term(self) -> str:
        """The term, as the caller wrote it."""
    @property
    def fate(self) -> str:
        """`kept`, `no_hits`, `too_broad`, `dropped` or `invalid`."""
    @property
    def error(self) -> str | None:
        """Why it is not valid."""
    @property
    def bytes(self) -> int:
        """Bytes that ripgrep prints for this term; a lower bound if it is too broad."""
    @property
    def lines(self) -> int:
        """Matching lines."""
    @property
    def files(self) -> int:
        """Files with such lines."""
    @property
    def lines_at_least(self) -> bool | None:
        """Both counts are lower bounds."""
    @property
    def shown(self) -> dict[str, Any] | None:
        """The part that the model has seen, if not all lines with their full context."""

class UnreadRoot(Record):
    """A root that could not be searched."""
    @property
    def root(self) -> str:
        """The root."""
    @property
    def error(self) -> str:
        """Why."""

class UnshownDefinition(Record):
    """A definition without shown lines."""
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def kind(self) -> str:
        """Its kind, such as `function`."""
    @property
    def start_line(self) -> int:
        """Its first line, from 1."""
    @property
    def end_line(self) -> int:
        """Its last line."""

ErrorCode = Literal["usage", "request", "argument", "pattern", "path", "unknown_tool", "bad_name", "same_name", "too_broad", "no_model", "models_failed", "no_engine", "engine", "index", "collection", "unfinished", "no_answer", "cancelled", "rate_limited", "internal", "failed"]

Has = Literal["whole", "other_case", "other_spelling", "inside", "parts", "unknown"]

Limit = Literal["max_results", "file_bytes", "text_bytes", "timeout", "cancelled", "entries", "engine", "root", "unavailable"]

LookupStatus = Literal["found", "parts_only", "no_match", "no_match_under_filter", "no_usable_word", "encoder_unavailable", "store_unavailable"]

Presence = Literal["present", "other_case", "absent", "unknown"]

class RankAnswer(Answer):
    """The records that `search_index` returns."""
    @property
    def query(self) -> str:
        """The query, as the caller wrote it."""
    @property
    def path(self) -> str:
        """The path, below the root."""
    @property
    def roots(self) -> builtins.list[str] | None:
        """The ranked roots, if there are several: paths below the first one are relative, all others absolute."""
    @property
    def files(self) -> builtins.list[RankedFile]:
        """The best first."""
    @property
    def like(self) -> str | None:
        """`like`, as the caller wrote it."""
    @property
    def similar(self) -> builtins.list[SimilarCode] | None:
        """With `like`: the most similar definitions, in place of `files`."""
    @property
    def similar_count(self) -> int | None:
        """With `like`: the similar definitions in the compared files, returned or not."""
    @property
    def matching_files(self) -> int:
        """Files that match a part of the query."""
    @property
    def files_searched(self) -> int:
        """Files in the index."""
    @property
    def provisional(self) -> bool:
        """The ranked index is not complete yet: only the files with the most words of the query were ranked."""
    @property
    def weak(self) -> bool:
        """True if even the best file matches little of the query."""
    @property
    def lead(self) -> float:
        """Lead of the first file over the second, as a share of its score; 1 for a single file."""
    @property
    def strength(self) -> float:
        """Share of the query that the best file matches, weighted by rarity, 0 to 1."""
    @property
    def unknown_words(self) -> builtins.list[str]:
        """Words of the query that no file contains."""
    @property
    def own_names(self) -> builtins.list[str] | None:
        """Words of the query that carry no weight, because they are the project's name; with `explain`."""
    @property
    def understood(self) -> builtins.list[str]:
        """Quotes, filters and exclusions that were applied."""
    @property
    def ignored(self) -> builtins.list[str]:
        """Quotes, filters and exclusions that were ignored."""
    @property
    def no_file_chosen(self) -> bool:
        """No file of the index matches `path`, `file_pattern` and `languages`."""
    @property
    def history(self) -> builtins.list[str] | None:
        """The known commits of each root; with `explain`."""
    @property
    def left_out(self) -> builtins.list[FilesLeftOut] | None:
        """Files that an answer with code excludes, because the query does not ask for their kind."""
    @property
    def continued(self) -> bool:
        """This page continues another."""
    @property
    def not_searched(self) -> CallVerdict:
        """For an answer without files: matches in files that the configuration excludes."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""
    @property
    def other_roots(self) -> builtins.list[RankAnswerOfRoot | UnreadRoot] | None:
        """For a call about several roots: these records for each other root, or `root` and `error`."""
    def __iter__(self) -> Iterator[RankedFile]: ...
    def __len__(self) -> int: ...

class RankAnswerOfRoot(Record):
    """The records that `search_index` returns."""
    @property
    def query(self) -> str:
        """The query, as the caller wrote it."""
    @property
    def path(self) -> str:
        """The path, below the root."""
    @property
    def roots(self) -> builtins.list[str] | None:
        """The ranked roots, if there are several: paths below the first one are relative, all others absolute."""
    @property
    def files(self) -> builtins.list[RankedFile]:
        """The best first."""
    @property
    def like(self) -> str | None:
        """`like`, as the caller wrote it."""
    @property
    def similar(self) -> builtins.list[SimilarCode] | None:
        """With `like`: the most similar definitions, in place of `files`."""
    @property
    def similar_count(self) -> int | None:
        """With `like`: the similar definitions in the compared files, returned or not."""
    @property
    def matching_files(self) -> int:
        """Files that match a part of the query."""
    @property
    def files_searched(self) -> int:
        """Files in the index."""
    @property
    def provisional(self) -> bool:
        """The ranked index is not complete yet: only the files with the most words of the query were ranked."""
    @property
    def weak(self) -> bool:
        """True if even the best file matches little of the query."""
    @property
    def lead(self) -> float:
        """Lead of the first file over the second, as a share of its score; 1 for a single file."""
    @property
    def strength(self) -> float:
        """Share of the query that the best file matches, weighted by rarity, 0 to 1."""
    @property
    def unknown_words(self) -> builtins.list[str]:
        """Words of the query that no file contains."""
    @property
    def own_names(self) -> builtins.list[str] | None:
        """Words of the query that carry no weight, because they are the project's name; with `explain`."""
    @property
    def understood(self) -> builtins.list[str]:
        """Quotes, filters and exclusions that were applied."""
    @property
    def ignored(self) -> builtins.list[str]:
        """Quotes, filters and exclusions that were ignored."""
    @property
    def no_file_chosen(self) -> bool:
        """No file of the index matches `path`, `file_pattern` and `languages`."""
    @property
    def history(self) -> builtins.list[str] | None:
        """The known commits of each root; with `explain`."""
    @property
    def left_out(self) -> builtins.list[FilesLeftOut] | None:
        """Files that an answer with code excludes, because the query does not ask for their kind."""
    @property
    def continued(self) -> bool:
        """This page continues another."""
    @property
    def not_searched(self) -> CallVerdict:
        """For an answer without files: matches in files that the configuration excludes."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""

class GrepAnswer(Answer):
    """The records that `grep_search` returns."""
    @property
    def pattern(self) -> str:
        """The pattern, as the caller wrote it."""
    @property
    def path(self) -> str:
        """The directory or file that was searched, below the root."""
    @property
    def match_count(self) -> int:
        """Matching lines, shown or not; a lower bound unless `totals_exact`."""
    @property
    def file_count(self) -> int:
        """Files with matching lines; a lower bound unless `totals_exact`."""
    @property
    def totals_exact(self) -> bool:
        """True if both counts are exact."""
    @property
    def files_searched(self) -> int:
        """Files whose text was searched."""
    @property
    def files(self) -> builtins.list[GrepFile]:
        """Files with matching lines, in path order."""
    @property
    def definitions(self) -> builtins.list[GrepDefinition] | None:
        """With uses: definitions of the name. Those in tests and those without a body come last."""
    @property
    def definition_count(self) -> int | None:
        """Number of all definitions that were found."""
    @property
    def implementations(self) -> builtins.list[GrepDefinition] | None:
        """With uses: types that implement or extend the name. Those in tests come last."""
    @property
    def implementation_count(self) -> int | None:
        """Number of all implementations that were found."""
    @property
    def qualifier(self) -> str | None:
        """With uses: the type or module of a qualified name."""
    @property
    def left_out_count(self) -> int | None:
        """Lines that this page excludes, because the name belongs to another type or module there."""
    @property
    def left_out(self) -> builtins.list[GrepReceiver] | None:
        """These types and modules, those with the most lines first."""
    @property
    def impact(self) -> GrepImpact | None:
        """The impact of a definition or of a change, if requested."""
    @property
    def elsewhere(self) -> builtins.list[GrepDirectory] | None:
        """Directories with further matches that are not in `files`, those with the most first."""
    @property
    def no_file_chosen(self) -> bool:
        """No file matches `file_pattern`."""
    @property
    def continued(self) -> bool:
        """This page continues another. Its counts exclude the earlier pages, except with `output: "uses"`."""
    @property
    def not_searched(self) -> CallVerdict:
        """For a search without matches: the result of a check of the excluded files."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""
    @property
    def other_roots(self) -> builtins.list[GrepAnswerOfRoot | UnreadRoot] | None:
        """For a call about several roots: these records for each other root, or `root` and `error`."""
    def __iter__(self) -> Iterator[GrepFile]: ...
    def __len__(self) -> int: ...

class GrepAnswerOfRoot(Record):
    """The records that `grep_search` returns."""
    @property
    def pattern(self) -> str:
        """The pattern, as the caller wrote it."""
    @property
    def path(self) -> str:
        """The directory or file that was searched, below the root."""
    @property
    def match_count(self) -> int:
        """Matching lines, shown or not; a lower bound unless `totals_exact`."""
    @property
    def file_count(self) -> int:
        """Files with matching lines; a lower bound unless `totals_exact`."""
    @property
    def totals_exact(self) -> bool:
        """True if both counts are exact."""
    @property
    def files_searched(self) -> int:
        """Files whose text was searched."""
    @property
    def files(self) -> builtins.list[GrepFile]:
        """Files with matching lines, in path order."""
    @property
    def definitions(self) -> builtins.list[GrepDefinition] | None:
        """With uses: definitions of the name. Those in tests and those without a body come last."""
    @property
    def definition_count(self) -> int | None:
        """Number of all definitions that were found."""
    @property
    def implementations(self) -> builtins.list[GrepDefinition] | None:
        """With uses: types that implement or extend the name. Those in tests come last."""
    @property
    def implementation_count(self) -> int | None:
        """Number of all implementations that were found."""
    @property
    def qualifier(self) -> str | None:
        """With uses: the type or module of a qualified name."""
    @property
    def left_out_count(self) -> int | None:
        """Lines that this page excludes, because the name belongs to another type or module there."""
    @property
    def left_out(self) -> builtins.list[GrepReceiver] | None:
        """These types and modules, those with the most lines first."""
    @property
    def impact(self) -> GrepImpact | None:
        """The impact of a definition or of a change, if requested."""
    @property
    def elsewhere(self) -> builtins.list[GrepDirectory] | None:
        """Directories with further matches that are not in `files`, those with the most first."""
    @property
    def no_file_chosen(self) -> bool:
        """No file matches `file_pattern`."""
    @property
    def continued(self) -> bool:
        """This page continues another. Its counts exclude the earlier pages, except with `output: "uses"`."""
    @property
    def not_searched(self) -> CallVerdict:
        """For a search without matches: the result of a check of the excluded files."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""

class KeywordSearchAnswer(Answer):
    """The records that `keyword_search` returns."""
    @property
    def query(self) -> str:
        """The query, as the caller wrote it."""
    @property
    def root(self) -> str:
        """Absolute path of the directory that was searched."""
    @property
    def filter(self) -> str:
        """`model`, `lexical`, `lexical_after_model_failure`, or `model_in_part` when a part of the files could not be judged and follows in lexical order."""
    @property
    def files(self) -> builtins.list[KeywordFile]:
        """Most relevant first."""
    @property
    def candidate_files(self) -> int:
        """Files that match a kept term."""
    @property
    def ranked_files(self) -> int | None:
        """Files that only the ranking selected (`filter.candidates = "union"`)."""
    @property
    def terms(self) -> builtins.list[TermRecord]:
        """The result of each term, in their order."""
    @property
    def evidence_bytes(self) -> int:
        """Bytes that ripgrep would print for the shown lines of the kept terms."""
    @property
    def files_searched(self) -> int:
        """Files whose text was searched."""
    @property
    def model(self) -> ModelRecord | None:
        """The requests to models, if there were any."""
    @property
    def not_searched(self) -> CallVerdict:
        """For a search without matches: the result of a check of the excluded files."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def other_roots(self) -> builtins.list[KeywordSearchAnswerOfRoot | UnreadRoot] | None:
        """For a call about several roots: these records for each other root, or `root` and `error`."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""
    def __iter__(self) -> Iterator[KeywordFile]: ...
    def __len__(self) -> int: ...

class KeywordSearchAnswerOfRoot(Record):
    """The records that `keyword_search` returns."""
    @property
    def query(self) -> str:
        """The query, as the caller wrote it."""
    @property
    def root(self) -> str:
        """Absolute path of the directory that was searched."""
    @property
    def filter(self) -> str:
        """`model`, `lexical`, `lexical_after_model_failure`, or `model_in_part` when a part of the files could not be judged and follows in lexical order."""
    @property
    def files(self) -> builtins.list[KeywordFile]:
        """Most relevant first."""
    @property
    def candidate_files(self) -> int:
        """Files that match a kept term."""
    @property
    def ranked_files(self) -> int | None:
        """Files that only the ranking selected (`filter.candidates = "union"`)."""
    @property
    def terms(self) -> builtins.list[TermRecord]:
        """The result of each term, in their order."""
    @property
    def evidence_bytes(self) -> int:
        """Bytes that ripgrep would print for the shown lines of the kept terms."""
    @property
    def files_searched(self) -> int:
        """Files whose text was searched."""
    @property
    def model(self) -> ModelRecord | None:
        """The requests to models, if there were any."""
    @property
    def not_searched(self) -> CallVerdict:
        """For a search without matches: the result of a check of the excluded files."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""

class ListAnswer(Answer):
    """The records that `list_directory` returns."""
    @property
    def path(self) -> str:
        """Below the root."""
    @property
    def max_depth(self) -> int:
        """Levels of subdirectories that were listed."""
    @property
    def not_entered(self) -> int:
        """Directories below `max_depth`, which were not listed."""
    @property
    def entry_count(self) -> int:
        """Number of entries, shown or not."""
    @property
    def entries(self) -> builtins.list[ListEntry]:
        """In path order."""
    @property
    def pruned(self) -> builtins.list[str]:
        """Names of directories that were not entered, wherever they occur."""
    @property
    def hidden_count(self) -> int | None:
        """If no file was found by name: ignored or hidden files with this name."""
    @property
    def name(self) -> str | None:
        """The requested name."""
    @property
    def changes(self) -> ListChanges | None:
        """The requested change set."""
    @property
    def map(self) -> ListMap | None:
        """The requested map."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""
    @property
    def other_roots(self) -> builtins.list[ListAnswerOfRoot | UnreadRoot] | None:
        """For a call about several roots: these records for each other root, or `root` and `error`."""
    def __iter__(self) -> Iterator[ListEntry]: ...
    def __len__(self) -> int: ...

class ListAnswerOfRoot(Record):
    """The records that `list_directory` returns."""
    @property
    def path(self) -> str:
        """Below the root."""
    @property
    def max_depth(self) -> int:
        """Levels of subdirectories that were listed."""
    @property
    def not_entered(self) -> int:
        """Directories below `max_depth`, which were not listed."""
    @property
    def entry_count(self) -> int:
        """Number of entries, shown or not."""
    @property
    def entries(self) -> builtins.list[ListEntry]:
        """In path order."""
    @property
    def pruned(self) -> builtins.list[str]:
        """Names of directories that were not entered, wherever they occur."""
    @property
    def hidden_count(self) -> int | None:
        """If no file was found by name: ignored or hidden files with this name."""
    @property
    def name(self) -> str | None:
        """The requested name."""
    @property
    def changes(self) -> ListChanges | None:
        """The requested change set."""
    @property
    def map(self) -> ListMap | None:
        """The requested map."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""

class ReadAnswer(Answer):
    """The records that `read_file` returns."""
    @property
    def path(self) -> str:
        """The file, below the root."""
    @property
    def path_bytes(self) -> str | None:
        """The bytes of the path in base64, if `path` is quoted."""
    @property
    def start_line(self) -> int:
        """The first line of `lines`, from 1."""
    @property
    def end_line(self) -> int:
        """The last line shown; 0 for an empty file."""
    @property
    def total_lines(self) -> int:
        """Lines of the file; a lower bound unless `total_exact`."""
    @property
    def total_exact(self) -> bool:
        """True if `total_lines` is exact."""
    @property
    def size(self) -> int:
        """Bytes of the file."""
    @property
    def encoding(self) -> str:
        """The encoding of the file, such as `UTF-8`."""
    @property
    def lines(self) -> builtins.list[str]:
        """The lines without line ends. U+FFFD replaces bytes that are not UTF-8; characters that hide or reorder text are escaped."""
    @property
    def further(self) -> builtins.list[ReadPart] | None:
        """Further definitions, if several were requested."""
    @property
    def symbol_notes(self) -> builtins.list[str] | None:
        """Other definitions with a requested name, and members of a requested type outside of its lines."""
    @property
    def outline(self) -> builtins.list[OutlineEntry] | None:
        """The definitions in line order, if an outline was requested."""
    @property
    def outline_left_out(self) -> dict[str, int] | None:
        """Number of definitions that the outline omits, by kind."""
    @property
    def outline_by_line(self) -> bool | None:
        """The outline was built line by line, because there is no parser for the language or the file is too large: definitions may be missing or have wrong ends."""
    @property
    def outline_has_errors(self) -> bool | None:
        """The parser found errors in the file: definitions near them may be missing or have wrong ends."""
    @property
    def line_bytes(self) -> dict[str, str] | None:
        """By line number, the bytes in base64 of lines that differ in `lines`."""
    @property
    def redacted_lines(self) -> builtins.list[int] | None:
        """Numbers of the lines in which a secret was replaced."""
    @property
    def cut_lines(self) -> int:
        """Number of lines that were cut."""
    @property
    def crlf(self) -> bool:
        """True if lines end with CR LF."""
    @property
    def not_utf8(self) -> bool:
        """True if U+FFFD replaces bytes that are not text."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""
    @property
    def other_roots(self) -> builtins.list[ReadAnswerOfRoot | UnreadRoot] | None:
        """For a call about several roots: these records for each other root, or `root` and `error`."""
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...

class ReadAnswerOfRoot(Record):
    """The records that `read_file` returns."""
    @property
    def path(self) -> str:
        """The file, below the root."""
    @property
    def path_bytes(self) -> str | None:
        """The bytes of the path in base64, if `path` is quoted."""
    @property
    def start_line(self) -> int:
        """The first line of `lines`, from 1."""
    @property
    def end_line(self) -> int:
        """The last line shown; 0 for an empty file."""
    @property
    def total_lines(self) -> int:
        """Lines of the file; a lower bound unless `total_exact`."""
    @property
    def total_exact(self) -> bool:
        """True if `total_lines` is exact."""
    @property
    def size(self) -> int:
        """Bytes of the file."""
    @property
    def encoding(self) -> str:
        """The encoding of the file, such as `UTF-8`."""
    @property
    def lines(self) -> builtins.list[str]:
        """The lines without line ends. U+FFFD replaces bytes that are not UTF-8; characters that hide or reorder text are escaped."""
    @property
    def further(self) -> builtins.list[ReadPart] | None:
        """Further definitions, if several were requested."""
    @property
    def symbol_notes(self) -> builtins.list[str] | None:
        """Other definitions with a requested name, and members of a requested type outside of its lines."""
    @property
    def outline(self) -> builtins.list[OutlineEntry] | None:
        """The definitions in line order, if an outline was requested."""
    @property
    def outline_left_out(self) -> dict[str, int] | None:
        """Number of definitions that the outline omits, by kind."""
    @property
    def outline_by_line(self) -> bool | None:
        """The outline was built line by line, because there is no parser for the language or the file is too large: definitions may be missing or have wrong ends."""
    @property
    def outline_has_errors(self) -> bool | None:
        """The parser found errors in the file: definitions near them may be missing or have wrong ends."""
    @property
    def line_bytes(self) -> dict[str, str] | None:
        """By line number, the bytes in base64 of lines that differ in `lines`."""
    @property
    def redacted_lines(self) -> builtins.list[int] | None:
        """Numbers of the lines in which a secret was replaced."""
    @property
    def cut_lines(self) -> int:
        """Number of lines that were cut."""
    @property
    def crlf(self) -> bool:
        """True if lines end with CR LF."""
    @property
    def not_utf8(self) -> bool:
        """True if U+FFFD replaces bytes that are not text."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""

class SearchAnswer(Answer):
    """The records that `Search` returns."""
    @property
    def pattern(self) -> str:
        """The pattern, as the caller wrote it."""
    @property
    def path(self) -> str:
        """The directory or file that was searched, below the root."""
    @property
    def count(self) -> int:
        """Events: matching lines and lines of context."""
    @property
    def match_count(self) -> int:
        """Matching lines among them."""
    @property
    def matches(self) -> builtins.list[SearchRecord]:
        """The events, in path order or the nearest first."""
    @property
    def timed_out(self) -> bool:
        """True if the time limit ended the search."""
    @property
    def engine(self) -> str:
        """`embedded`, `ugrep` or `rg`."""
    @property
    def exit_code(self) -> int | None:
        """Exit code of an external engine."""
    @property
    def stderr(self) -> str | None:
        """Standard error of an external engine."""
    @property
    def files_searched(self) -> int:
        """Files that were searched."""
    @property
    def continued(self) -> bool:
        """This answer continues another. Its counts exclude the earlier ones."""
    @property
    def no_file_chosen(self) -> bool:
        """No file matches `glob`."""
    @property
    def not_searched(self) -> CallVerdict:
        """For a search without matches: the result of a check of the excluded files."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def content(self) -> str | None:
        """The text of the answer."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""
    @property
    def other_roots(self) -> builtins.list[SearchAnswerOfRoot | UnreadRoot] | None:
        """For a call about several roots: these records for each other root, or `root` and `error`."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    def __iter__(self) -> Iterator[SearchRecord]: ...
    def __len__(self) -> int: ...

class SearchAnswerOfRoot(Record):
    """The records that `Search` returns."""
    @property
    def pattern(self) -> str:
        """The pattern, as the caller wrote it."""
    @property
    def path(self) -> str:
        """The directory or file that was searched, below the root."""
    @property
    def count(self) -> int:
        """Events: matching lines and lines of context."""
    @property
    def match_count(self) -> int:
        """Matching lines among them."""
    @property
    def matches(self) -> builtins.list[SearchRecord]:
        """The events, in path order or the nearest first."""
    @property
    def timed_out(self) -> bool:
        """True if the time limit ended the search."""
    @property
    def engine(self) -> str:
        """`embedded`, `ugrep` or `rg`."""
    @property
    def exit_code(self) -> int | None:
        """Exit code of an external engine."""
    @property
    def stderr(self) -> str | None:
        """Standard error of an external engine."""
    @property
    def files_searched(self) -> int:
        """Files that were searched."""
    @property
    def continued(self) -> bool:
        """This answer continues another. Its counts exclude the earlier ones."""
    @property
    def no_file_chosen(self) -> bool:
        """No file matches `glob`."""
    @property
    def not_searched(self) -> CallVerdict:
        """For a search without matches: the result of a check of the excluded files."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def content(self) -> str | None:
        """The text of the answer."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""

class LookupAnswer(Answer):
    """The records that `keyword_lookup` returns."""
    @property
    def query(self) -> str:
        """The query, as the caller wrote it."""
    @property
    def collection(self) -> str:
        """The collection; empty if none is configured."""
    @property
    def status(self) -> LookupStatus:
        """How the lookup ended."""
    @property
    def reason(self) -> str | None:
        """Why nothing was looked up."""
    @property
    def filter(self) -> builtins.list[str] | None:
        """The conditions of the filter."""
    @property
    def name(self) -> LookupName | None:
        """If the query is one identifier or code: the result for it as a whole."""
    @property
    def without_filter(self) -> LookupWithoutFilter | None:
        """If nothing was found with the filter: the result without it."""
    @property
    def cut(self) -> int:
        """Omitted results, which score less than a hundredth of the best."""
    @property
    def hits(self) -> builtins.list[LookupHit]:
        """Best first, and by id for equal scores. If the query is a name, chunks that contain it as a whole come first."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""
    @property
    def other_roots(self) -> builtins.list[LookupAnswerOfRoot | UnreadRoot] | None:
        """For a call about several roots: these records for each other root, or `root` and `error`."""
    def __iter__(self) -> Iterator[LookupHit]: ...
    def __len__(self) -> int: ...

class LookupAnswerOfRoot(Record):
    """The records that `keyword_lookup` returns."""
    @property
    def query(self) -> str:
        """The query, as the caller wrote it."""
    @property
    def collection(self) -> str:
        """The collection; empty if none is configured."""
    @property
    def status(self) -> LookupStatus:
        """How the lookup ended."""
    @property
    def reason(self) -> str | None:
        """Why nothing was looked up."""
    @property
    def filter(self) -> builtins.list[str] | None:
        """The conditions of the filter."""
    @property
    def name(self) -> LookupName | None:
        """If the query is one identifier or code: the result for it as a whole."""
    @property
    def without_filter(self) -> LookupWithoutFilter | None:
        """If nothing was found with the filter: the result without it."""
    @property
    def cut(self) -> int:
        """Omitted results, which score less than a hundredth of the best."""
    @property
    def hits(self) -> builtins.list[LookupHit]:
        """Best first, and by id for equal scores. If the query is a name, chunks that contain it as a whole come first."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""

class HistoryAnswer(Answer):
    """The records that `search_history` returns."""
    @property
    def pattern(self) -> str | None:
        """The pattern, as the caller wrote it."""
    @property
    def symbol(self) -> str | None:
        """The definition whose history is requested."""
    @property
    def suspects(self) -> bool | None:
        """The commits that may have caused a failure, best first, instead of a history."""
    @property
    def path(self) -> str:
        """The directory or file, below the root."""
    @property
    def commits(self) -> builtins.list[FoundCommit]:
        """The commits that were found, newest first; suspects are in the order of their likelihood."""
    @property
    def looked_at(self) -> int:
        """Number of commits that were looked at, in this answer and those before it."""
    @property
    def looked_back_to(self) -> str | None:
        """The date of the last one."""
    @property
    def complete(self) -> bool:
        """True if there are no more commits."""
    @property
    def continued(self) -> bool:
        """This page continues another."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""
    @property
    def other_roots(self) -> builtins.list[HistoryAnswerOfRoot | UnreadRoot] | None:
        """For a call about several roots: these records for each other root, or `root` and `error`."""
    def __iter__(self) -> Iterator[FoundCommit]: ...
    def __len__(self) -> int: ...

class HistoryAnswerOfRoot(Record):
    """The records that `search_history` returns."""
    @property
    def pattern(self) -> str | None:
        """The pattern, as the caller wrote it."""
    @property
    def symbol(self) -> str | None:
        """The definition whose history is requested."""
    @property
    def suspects(self) -> bool | None:
        """The commits that may have caused a failure, best first, instead of a history."""
    @property
    def path(self) -> str:
        """The directory or file, below the root."""
    @property
    def commits(self) -> builtins.list[FoundCommit]:
        """The commits that were found, newest first; suspects are in the order of their likelihood."""
    @property
    def looked_at(self) -> int:
        """Number of commits that were looked at, in this answer and those before it."""
    @property
    def looked_back_to(self) -> str | None:
        """The date of the last one."""
    @property
    def complete(self) -> bool:
        """True if there are no more commits."""
    @property
    def continued(self) -> bool:
        """This page continues another."""
    @property
    def truncated(self) -> bool:
        """True if there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Pass it as `cursor` to continue."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Problems that did not end the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets replaced by `[redacted:RULE]`, counted by rule."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """The error that ended the call."""
    @property
    def code(self) -> ErrorCode | None:
        """The code of this error."""

class _Opened:
    def __init__(
        self,
        *paths: str | os.PathLike[str],
        index: bool | str | os.PathLike[str] | None = None,
        watch: bool | None = None,
        models: Sequence[ModelSettings] | None = None,
        collection: CollectionSettings | None = None,
        without_model: bool | None = None,
        filter: FilterSettings | None = None,
        show_secrets: bool | None = None,
        text_bytes: int | None = None,
        timeout_ms: int | None = None,
        threads: int | None = None,
        max_file_bytes: int | None = None,
        exclude: Sequence[str] | None = None,
        allow_broad_root: bool | None = None,
        on_telemetry: Callable[[TelemetryEvent], object] | None = None,
    ) -> None: ...
    @property
    def roots(self) -> builtins.list[str]: ...
    def tools(
        self,
        format: Literal["openai", "openai-strict", "anthropic", "gemini", "mcp"] = "openai",
        only: Sequence[str] | None = None,
    ) -> builtins.list[dict[str, Any]]: ...
    def close(self) -> None: ...

class Workspace(_Opened):
    def __enter__(self) -> Workspace: ...
    def __exit__(self, *_: object) -> None: ...
    def call(self, name: str, arguments: dict[str, Any] | str | None = None) -> Answer: ...
    def ask(self, question: str, watch: Callable[[AskEvent], object] | None = None) -> Asked: ...
    def build_index(self) -> None: ...
    def rank(self, query: str | None = None, path: str | None = None, *, like: str | None = None, file_pattern: str | Sequence[str] | None = None, changed: str | None = None, languages: Sequence[str] | None = None, max_results: int | None = None, code_tokens: int | None = None, explain: bool | None = None, history: bool | None = None, cursor: str | None = None) -> RankAnswer:
        """Ranks the files that answer a question, with the code that helps most.

        Takes a question, names or the text of a bug report, and needs no model. In the query, "quoted
        words" must be adjacent, `path:src` and `lang:rust` restrict the files, and `-word` excludes a
        word.

        Args:
            query: The question, or names.
            path: Directory or file to search (default: the project root).
            like: Finds definitions similar to "path#name" or to pasted code.
            file_pattern: Globs: "*.py", "src/**/*.rs", "!tests/**".
            changed: Only files changed since "HEAD" (uncommitted), "main..." or in "A..B".
            languages: Languages of the files, such as "rust" (default: all).
            max_results: Files to return, 1 to 100 (default: 10 to 20).
            code_tokens: Tokens of code, up to 32000 (default: what helps, at most 4000); 0: files and lines
                alone.
            explain: Say which rules ranked each file.
            history: Use the messages of the project's commits (default: true).
            cursor: `next_cursor` of the previous answer to the same call, to continue after it.

        Example:
            >>> answer = workspace.rank("where is it tried again")
            >>> next(iter(answer)).path
            'src/retry.py'
        """
    def grep(self, pattern: str, path: str | None = None, *, file_pattern: str | Sequence[str] | None = None, changed: str | None = None, output: Literal["lines", "files", "counts", "uses", "impact"] | None = None, syntax: str | None = None, context_lines: int | None = None, before_context: int | None = None, after_context: int | None = None, max_results: int | None = None, ignore_case: bool | None = None, word_regexp: bool | None = None, fixed_strings: bool | None = None, invert_match: bool | None = None, multiline: bool | None = None, include_ignored: bool | None = None, cursor: str | None = None) -> GrepAnswer:
        """Finds the lines that match a regular expression, grouped by file.

        The syntax is that of Rust's `regex` crate, as in ripgrep. Ignored, hidden and binary files are
        not searched; an answer without matches says whether they have some. With `output` "uses" and a
        name as pattern, the answer has the definitions of the name and its uses.

        Args:
            pattern: Regular expression to search for.
            path: Directory or file to search (default: the project root).
            file_pattern: Globs that choose files: "*.py", "src/**/*.rs", "!tests/**".
            changed: Only files changed since "HEAD" (uncommitted), "main..." or in "A..B".
            output: What to return: matching "lines" (the default), "files", "counts", or the definitions
                and "uses" of a name.
            syntax: The pattern is code of this language ("rust", or "any") with metavariables: `spawn($A)`.
            context_lines: Lines around each match, 0 to 50 (default: 2).
            before_context: Lines of context before each match, in place of `context_lines`.
            after_context: Lines of context after each match, in place of `context_lines`.
            max_results: Lines or files to return, 1 to 10000 (default: 50; files 200).
            ignore_case: Match without regard to case.
            word_regexp: Match whole words only.
            fixed_strings: The pattern is plain text.
            invert_match: Find the lines that do not match.
            multiline: Let matches span lines, and `.` match line feeds.
            include_ignored: Search ignored and hidden files too.
            cursor: `next_cursor` of the previous answer to the same call, to continue after it.

        Example:
            >>> answer = workspace.grep("^def ", file_pattern="*.py")
            >>> for file in answer:
            ...     print(file.path, [line.text for line in file.lines or [] if line.type == "match"])
            src/main.py ['def main():']
            src/retry.py ['def again(times):']
        """
    def grep_each(self, pattern: str, path: str | None = None, *, file_pattern: str | Sequence[str] | None = None, changed: str | None = None, syntax: str | None = None, context_lines: int | None = None, before_context: int | None = None, after_context: int | None = None, ignore_case: bool | None = None, word_regexp: bool | None = None, fixed_strings: bool | None = None, invert_match: bool | None = None, multiline: bool | None = None, include_ignored: bool | None = None) -> Each[GrepFile, GrepAnswer]:
        """Like `grep`, but iterates over all results as they are found.

        Args:
            pattern: Regular expression to search for.
            path: Directory or file to search (default: the project root).
            file_pattern: Globs that choose files: "*.py", "src/**/*.rs", "!tests/**".
            changed: Only files changed since "HEAD" (uncommitted), "main..." or in "A..B".
            syntax: The pattern is code of this language ("rust", or "any") with metavariables: `spawn($A)`.
            context_lines: Lines around each match, 0 to 50 (default: 2).
            before_context: Lines of context before each match, in place of `context_lines`.
            after_context: Lines of context after each match, in place of `context_lines`.
            ignore_case: Match without regard to case.
            word_regexp: Match whole words only.
            fixed_strings: The pattern is plain text.
            invert_match: Find the lines that do not match.
            multiline: Let matches span lines, and `.` match line feeds.
            include_ignored: Search ignored and hidden files too.
        """
    def keyword_search(self, query: str, search_terms: Sequence[str]) -> KeywordSearchAnswer:
        """Finds the files that are relevant to a question, as judged by a model.

        One pass searches for all terms. Then a fast model keeps the relevant files and says why. The
        workspace needs `models`, or `without_model` to rank the files without one.

        Args:
            query: A detailed statement of what you're trying to find or learn.
            search_terms: List of search terms in descending order of importance.

        Example:
            >>> workspace = forage.Workspace(".", index=False, without_model=True)
            >>> answer = workspace.keyword_search("Where are failed requests retried?", ["again", "retr(y|ies)"])
            >>> sorted(file.path.rpartition("/")[2] for file in answer)
            ['README.md', 'main.py', 'retry.py']
        """
    def list(self, path: str | None = None, *, name: str | None = None, changed: str | None = None, tokens: int | None = None, recursive: bool | None = None, max_depth: int | None = None, symbols: bool | None = None, include_ignored: bool | None = None) -> ListAnswer:
        """Lists a directory as a tree, or finds files by name.

        Hidden and ignored names are omitted and counted, and so are directories of dependencies and
        caches.

        Args:
            path: Directory to list (default: the project root).
            name: Find files by name: a glob ("*.rs", "src/**/*_test.go"), a name, a part of one, or nearly
                one.
            changed: List changes since "HEAD" (uncommitted), "main..." or in "A..B"; searches take it too.
            tokens: Map the tree in this many tokens: directories and most used definitions.
            recursive: List subdirectories too.
            max_depth: Levels below it, 0 to 20 (default: 2 when recursive).
            symbols: Show what each file defines.
            include_ignored: List ignored and hidden names too.

        Example:
            >>> [entry.path for entry in workspace.list("src")]
            ['src/main.py', 'src/retry.py']
        """
    def read(self, path: str, *, start_line: int | None = None, end_line: int | None = None, symbol: str | None = None, context_lines: int | None = None, outline: bool | None = None) -> ReadAnswer:
        """Reads a text file: whole, a range of its lines, definitions by name, or an outline.

        Binary files and files whose names show that they hold secrets are refused.

        Args:
            path: File, relative to the project root or absolute.
            start_line: First line (default: 1).
            end_line: Last line, inclusive (default: the last that fits).
            symbol: Definitions to read, such as "Client::send, close".
            context_lines: Lines around each definition (default: 0).
            outline: Show what the file defines.

        Example:
            >>> list(workspace.read("src/retry.py", symbol="again"))
            ['def again(times):', '    return times']
        """
    def search(self, pattern: str, path: str | None = None, *, case: Literal["smart", "sensitive", "insensitive"] | None = None, fixed_strings: bool | None = None, word_regexp: bool | None = None, file_pattern: str | Sequence[str] | None = None, hidden: bool | None = None, follow: bool | None = None, no_ignore: bool | None = None, context_lines: int | None = None, max_results: int | None = None, timeout_ms: int | None = None, fuzzy: int | None = None, best_first: bool | None = None, cursor: str | None = None) -> SearchAnswer:
        """Searches lines with several globs, smart case and up to four edits.

        Returns single matches and lines of context, in path order. Set `fuzzy` for a name that you
        can't spell exactly; start with 1.

        Args:
            pattern: What to search for in every line: a regular expression, or plain text with
                fixed_strings.
            path: Directory or file to search, relative to the project root or absolute within it (default:
                ".", the project root).
            case: How letters compare; "smart": without regard to case unless the pattern has an upper-case
                letter (default: "smart").
            fixed_strings: The pattern is plain text, not a regular expression (default: false).
            word_regexp: Match whole words only (default: false).
            file_pattern: Globs that choose files, "!" excludes, later ones win; by name ("*.py"), or by
                path if they have a slash ("src/**/*.rs", "!vendor/**"). They re-include ignored files
                (default: all files).
            hidden: Search hidden files too (default: false).
            follow: Follow symbolic links within the project root (default: false).
            no_ignore: Search files that .gitignore and the like exclude too (default: false).
            context_lines: Lines of context around each match, 0 to 50 (default: 0).
            max_results: Matching and context lines to return, 1 to 10000 (default: 200).
            timeout_ms: Time limit in milliseconds, 100 to 300000; what was found by then is returned
                (default: 20000).
            fuzzy: Allow up to this many edits (characters inserted, deleted or replaced), 1 to 4, for names
                you can't spell exactly; leave it out for most searches (default: exact).
            best_first: With fuzzy: the results with the fewest edits first, not in path order (default:
                false).
            cursor: `next_cursor` of the previous answer to the same call, to continue after it.

        Example:
            >>> [match.data.line_number for match in workspace.search("agian", fuzzy=2, file_pattern=["*.py", "!main.py"])]
            [1, 4]
        """
    def search_each(self, pattern: str, path: str | None = None, *, case: Literal["smart", "sensitive", "insensitive"] | None = None, fixed_strings: bool | None = None, word_regexp: bool | None = None, file_pattern: str | Sequence[str] | None = None, hidden: bool | None = None, follow: bool | None = None, no_ignore: bool | None = None, context_lines: int | None = None, timeout_ms: int | None = None, fuzzy: int | None = None) -> Each[SearchRecord, SearchAnswer]:
        """Like `search`, but iterates over all results as they are found.

        Args:
            pattern: What to search for in every line: a regular expression, or plain text with
                fixed_strings.
            path: Directory or file to search, relative to the project root or absolute within it (default:
                ".", the project root).
            case: How letters compare; "smart": without regard to case unless the pattern has an upper-case
                letter (default: "smart").
            fixed_strings: The pattern is plain text, not a regular expression (default: false).
            word_regexp: Match whole words only (default: false).
            file_pattern: Globs that choose files, "!" excludes, later ones win; by name ("*.py"), or by
                path if they have a slash ("src/**/*.rs", "!vendor/**"). They re-include ignored files
                (default: all files).
            hidden: Search hidden files too (default: false).
            follow: Follow symbolic links within the project root (default: false).
            no_ignore: Search files that .gitignore and the like exclude too (default: false).
            context_lines: Lines of context around each match, 0 to 50 (default: 0).
            timeout_ms: Time limit in milliseconds, 100 to 300000; what was found by then is returned
                (default: 20000).
            fuzzy: Allow up to this many edits (characters inserted, deleted or replaced), 1 to 4, for names
                you can't spell exactly; leave it out for most searches (default: exact).
        """
    def lookup(self, query: str, path: str | None = None, *, max_results: int | None = None, repo: str | None = None, language: str | None = None, filter: Sequence[str] | None = None) -> LookupAnswer:
        """Looks up exact words in a collection of sparse vectors.

        For error codes, identifiers and other rare words. The workspace needs a `collection`. If its
        server or its encoder is unavailable, the answer has no hits, and its `status` and `reason` say
        so.

        Args:
            query: Words to look up: an error code, an identifier, an id.
            path: File to look in, by its whole path in the collection.
            max_results: Results to return, 1 to 100 (default: 10).
            repo: Repository to look in, as the collection names it.
            language: Language to look in, such as "rust".
            filter: Conditions on payload fields, all of which must hold: FIELD=VALUE, FIELD=VALUE|VALUE for
                any of them, or FIELD>=NUMBER (>, <=, <), such as ["modality=text", "page_id>=10"].

        Example:
            >>> workspace = forage.Workspace(collection={"url": "http://127.0.0.1:1", "name": "code"})
            >>> answer = workspace.lookup("ORA-00942")
            >>> answer.status, len(answer)
            ('store_unavailable', 0)
        """
    def history(self, path: str | None = None, *, pattern: str | None = None, fixed_strings: bool | None = None, symbol: str | None = None, suspects: str | None = None, since: str | None = None, max_results: int | None = None, cursor: str | None = None) -> HistoryAnswer:
        """Finds the commits that changed a text, a definition or a path, newest first.

        With a pattern, these added or removed a matching line, as for `git log -G`; with
        `fixed_strings` they changed how often the text occurs (`-S`). With `symbol` they changed this
        definition of the file `path` (`-L`). Merges are left out. The top of the repository must be the
        root.

        Args:
            path: Directory or file (default: the project root); "main:src" begins at another revision.
            pattern: Regular expression that an added or removed line matches.
            fixed_strings: The pattern is plain text; only commits that changed how often it occurs.
            symbol: Name of a definition in the file `path`, in place of a pattern.
            suspects: A failure (trace, message, test name), in place of a pattern: the commits most likely
                to have caused it.
            since: For `suspects`: the revision that still worked, or "good..bad" (default: the newest 300
                commits).
            max_results: Commits to return, 1 to 500 (default: 20).
            cursor: `next_cursor` of the previous answer to the same call, to continue after it.

        Example:
            >>> try:
            ...     workspace.history(pattern="retries")
            ... except forage.ForageError as error:
            ...     print("git repository" in str(error))
            True
        """

class AsyncWorkspace(_Opened):
    async def aclose(self) -> None: ...
    async def __aenter__(self) -> AsyncWorkspace: ...
    async def __aexit__(self, *_: object) -> None: ...
    async def call(self, name: str, arguments: dict[str, Any] | str | None = None) -> Answer: ...
    async def ask(self, question: str, watch: Callable[[AskEvent], object] | None = None) -> Asked: ...
    async def build_index(self) -> None: ...
    async def rank(self, query: str | None = None, path: str | None = None, *, like: str | None = None, file_pattern: str | Sequence[str] | None = None, changed: str | None = None, languages: Sequence[str] | None = None, max_results: int | None = None, code_tokens: int | None = None, explain: bool | None = None, history: bool | None = None, cursor: str | None = None) -> RankAnswer:
        """Ranks the files that answer a question, with the code that helps most.

        Takes a question, names or the text of a bug report, and needs no model. In the query, "quoted
        words" must be adjacent, `path:src` and `lang:rust` restrict the files, and `-word` excludes a
        word.

        Args:
            query: The question, or names.
            path: Directory or file to search (default: the project root).
            like: Finds definitions similar to "path#name" or to pasted code.
            file_pattern: Globs: "*.py", "src/**/*.rs", "!tests/**".
            changed: Only files changed since "HEAD" (uncommitted), "main..." or in "A..B".
            languages: Languages of the files, such as "rust" (default: all).
            max_results: Files to return, 1 to 100 (default: 10 to 20).
            code_tokens: Tokens of code, up to 32000 (default: what helps, at most 4000); 0: files and lines
                alone.
            explain: Say which rules ranked each file.
            history: Use the messages of the project's commits (default: true).
            cursor: `next_cursor` of the previous answer to the same call, to continue after it.
        """
    async def grep(self, pattern: str, path: str | None = None, *, file_pattern: str | Sequence[str] | None = None, changed: str | None = None, output: Literal["lines", "files", "counts", "uses", "impact"] | None = None, syntax: str | None = None, context_lines: int | None = None, before_context: int | None = None, after_context: int | None = None, max_results: int | None = None, ignore_case: bool | None = None, word_regexp: bool | None = None, fixed_strings: bool | None = None, invert_match: bool | None = None, multiline: bool | None = None, include_ignored: bool | None = None, cursor: str | None = None) -> GrepAnswer:
        """Finds the lines that match a regular expression, grouped by file.

        The syntax is that of Rust's `regex` crate, as in ripgrep. Ignored, hidden and binary files are
        not searched; an answer without matches says whether they have some. With `output` "uses" and a
        name as pattern, the answer has the definitions of the name and its uses.

        Args:
            pattern: Regular expression to search for.
            path: Directory or file to search (default: the project root).
            file_pattern: Globs that choose files: "*.py", "src/**/*.rs", "!tests/**".
            changed: Only files changed since "HEAD" (uncommitted), "main..." or in "A..B".
            output: What to return: matching "lines" (the default), "files", "counts", or the definitions
                and "uses" of a name.
            syntax: The pattern is code of this language ("rust", or "any") with metavariables: `spawn($A)`.
            context_lines: Lines around each match, 0 to 50 (default: 2).
            before_context: Lines of context before each match, in place of `context_lines`.
            after_context: Lines of context after each match, in place of `context_lines`.
            max_results: Lines or files to return, 1 to 10000 (default: 50; files 200).
            ignore_case: Match without regard to case.
            word_regexp: Match whole words only.
            fixed_strings: The pattern is plain text.
            invert_match: Find the lines that do not match.
            multiline: Let matches span lines, and `.` match line feeds.
            include_ignored: Search ignored and hidden files too.
            cursor: `next_cursor` of the previous answer to the same call, to continue after it.
        """
    def grep_each(self, pattern: str, path: str | None = None, *, file_pattern: str | Sequence[str] | None = None, changed: str | None = None, syntax: str | None = None, context_lines: int | None = None, before_context: int | None = None, after_context: int | None = None, ignore_case: bool | None = None, word_regexp: bool | None = None, fixed_strings: bool | None = None, invert_match: bool | None = None, multiline: bool | None = None, include_ignored: bool | None = None) -> AsyncEach[GrepFile, GrepAnswer]:
        """Like `grep`, but iterates over all results as they are found.

        Args:
            pattern: Regular expression to search for.
            path: Directory or file to search (default: the project root).
            file_pattern: Globs that choose files: "*.py", "src/**/*.rs", "!tests/**".
            changed: Only files changed since "HEAD" (uncommitted), "main..." or in "A..B".
            syntax: The pattern is code of this language ("rust", or "any") with metavariables: `spawn($A)`.
            context_lines: Lines around each match, 0 to 50 (default: 2).
            before_context: Lines of context before each match, in place of `context_lines`.
            after_context: Lines of context after each match, in place of `context_lines`.
            ignore_case: Match without regard to case.
            word_regexp: Match whole words only.
            fixed_strings: The pattern is plain text.
            invert_match: Find the lines that do not match.
            multiline: Let matches span lines, and `.` match line feeds.
            include_ignored: Search ignored and hidden files too.
        """
    async def keyword_search(self, query: str, search_terms: Sequence[str]) -> KeywordSearchAnswer:
        """Finds the files that are relevant to a question, as judged by a model.

        One pass searches for all terms. Then a fast model keeps the relevant files and says why. The
        workspace needs `models`, or `without_model` to rank the files without one.

        Args:
            query: A detailed statement of what you're trying to find or learn.
            search_terms: List of search terms in descending order of importance.
        """
    async def list(self, path: str | None = None, *, name: str | None = None, changed: str | None = None, tokens: int | None = None, recursive: bool | None = None, max_depth: int | None = None, symbols: bool | None = None, include_ignored: bool | None = None) -> ListAnswer:
        """Lists a directory as a tree, or finds files by name.

        Hidden and ignored names are omitted and counted, and so are directories of dependencies and
        caches.

        Args:
            path: Directory to list (default: the project root).
            name: Find files by name: a glob ("*.rs", "src/**/*_test.go"), a name, a part of one, or nearly
                one.
            changed: List changes since "HEAD" (uncommitted), "main..." or in "A..B"; searches take it too.
            tokens: Map the tree in this many tokens: directories and most used definitions.
            recursive: List subdirectories too.
            max_depth: Levels below it, 0 to 20 (default: 2 when recursive).
            symbols: Show what each file defines.
            include_ignored: List ignored and hidden names too.
        """
    async def read(self, path: str, *, start_line: int | None = None, end_line: int | None = None, symbol: str | None = None, context_lines: int | None = None, outline: bool | None = None) -> ReadAnswer:
        """Reads a text file: whole, a range of its lines, definitions by name, or an outline.

        Binary files and files whose names show that they hold secrets are refused.

        Args:
            path: File, relative to the project root or absolute.
            start_line: First line (default: 1).
            end_line: Last line, inclusive (default: the last that fits).
            symbol: Definitions to read, such as "Client::send, close".
            context_lines: Lines around each definition (default: 0).
            outline: Show what the file defines.
        """
    async def search(self, pattern: str, path: str | None = None, *, case: Literal["smart", "sensitive", "insensitive"] | None = None, fixed_strings: bool | None = None, word_regexp: bool | None = None, file_pattern: str | Sequence[str] | None = None, hidden: bool | None = None, follow: bool | None = None, no_ignore: bool | None = None, context_lines: int | None = None, max_results: int | None = None, timeout_ms: int | None = None, fuzzy: int | None = None, best_first: bool | None = None, cursor: str | None = None) -> SearchAnswer:
        """Searches lines with several globs, smart case and up to four edits.

        Returns single matches and lines of context, in path order. Set `fuzzy` for a name that you
        can't spell exactly; start with 1.

        Args:
            pattern: What to search for in every line: a regular expression, or plain text with
                fixed_strings.
            path: Directory or file to search, relative to the project root or absolute within it (default:
                ".", the project root).
            case: How letters compare; "smart": without regard to case unless the pattern has an upper-case
                letter (default: "smart").
            fixed_strings: The pattern is plain text, not a regular expression (default: false).
            word_regexp: Match whole words only (default: false).
            file_pattern: Globs that choose files, "!" excludes, later ones win; by name ("*.py"), or by
                path if they have a slash ("src/**/*.rs", "!vendor/**"). They re-include ignored files
                (default: all files).
            hidden: Search hidden files too (default: false).
            follow: Follow symbolic links within the project root (default: false).
            no_ignore: Search files that .gitignore and the like exclude too (default: false).
            context_lines: Lines of context around each match, 0 to 50 (default: 0).
            max_results: Matching and context lines to return, 1 to 10000 (default: 200).
            timeout_ms: Time limit in milliseconds, 100 to 300000; what was found by then is returned
                (default: 20000).
            fuzzy: Allow up to this many edits (characters inserted, deleted or replaced), 1 to 4, for names
                you can't spell exactly; leave it out for most searches (default: exact).
            best_first: With fuzzy: the results with the fewest edits first, not in path order (default:
                false).
            cursor: `next_cursor` of the previous answer to the same call, to continue after it.
        """
    def search_each(self, pattern: str, path: str | None = None, *, case: Literal["smart", "sensitive", "insensitive"] | None = None, fixed_strings: bool | None = None, word_regexp: bool | None = None, file_pattern: str | Sequence[str] | None = None, hidden: bool | None = None, follow: bool | None = None, no_ignore: bool | None = None, context_lines: int | None = None, timeout_ms: int | None = None, fuzzy: int | None = None) -> AsyncEach[SearchRecord, SearchAnswer]:
        """Like `search`, but iterates over all results as they are found.

        Args:
            pattern: What to search for in every line: a regular expression, or plain text with
                fixed_strings.
            path: Directory or file to search, relative to the project root or absolute within it (default:
                ".", the project root).
            case: How letters compare; "smart": without regard to case unless the pattern has an upper-case
                letter (default: "smart").
            fixed_strings: The pattern is plain text, not a regular expression (default: false).
            word_regexp: Match whole words only (default: false).
            file_pattern: Globs that choose files, "!" excludes, later ones win; by name ("*.py"), or by
                path if they have a slash ("src/**/*.rs", "!vendor/**"). They re-include ignored files
                (default: all files).
            hidden: Search hidden files too (default: false).
            follow: Follow symbolic links within the project root (default: false).
            no_ignore: Search files that .gitignore and the like exclude too (default: false).
            context_lines: Lines of context around each match, 0 to 50 (default: 0).
            timeout_ms: Time limit in milliseconds, 100 to 300000; what was found by then is returned
                (default: 20000).
            fuzzy: Allow up to this many edits (characters inserted, deleted or replaced), 1 to 4, for names
                you can't spell exactly; leave it out for most searches (default: exact).
        """
    async def lookup(self, query: str, path: str | None = None, *, max_results: int | None = None, repo: str | None = None, language: str | None = None, filter: Sequence[str] | None = None) -> LookupAnswer:
        """Looks up exact words in a collection of sparse vectors.

        For error codes, identifiers and other rare words. The workspace needs a `collection`. If its
        server or its encoder is unavailable, the answer has no hits, and its `status` and `reason` say
        so.

        Args:
            query: Words to look up: an error code, an identifier, an id.
            path: File to look in, by its whole path in the collection.
            max_results: Results to return, 1 to 100 (default: 10).
            repo: Repository to look in, as the collection names it.
            language: Language to look in, such as "rust".
            filter: Conditions on payload fields, all of which must hold: FIELD=VALUE, FIELD=VALUE|VALUE for
                any of them, or FIELD>=NUMBER (>, <=, <), such as ["modality=text", "page_id>=10"].
        """
    async def history(self, path: str | None = None, *, pattern: str | None = None, fixed_strings: bool | None = None, symbol: str | None = None, suspects: str | None = None, since: str | None = None, max_results: int | None = None, cursor: str | None = None) -> HistoryAnswer:
        """Finds the commits that changed a text, a definition or a path, newest first.

        With a pattern, these added or removed a matching line, as for `git log -G`; with
        `fixed_strings` they changed how often the text occurs (`-S`). With `symbol` they changed this
        definition of the file `path` (`-L`). Merges are left out. The top of the repository must be the
        root.

        Args:
            path: Directory or file (default: the project root); "main:src" begins at another revision.
            pattern: Regular expression that an added or removed line matches.
            fixed_strings: The pattern is plain text; only commits that changed how often it occurs.
            symbol: Name of a definition in the file `path`, in place of a pattern.
            suspects: A failure (trace, message, test name), in place of a pattern: the commits most likely
                to have caused it.
            since: For `suspects`: the revision that still worked, or "good..bad" (default: the newest 300
                commits).
            max_results: Commits to return, 1 to 500 (default: 20).
            cursor: `next_cursor` of the previous answer to the same call, to continue after it.
        """
