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
    "FromCache",
    "GrepAnswer",
    "GrepAnswerOfRoot",
    "GrepDefinition",
    "GrepDirectory",
    "GrepFile",
    "GrepLine",
    "GrepReceiver",
    "GrepWithin",
    "Has",
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
    "LookupAnswer",
    "LookupAnswerOfRoot",
    "LookupHit",
    "LookupLine",
    "LookupName",
    "LookupStatus",
    "LookupWithoutFilter",
    "MadeRoomEvent",
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
    """A call has no answer. Each code has a class of its own, which is a subclass of this one."""
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
    """The results of a search, which goes on while they are read. `answer` has the counts once all have been read."""
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
    """The command line is not understood. `forage help COMMAND` has what it takes."""

class RequestError(ForageError):
    """The request of a tool is no JSON object with the right fields. The sentence names the field."""

class ArgumentError(ForageError):
    """The value of an argument can't be used, such as a glob that is none. The sentence names the argument and what it takes."""

class PatternError(ForageError):
    """A pattern is not valid. Mend it where the sentence points, or search for literal text."""

class PathError(ForageError):
    """A path is not there, can't be read, or lies outside of the roots. Paths that are written like it are named."""

class UnknownToolError(ForageError):
    """There is no tool of this name. The sentence has those that there are."""

class BadNameError(ForageError):
    """The configuration calls a tool what no client takes. Change the setting that is named."""

class SameNameError(ForageError):
    """The configuration calls two tools the same. Change one of the settings that are named, or turn a tool off."""

class TooBroadError(ForageError):
    """Every term of a keyword search matches too much. Take longer, more specific terms."""

class NoModelError(ForageError):
    """No model can be asked. Set a key, run a local model, or filter without one; what was looked for is told."""

class ModelsFailedError(ForageError):
    """Every model that was asked failed. What each said is told; try again later, or another one."""

class NoEngineError(ForageError):
    """No external engine that was asked for can run. Install ugrep or ripgrep, or use the embedded engine."""

class EngineError(ForageError):
    """An external engine failed. What it wrote is told; the embedded one needs no other program."""

class SearchIndexError(ForageError):
    """The ranked index can't be used, as it could be wrong. Search lines, or build it anew."""

class CollectionError(ForageError):
    """There is no such collection, it can't be asked so, or its store does not answer. The sentence says what is the matter."""

class UnfinishedError(ForageError):
    """The call was ended before it had found anything, by its time limit for one. Nothing is known of what there is: give it more time, or a smaller place."""

class NoAnswerError(ForageError):
    """The model gave no answer, or refused to give one. Ask otherwise, or another model."""

class CancelledError(ForageError):
    """The call was interrupted. What it had found by then is in the answer."""

class RateLimitedError(ForageError):
    """The token of a team's server has made as many calls as it may, at once or within a minute. The sentence says when to call again."""

class InternalError(ForageError):
    """A fault of Forage. Please report it."""

class FailedError(ForageError):
    """Anything else, such as a configuration that is not valid. The sentence says what."""

class CallVerdict(Record):
    """What is known of the files that a search leaves out by default."""
    @property
    def hidden_matches(self) -> builtins.list[str]:
        """A sentence for each rule that hides matches."""
    @property
    def complete(self) -> bool:
        """All such files were looked at, or there are none: without hidden matches, the pattern is in no text file under the start but those that may hold secrets. Not of a search that found something or did not finish, after which nobody looks."""
    @property
    def other_readings(self) -> builtins.list[str] | None:
        """What other readings of the pattern find: in other case or spelling, as plain text, within an edit. A sentence for each."""
    @property
    def ranked_first(self) -> builtins.list[str] | None:
        """The files that the ranking has first for the words of the pattern."""
    @property
    def unread(self) -> dict[str, int] | None:
        """Files of which nothing is known, as they are not read, by reason."""

class ChangedDefinition(Record):
    """A definition that was added, changed or removed."""
    @property
    def change(self) -> str:
        """`added`, `changed` or `removed`."""
    @property
    def kind(self) -> str:
        """The language's own word for its kind, such as `struct`."""
    @property
    def symbol(self) -> str:
        """Its name, after those of the definitions around it."""
    @property
    def start_line(self) -> int:
        """Its first line, from 1; of a removed one in the file before the change."""
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
        """Below the root; of a renamed file the new path."""
    @property
    def path_bytes(self) -> str | None:
        """The path's own bytes in base64, where `path` quotes them."""
    @property
    def old_path(self) -> str | None:
        """The path that a renamed file had."""
    @property
    def similarity(self) -> int | None:
        """The share of a renamed file that is the same, in percent."""
    @property
    def definitions(self) -> builtins.list[ChangedDefinition] | None:
        """Its definitions that were added, changed or removed, in the order of their lines."""

class CompanionFile(Record):
    """A file that usually changes with one that has changed."""
    @property
    def path(self) -> str:
        """Below the root."""
    @property
    def with(self) -> str:
        """The changed file that it goes with."""
    @property
    def both(self) -> int:
        """Commits that changed both."""
    @property
    def commits(self) -> int:
        """Commits that changed `with`."""

class CutDefinition(Record):
    """A definition of which the end is not shown."""
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
        """The first line, from 1."""
    @property
    def end_line(self) -> int:
        """The last line."""

class FilesLeftOut(Record):
    """Files of a kind that an answer leaves out."""
    @property
    def kind(self) -> str:
        """`test`, `translation`, `lock file` or `generated file`."""
    @property
    def files(self) -> int:
        """How many of the files that were ranked so far."""

class FromCache(Record):
    """What came from the cache of answers."""
    @property
    def answers(self) -> int:
        """Answers that were kept."""
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
        """The path's own bytes in base64, where `path` quotes them."""
    @property
    def kind(self) -> str:
        """The language's own word, such as `struct`, or a general one, such as `function`."""
    @property
    def start_line(self) -> int:
        """The first line of the comments and attributes above it, from 1."""
    @property
    def line(self) -> int:
        """The line that has the name."""
    @property
    def end_line(self) -> int:
        """The last line of its body."""
    @property
    def symbol(self) -> str | None:
        """Where it implements or extends the name, what is defined: the type, or what an anonymous type is in."""
    @property
    def within(self) -> str | None:
        """Of a definition of the name, the definitions around it, the outermost first: `Queue > push`."""
    @property
    def text(self) -> str:
        """The line that has the name, without white space around, cut."""

class GrepDirectory(Record):
    """What is in a directory at the top of the tree, or lies in the tree itself."""
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
        """The path's own bytes in base64, where `path` quotes them."""
    @property
    def match_count(self) -> int:
        """Matching lines that are shown of it, or where files are asked for, all that it has."""
    @property
    def lines(self) -> builtins.list[GrepLine] | None:
        """Matching lines and their context, in order."""

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
        """The line without its line feed; U+FFFD for what is not UTF-8."""
    @property
    def bytes(self) -> str | None:
        """The line's own bytes in base64, where `text` is not all of them."""
    @property
    def spans(self) -> builtins.list[builtins.list[int]] | None:
        """Where in `bytes`, or without them in `text`, the matches are."""
    @property
    def cut_before(self) -> int | None:
        """Bytes that are left out in front of `text`."""
    @property
    def cut_after(self) -> int | None:
        """Bytes that are left out behind `text`."""
    @property
    def mention(self) -> str | None:
        """Where uses are asked for, how a matching line uses the name: `definition`, `implementation`, `call`, `type`, `import`, `code`, `string` or `comment`."""
    @property
    def receiver(self) -> str | None:
        """`unknown` where uses of a qualified name are asked for and nothing says whether this is one of them."""
    @property
    def within(self) -> GrepWithin | None:
        """Where uses are asked for, the innermost definition around the line."""

class GrepReceiver(Record):
    """Lines that a qualified name leaves out, because the name belongs to another type or module there."""
    @property
    def name(self) -> str:
        """The other type or module."""
    @property
    def line_count(self) -> int:
        """Lines of the page's files."""

class GrepWithin(Record):
    """The innermost definition that a line stands in."""
    @property
    def symbol(self) -> str:
        """Its name, behind those of the definitions around it."""
    @property
    def start_line(self) -> int:
        """Its first line, from 1."""
    @property
    def end_line(self) -> int:
        """Its last line."""

class KeywordFile(Record):
    """A file of the answer."""
    @property
    def path(self) -> str:
        """The absolute path of the file."""
    @property
    def path_bytes(self) -> str | None:
        """The path's own bytes in base64, where `path` quotes them."""
    @property
    def explanation(self) -> str:
        """Why it is there, in the words of a model or of the ranking."""
    @property
    def grade(self) -> int | None:
        """How relevant the model finds it, 3 most; only from answers by ids."""
    @property
    def ranges(self) -> builtins.list[LineRange] | None:
        """Lines that the model points at; only from answers by ids."""
    @property
    def not_filtered(self) -> bool | None:
        """No model has judged this file, although others of the same answer were judged."""
    @property
    def is_ranked(self) -> bool | None:
        """A ranking of all files brought it in; no line of it was chosen for a term."""
    @property
    def match_lines(self) -> builtins.list[int]:
        """Numbers of the lines that a term matches, from our own search; of a file that a ranking found, of its best lines."""
    @property
    def more_match_lines(self) -> int | None:
        """At least so many more match."""
    @property
    def evidence(self) -> builtins.list[KeywordLine] | None:
        """The lines that say most, without a model's words."""

class KeywordLine(Record):
    """A line of a file."""
    @property
    def line_number(self) -> int:
        """From 1."""
    @property
    def text(self) -> str:
        """The line without indent; of a long one the part around its first match."""

class LineRange(Record):
    """Lines of a file that a model points at."""
    @property
    def first(self) -> int:
        """From 1."""
    @property
    def last(self) -> int:
        """The last line of them."""
    @property
    def shown(self) -> bool:
        """Whether the model was shown them. Of others it can't know what they hold, or whether they exist."""

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
        """The path's own bytes in base64, where `path` quotes them."""
    @property
    def type(self) -> str:
        """`directory`, `file` or `symlink`."""
    @property
    def lines(self) -> int | None:
        """Lines of a text file."""
    @property
    def symbols(self) -> builtins.list[str] | None:
        """Names that a file defines outside of all others, in the order of lines, where symbols are asked for."""
    @property
    def symbols_more(self) -> int | None:
        """Such names that are not among `symbols` for their number."""
    @property
    def note(self) -> str | None:
        """Why there is no line count."""
    @property
    def target(self) -> str | None:
        """Where a link leads, as it is written in it."""

class LookupHit(Record):
    """A chunk of the collection."""
    @property
    def id(self) -> str:
        """Of its point."""
    @property
    def score(self) -> float:
        """Comparable within one answer."""
    @property
    def has(self) -> Has | None:
        """Where the query is a name: what the text has of it."""
    @property
    def payload(self) -> dict[str, Any]:
        """The payload fields that the configuration asks for; a text to its first 4,000 bytes, whole in Python and Node."""
    @property
    def lines(self) -> builtins.list[LookupLine]:
        """The lines of the text that have most of the words."""

class LookupLine(Record):
    """A line of a chunk."""
    @property
    def line_number(self) -> int | None:
        """Where the text says where it begins."""
    @property
    def text(self) -> str:
        """The line."""

class LookupName(Record):
    """What is known of a name."""
    @property
    def name(self) -> str:
        """The name as the query has it."""
    @property
    def presence(self) -> Presence:
        """Whether the collection has it, under the filter."""
    @property
    def whole(self) -> int:
        """Chunks that have it as it is written, as far as they were compared."""
    @property
    def other_case(self) -> int:
        """Chunks that have it in another case alone."""
    @property
    def compared(self) -> int:
        """Chunks whose texts were compared with it."""
    @property
    def without_text(self) -> int:
        """Chunks that may have it and have no text to compare."""
    @property
    def complete(self) -> bool:
        """Whether all chunks that can have it were compared."""
    @property
    def without_filter(self) -> int | None:
        """Where none has it under the filter: how many have it without the filter, in any case."""

class LookupWithoutFilter(Record):
    """What there is without the filter."""
    @property
    def chunks(self) -> int:
        """Chunks that have any of the words."""
    @property
    def at_least(self) -> bool:
        """There may be more of them."""
    @property
    def under_filter(self) -> int:
        """Chunks that the filter lets through, whatever words they have."""

class ModelRecord(Record):
    """What was asked of models."""
    @property
    def name(self) -> str:
        """`provider/model`, of several requests the one that was asked first."""
    @property
    def input_tokens(self) -> int | None:
        """Tokens of the requests, where all providers tell."""
    @property
    def cached_input_tokens(self) -> int | None:
        """Those of them that were read from a cache of the provider."""
    @property
    def output_tokens(self) -> int | None:
        """Tokens of the answers."""
    @property
    def cost_usd(self) -> float | None:
        """What the requests cost in US dollars, when tokens and prices of all are known."""
    @property
    def elapsed_ms(self) -> int:
        """Time until all had answered."""
    @property
    def shards(self) -> int | None:
        """Requests that the evidence was split into, where it was."""
    @property
    def from_cache(self) -> FromCache | None:
        """Answers that came from the cache and cost nothing now."""
    @property
    def redacted(self) -> int:
        """Secrets taken out of what was sent."""
    @property
    def dropped_paths(self) -> int:
        """Lines or entries of the answer that name files which were not sent."""

class OutlineEntry(Record):
    """A definition of the outline."""
    @property
    def name(self) -> str:
        """The name, without what qualifies it."""
    @property
    def kind(self) -> str:
        """The language's own word, such as `struct` or `def`; a general one, such as `function`, if `by_line`."""
    @property
    def start_line(self) -> int:
        """The first line of the comments and attributes above it, from 1."""
    @property
    def line(self) -> int:
        """The line that has the name."""
    @property
    def end_line(self) -> int:
        """The last line of its body."""
    @property
    def depth(self) -> int:
        """Definitions around it."""
    @property
    def text(self) -> str:
        """The line that has the name, without white space in front, cut."""

class RankedChunk(Record):
    """Lines of one definition, or of a part of a file outside of all."""
    @property
    def start_line(self) -> int:
        """The first line, from 1."""
    @property
    def end_line(self) -> int:
        """The last line."""
    @property
    def symbol(self) -> str | None:
        """The innermost definition that holds the lines, after the names of those around it."""
    @property
    def kind(self) -> str | None:
        """Its kind in the language's own word, such as `struct`."""
    @property
    def lines(self) -> builtins.list[RankedLine]:
        """Lines that have most of what is asked for, in order."""

class RankedCode(Record):
    """Lines of a file that stand together."""
    @property
    def start_line(self) -> int:
        """The first line, from 1."""
    @property
    def end_line(self) -> int:
        """The last line."""
    @property
    def within(self) -> str | None:
        """The definitions around the first line that begin before it, the outermost first: `Queue > push`."""
    @property
    def within_end_line(self) -> int | None:
        """The last line of the innermost of these, where the lines go on after it."""
    @property
    def cut(self) -> CutDefinition | None:
        """The function that the lines end in, where more of it is not shown."""
    @property
    def comment_lines(self) -> int | None:
        """Lines of a long comment directly before the first line, which are left out."""
    @property
    def lines(self) -> builtins.list[str]:
        """The lines without line ends; U+FFFD for what is not UTF-8, and what hides or reorders text written out."""

class RankedFile(Record):
    """A ranked file."""
    @property
    def path(self) -> str:
        """The file, or where was searched, below the root."""
    @property
    def path_bytes(self) -> str | None:
        """The path's own bytes in base64, where `path` quotes them."""
    @property
    def score(self) -> float:
        """Comparable within one answer."""
    @property
    def chunks(self) -> builtins.list[RankedChunk]:
        """The best first; in an answer with code one with one line, of files of which no code is shown."""
    @property
    def reason(self) -> str | None:
        """What gave the file the most, of files of which no code is shown in an answer with code."""
    @property
    def code(self) -> builtins.list[RankedCode] | None:
        """Lines that help most, in order, in an answer with code."""
    @property
    def shown_earlier(self) -> builtins.list[EarlierLines] | None:
        """Lines that an earlier answer has shown, which are as they were and are not shown again."""
    @property
    def unshown(self) -> builtins.list[UnshownDefinition] | None:
        """Definitions of which no line was shown, of the first files with code, the most likely to help first."""
    @property
    def unshown_more(self) -> int | None:
        """Definitions that are not among `unshown` for their number."""
    @property
    def reasons(self) -> builtins.list[RankedReason] | None:
        """What each rule gave or took, the strongest first; with `explain`."""

class RankedLine(Record):
    """A line of a part."""
    @property
    def line_number(self) -> int:
        """From 1."""
    @property
    def text(self) -> str:
        """The line without indent; of a long one the part that was found."""

class RankedReason(Record):
    """What a rule gave or took."""
    @property
    def rule(self) -> str:
        """The name of the rule."""
    @property
    def gives(self) -> float:
        """Added to the score, or the share that is taken off it (negative)."""
    @property
    def about(self) -> str:
        """What the rule looks at."""

class ReadPart(Record):
    """A further definition that was asked for."""
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
    """What `rg --json` has as `data`."""
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
        """Where in the line's bytes the matches are."""
    @property
    def distance(self) -> int | None:
        """Edits of the best match in the line; fuzzy searches only."""
    @property
    def cut_before(self) -> int | None:
        """Bytes that are left out in front of the line."""
    @property
    def cut_after(self) -> int | None:
        """Bytes that are left out behind it."""

class SearchRecord(Record):
    """A line that matches, or one of its context."""
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
        """In base64, where `text` is not all of it: it quotes, writes out or has U+FFFD for what is not UTF-8."""

class Submatch(Record):
    """A match within a line."""
    @property
    def start(self) -> int:
        """The first byte of the match in the line."""
    @property
    def end(self) -> int:
        """The byte behind it."""
    @property
    def distance(self) -> int | None:
        """Edits of this match; fuzzy searches only."""

class TermRecord(Record):
    """What became of a term."""
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
        """Bytes that ripgrep prints for this term alone; a lower bound for a term that is too broad."""
    @property
    def lines(self) -> int:
        """Matching lines."""
    @property
    def files(self) -> int:
        """Files with such lines."""
    @property
    def lines_at_least(self) -> bool | None:
        """Both are lower bounds: not all were counted."""
    @property
    def shown(self) -> dict[str, Any] | None:
        """How much of it the model was shown, where that is less than all lines with all their context."""

class UnreadRoot(Record):
    """One of several roots that could not be looked at."""
    @property
    def root(self) -> str:
        """The root."""
    @property
    def error(self) -> str:
        """Why."""

class UnshownDefinition(Record):
    """A definition of which no line is shown."""
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def kind(self) -> str:
        """What it is, such as `function`."""
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
    """The records of `search_index`."""
    @property
    def query(self) -> str:
        """The query, as the caller wrote it."""
    @property
    def path(self) -> str:
        """The file, or where was searched, below the root."""
    @property
    def roots(self) -> builtins.list[str] | None:
        """The roots that were ranked, where they are several: paths below the first root are relative, all others whole."""
    @property
    def files(self) -> builtins.list[RankedFile]:
        """The best first."""
    @property
    def matching_files(self) -> int:
        """Files that have something of what is asked for."""
    @property
    def files_searched(self) -> int:
        """Files in the index."""
    @property
    def provisional(self) -> bool:
        """There is no ranked index of the whole yet: these are the best of the files with most of the words."""
    @property
    def weak(self) -> bool:
        """Even the best file has little of what is asked for."""
    @property
    def lead(self) -> float:
        """By how much the first file is ahead of the second, as a share of its own score; 1 for a single one."""
    @property
    def strength(self) -> float:
        """Share of what is asked for that the best file has, weighted by rarity, 0 to 1."""
    @property
    def unknown_words(self) -> builtins.list[str]:
        """Words of the query that no file has."""
    @property
    def own_names(self) -> builtins.list[str] | None:
        """Words of the query that weigh nothing, being what the project calls itself; with `explain`."""
    @property
    def understood(self) -> builtins.list[str]:
        """Quotes, filters and words to leave out that were taken as such."""
    @property
    def ignored(self) -> builtins.list[str]:
        """What looks like one of these and was taken for nothing."""
    @property
    def no_file_chosen(self) -> bool:
        """No file of the index is in `path`, fits `file_pattern` and is of one of the `languages`."""
    @property
    def history(self) -> builtins.list[str] | None:
        """What is known of the commits of each root; with `explain`."""
    @property
    def left_out(self) -> builtins.list[FilesLeftOut] | None:
        """Files that an answer with code leaves out, because the query does not ask for their kind."""
    @property
    def continued(self) -> bool:
        """This page continues another."""
    @property
    def not_searched(self) -> CallVerdict:
        """For an answer without files: what is in those that the configuration leaves out."""
    @property
    def truncated(self) -> bool:
        """Whether there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Passed back as `cursor`, the call goes on where this one ended."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Sentences about what went wrong without ending the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets hidden as `[redacted:RULE]`, counted by rule; the files have another text there."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """What kept the call from its answer, or from finding anything."""
    @property
    def code(self) -> ErrorCode | None:
        """The same for programs."""
    @property
    def other_roots(self) -> builtins.list[RankAnswerOfRoot | UnreadRoot] | None:
        """The same of each other root, of a call that is about several: these records, or `root` and `error`."""
    def __iter__(self) -> Iterator[RankedFile]: ...
    def __len__(self) -> int: ...

class RankAnswerOfRoot(Record):
    """The records of `search_index`."""
    @property
    def query(self) -> str:
        """The query, as the caller wrote it."""
    @property
    def path(self) -> str:
        """The file, or where was searched, below the root."""
    @property
    def roots(self) -> builtins.list[str] | None:
        """The roots that were ranked, where they are several: paths below the first root are relative, all others whole."""
    @property
    def files(self) -> builtins.list[RankedFile]:
        """The best first."""
    @property
    def matching_files(self) -> int:
        """Files that have something of what is asked for."""
    @property
    def files_searched(self) -> int:
        """Files in the index."""
    @property
    def provisional(self) -> bool:
        """There is no ranked index of the whole yet: these are the best of the files with most of the words."""
    @property
    def weak(self) -> bool:
        """Even the best file has little of what is asked for."""
    @property
    def lead(self) -> float:
        """By how much the first file is ahead of the second, as a share of its own score; 1 for a single one."""
    @property
    def strength(self) -> float:
        """Share of what is asked for that the best file has, weighted by rarity, 0 to 1."""
    @property
    def unknown_words(self) -> builtins.list[str]:
        """Words of the query that no file has."""
    @property
    def own_names(self) -> builtins.list[str] | None:
        """Words of the query that weigh nothing, being what the project calls itself; with `explain`."""
    @property
    def understood(self) -> builtins.list[str]:
        """Quotes, filters and words to leave out that were taken as such."""
    @property
    def ignored(self) -> builtins.list[str]:
        """What looks like one of these and was taken for nothing."""
    @property
    def no_file_chosen(self) -> bool:
        """No file of the index is in `path`, fits `file_pattern` and is of one of the `languages`."""
    @property
    def history(self) -> builtins.list[str] | None:
        """What is known of the commits of each root; with `explain`."""
    @property
    def left_out(self) -> builtins.list[FilesLeftOut] | None:
        """Files that an answer with code leaves out, because the query does not ask for their kind."""
    @property
    def continued(self) -> bool:
        """This page continues another."""
    @property
    def not_searched(self) -> CallVerdict:
        """For an answer without files: what is in those that the configuration leaves out."""
    @property
    def truncated(self) -> bool:
        """Whether there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Passed back as `cursor`, the call goes on where this one ended."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Sentences about what went wrong without ending the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets hidden as `[redacted:RULE]`, counted by rule; the files have another text there."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """What kept the call from its answer, or from finding anything."""
    @property
    def code(self) -> ErrorCode | None:
        """The same for programs."""

class GrepAnswer(Answer):
    """The records of `grep_search`."""
    @property
    def pattern(self) -> str:
        """The pattern, as the caller wrote it."""
    @property
    def path(self) -> str:
        """Where was searched, or the file, below the root."""
    @property
    def match_count(self) -> int:
        """Matching lines, whether shown or not; a lower bound unless `totals_exact`."""
    @property
    def file_count(self) -> int:
        """Files with matching lines, likewise."""
    @property
    def totals_exact(self) -> bool:
        """Whether both counts are exact."""
    @property
    def files_searched(self) -> int:
        """Files whose text was searched."""
    @property
    def files(self) -> builtins.list[GrepFile]:
        """Files with matching lines, in path order."""
    @property
    def definitions(self) -> builtins.list[GrepDefinition] | None:
        """Definitions of the name, where its uses are asked for: those of tests and those without a body last."""
    @property
    def definition_count(self) -> int | None:
        """Definitions of the name that were found, whether in `definitions` or not."""
    @property
    def implementations(self) -> builtins.list[GrepDefinition] | None:
        """Types that implement or extend the name, where its uses are asked for: those of tests last."""
    @property
    def implementation_count(self) -> int | None:
        """Those that were found, whether in `implementations` or not."""
    @property
    def qualifier(self) -> str | None:
        """The type or module of a qualified name whose uses are asked for."""
    @property
    def left_out_count(self) -> int | None:
        """Lines with the name that this page leaves out, because it belongs to another type or module there."""
    @property
    def left_out(self) -> builtins.list[GrepReceiver] | None:
        """These types and modules, the most lines first."""
    @property
    def elsewhere(self) -> builtins.list[GrepDirectory] | None:
        """Where those are that are not in `files`, the most first."""
    @property
    def no_file_chosen(self) -> bool:
        """`file_pattern` was given and no file fits it."""
    @property
    def continued(self) -> bool:
        """This page continues another: the counts are of what follows it, but where uses are asked for, of all."""
    @property
    def not_searched(self) -> CallVerdict:
        """For a search without hits: what is in files that were not searched."""
    @property
    def truncated(self) -> bool:
        """Whether there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Passed back as `cursor`, the call goes on where this one ended."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Sentences about what went wrong without ending the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets hidden as `[redacted:RULE]`, counted by rule; the files have another text there."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """What kept the call from its answer, or from finding anything."""
    @property
    def code(self) -> ErrorCode | None:
        """The same for programs."""
    @property
    def other_roots(self) -> builtins.list[GrepAnswerOfRoot | UnreadRoot] | None:
        """The same of each other root, of a call that is about several: these records, or `root` and `error`."""
    def __iter__(self) -> Iterator[GrepFile]: ...
    def __len__(self) -> int: ...

class GrepAnswerOfRoot(Record):
    """The records of `grep_search`."""
    @property
    def pattern(self) -> str:
        """The pattern, as the caller wrote it."""
    @property
    def path(self) -> str:
        """Where was searched, or the file, below the root."""
    @property
    def match_count(self) -> int:
        """Matching lines, whether shown or not; a lower bound unless `totals_exact`."""
    @property
    def file_count(self) -> int:
        """Files with matching lines, likewise."""
    @property
    def totals_exact(self) -> bool:
        """Whether both counts are exact."""
    @property
    def files_searched(self) -> int:
        """Files whose text was searched."""
    @property
    def files(self) -> builtins.list[GrepFile]:
        """Files with matching lines, in path order."""
    @property
    def definitions(self) -> builtins.list[GrepDefinition] | None:
        """Definitions of the name, where its uses are asked for: those of tests and those without a body last."""
    @property
    def definition_count(self) -> int | None:
        """Definitions of the name that were found, whether in `definitions` or not."""
    @property
    def implementations(self) -> builtins.list[GrepDefinition] | None:
        """Types that implement or extend the name, where its uses are asked for: those of tests last."""
    @property
    def implementation_count(self) -> int | None:
        """Those that were found, whether in `implementations` or not."""
    @property
    def qualifier(self) -> str | None:
        """The type or module of a qualified name whose uses are asked for."""
    @property
    def left_out_count(self) -> int | None:
        """Lines with the name that this page leaves out, because it belongs to another type or module there."""
    @property
    def left_out(self) -> builtins.list[GrepReceiver] | None:
        """These types and modules, the most lines first."""
    @property
    def elsewhere(self) -> builtins.list[GrepDirectory] | None:
        """Where those are that are not in `files`, the most first."""
    @property
    def no_file_chosen(self) -> bool:
        """`file_pattern` was given and no file fits it."""
    @property
    def continued(self) -> bool:
        """This page continues another: the counts are of what follows it, but where uses are asked for, of all."""
    @property
    def not_searched(self) -> CallVerdict:
        """For a search without hits: what is in files that were not searched."""
    @property
    def truncated(self) -> bool:
        """Whether there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Passed back as `cursor`, the call goes on where this one ended."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Sentences about what went wrong without ending the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets hidden as `[redacted:RULE]`, counted by rule; the files have another text there."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """What kept the call from its answer, or from finding anything."""
    @property
    def code(self) -> ErrorCode | None:
        """The same for programs."""

class KeywordSearchAnswer(Answer):
    """The records of `keyword_search`."""
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
        """Files that any kept term matches."""
    @property
    def ranked_files(self) -> int | None:
        """Files of which a ranking of all files chose the lines, and no term (`filter.candidates = "union"`)."""
    @property
    def terms(self) -> builtins.list[TermRecord]:
        """What became of each term, in their order."""
    @property
    def evidence_bytes(self) -> int:
        """Bytes that ripgrep would print for the kept terms, or for what of them was chosen to be shown."""
    @property
    def files_searched(self) -> int:
        """Files whose text was searched."""
    @property
    def model(self) -> ModelRecord | None:
        """What the models say of themselves; none without one."""
    @property
    def not_searched(self) -> CallVerdict:
        """For a search without hits: what is in files that were not searched."""
    @property
    def truncated(self) -> bool:
        """Whether there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Passed back as `cursor`, the call goes on where this one ended."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Sentences about what went wrong without ending the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets hidden as `[redacted:RULE]`, counted by rule; the files have another text there."""
    @property
    def other_roots(self) -> builtins.list[KeywordSearchAnswerOfRoot | UnreadRoot] | None:
        """The same of each other root, of a call that is about several: these records, or `root` and `error`."""
    @property
    def error(self) -> str | None:
        """What kept the call from its answer, or from finding anything."""
    @property
    def code(self) -> ErrorCode | None:
        """The same for programs."""
    def __iter__(self) -> Iterator[KeywordFile]: ...
    def __len__(self) -> int: ...

class KeywordSearchAnswerOfRoot(Record):
    """The records of `keyword_search`."""
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
        """Files that any kept term matches."""
    @property
    def ranked_files(self) -> int | None:
        """Files of which a ranking of all files chose the lines, and no term (`filter.candidates = "union"`)."""
    @property
    def terms(self) -> builtins.list[TermRecord]:
        """What became of each term, in their order."""
    @property
    def evidence_bytes(self) -> int:
        """Bytes that ripgrep would print for the kept terms, or for what of them was chosen to be shown."""
    @property
    def files_searched(self) -> int:
        """Files whose text was searched."""
    @property
    def model(self) -> ModelRecord | None:
        """What the models say of themselves; none without one."""
    @property
    def not_searched(self) -> CallVerdict:
        """For a search without hits: what is in files that were not searched."""
    @property
    def truncated(self) -> bool:
        """Whether there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Passed back as `cursor`, the call goes on where this one ended."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Sentences about what went wrong without ending the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets hidden as `[redacted:RULE]`, counted by rule; the files have another text there."""
    @property
    def error(self) -> str | None:
        """What kept the call from its answer, or from finding anything."""
    @property
    def code(self) -> ErrorCode | None:
        """The same for programs."""

class ListAnswer(Answer):
    """The records of `list_directory`."""
    @property
    def path(self) -> str:
        """Below the root."""
    @property
    def max_depth(self) -> int:
        """Levels of subdirectories that were listed."""
    @property
    def not_entered(self) -> int:
        """Directories below `max_depth`: what is in them is not listed."""
    @property
    def entry_count(self) -> int:
        """Entries found, whether shown or not."""
    @property
    def entries(self) -> builtins.list[ListEntry]:
        """In path order."""
    @property
    def pruned(self) -> builtins.list[str]:
        """Names of directories that were not entered, wherever they occur."""
    @property
    def hidden_count(self) -> int | None:
        """Of files by name of which none is found, how many are ignored or hidden."""
    @property
    def name(self) -> str | None:
        """The name that files were asked for by."""
    @property
    def changes(self) -> ListChanges | None:
        """The change set that was asked for."""
    @property
    def truncated(self) -> bool:
        """Whether there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Passed back as `cursor`, the call goes on where this one ended."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Sentences about what went wrong without ending the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets hidden as `[redacted:RULE]`, counted by rule; the files have another text there."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """What kept the call from its answer, or from finding anything."""
    @property
    def code(self) -> ErrorCode | None:
        """The same for programs."""
    @property
    def other_roots(self) -> builtins.list[ListAnswerOfRoot | UnreadRoot] | None:
        """The same of each other root, of a call that is about several: these records, or `root` and `error`."""
    def __iter__(self) -> Iterator[ListEntry]: ...
    def __len__(self) -> int: ...

class ListAnswerOfRoot(Record):
    """The records of `list_directory`."""
    @property
    def path(self) -> str:
        """Below the root."""
    @property
    def max_depth(self) -> int:
        """Levels of subdirectories that were listed."""
    @property
    def not_entered(self) -> int:
        """Directories below `max_depth`: what is in them is not listed."""
    @property
    def entry_count(self) -> int:
        """Entries found, whether shown or not."""
    @property
    def entries(self) -> builtins.list[ListEntry]:
        """In path order."""
    @property
    def pruned(self) -> builtins.list[str]:
        """Names of directories that were not entered, wherever they occur."""
    @property
    def hidden_count(self) -> int | None:
        """Of files by name of which none is found, how many are ignored or hidden."""
    @property
    def name(self) -> str | None:
        """The name that files were asked for by."""
    @property
    def changes(self) -> ListChanges | None:
        """The change set that was asked for."""
    @property
    def truncated(self) -> bool:
        """Whether there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Passed back as `cursor`, the call goes on where this one ended."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Sentences about what went wrong without ending the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets hidden as `[redacted:RULE]`, counted by rule; the files have another text there."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """What kept the call from its answer, or from finding anything."""
    @property
    def code(self) -> ErrorCode | None:
        """The same for programs."""

class ReadAnswer(Answer):
    """The records of `read_file`."""
    @property
    def path(self) -> str:
        """The file, below the root."""
    @property
    def path_bytes(self) -> str | None:
        """The path's own bytes in base64, where `path` quotes them."""
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
        """Whether `total_lines` is exact."""
    @property
    def size(self) -> int:
        """Bytes of the file."""
    @property
    def encoding(self) -> str:
        """The encoding of the file, such as `UTF-8`."""
    @property
    def lines(self) -> builtins.list[str]:
        """Lines as they are in the file, without line ends; U+FFFD for what is not UTF-8, and what hides or reorders text written out."""
    @property
    def further(self) -> builtins.list[ReadPart] | None:
        """Where several definitions were asked for, those after the first."""
    @property
    def symbol_notes(self) -> builtins.list[str] | None:
        """Other definitions with a requested name, and members of a requested type outside of its lines."""
    @property
    def outline(self) -> builtins.list[OutlineEntry] | None:
        """What the file defines, in the order of lines, where an outline was asked for."""
    @property
    def outline_left_out(self) -> dict[str, int] | None:
        """Number of definitions that the outline leaves out, the least important, by kind."""
    @property
    def outline_by_line(self) -> bool | None:
        """The outline was read by line, because there is no parser for the language or the file is too large for it: definitions may be missing or end elsewhere."""
    @property
    def outline_has_errors(self) -> bool | None:
        """The parser met errors in the file: definitions near them are read by line, may end elsewhere or be missing."""
    @property
    def line_bytes(self) -> dict[str, str] | None:
        """Of lines that are not wholly in `lines`, by their number, the bytes in base64."""
    @property
    def redacted_lines(self) -> builtins.list[int] | None:
        """Numbers of the lines in which a secret is hidden: the file has another text there."""
    @property
    def cut_lines(self) -> int:
        """Lines cut for their length."""
    @property
    def crlf(self) -> bool:
        """Whether lines end with CR LF."""
    @property
    def not_utf8(self) -> bool:
        """Whether U+FFFD stands for bytes that are no text."""
    @property
    def truncated(self) -> bool:
        """Whether there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Passed back as `cursor`, the call goes on where this one ended."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Sentences about what went wrong without ending the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets hidden as `[redacted:RULE]`, counted by rule; the files have another text there."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """What kept the call from its answer, or from finding anything."""
    @property
    def code(self) -> ErrorCode | None:
        """The same for programs."""
    @property
    def other_roots(self) -> builtins.list[ReadAnswerOfRoot | UnreadRoot] | None:
        """The same of each other root, of a call that is about several: these records, or `root` and `error`."""
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...

class ReadAnswerOfRoot(Record):
    """The records of `read_file`."""
    @property
    def path(self) -> str:
        """The file, below the root."""
    @property
    def path_bytes(self) -> str | None:
        """The path's own bytes in base64, where `path` quotes them."""
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
        """Whether `total_lines` is exact."""
    @property
    def size(self) -> int:
        """Bytes of the file."""
    @property
    def encoding(self) -> str:
        """The encoding of the file, such as `UTF-8`."""
    @property
    def lines(self) -> builtins.list[str]:
        """Lines as they are in the file, without line ends; U+FFFD for what is not UTF-8, and what hides or reorders text written out."""
    @property
    def further(self) -> builtins.list[ReadPart] | None:
        """Where several definitions were asked for, those after the first."""
    @property
    def symbol_notes(self) -> builtins.list[str] | None:
        """Other definitions with a requested name, and members of a requested type outside of its lines."""
    @property
    def outline(self) -> builtins.list[OutlineEntry] | None:
        """What the file defines, in the order of lines, where an outline was asked for."""
    @property
    def outline_left_out(self) -> dict[str, int] | None:
        """Number of definitions that the outline leaves out, the least important, by kind."""
    @property
    def outline_by_line(self) -> bool | None:
        """The outline was read by line, because there is no parser for the language or the file is too large for it: definitions may be missing or end elsewhere."""
    @property
    def outline_has_errors(self) -> bool | None:
        """The parser met errors in the file: definitions near them are read by line, may end elsewhere or be missing."""
    @property
    def line_bytes(self) -> dict[str, str] | None:
        """Of lines that are not wholly in `lines`, by their number, the bytes in base64."""
    @property
    def redacted_lines(self) -> builtins.list[int] | None:
        """Numbers of the lines in which a secret is hidden: the file has another text there."""
    @property
    def cut_lines(self) -> int:
        """Lines cut for their length."""
    @property
    def crlf(self) -> bool:
        """Whether lines end with CR LF."""
    @property
    def not_utf8(self) -> bool:
        """Whether U+FFFD stands for bytes that are no text."""
    @property
    def truncated(self) -> bool:
        """Whether there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Passed back as `cursor`, the call goes on where this one ended."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Sentences about what went wrong without ending the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets hidden as `[redacted:RULE]`, counted by rule; the files have another text there."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """What kept the call from its answer, or from finding anything."""
    @property
    def code(self) -> ErrorCode | None:
        """The same for programs."""

class SearchAnswer(Answer):
    """The answer of `Search`."""
    @property
    def pattern(self) -> str:
        """The pattern, as the caller wrote it."""
    @property
    def path(self) -> str:
        """Where was searched, below the root."""
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
        """Whether the time was over first."""
    @property
    def engine(self) -> str:
        """`embedded`, `ugrep` or `rg`."""
    @property
    def exit_code(self) -> int | None:
        """That of an external engine."""
    @property
    def stderr(self) -> str | None:
        """What an external engine wrote to stderr."""
    @property
    def files_searched(self) -> int:
        """Files that were searched."""
    @property
    def continued(self) -> bool:
        """This answer continues another: the counts are of what follows it."""
    @property
    def no_file_chosen(self) -> bool:
        """`glob` was given and no file fits it."""
    @property
    def not_searched(self) -> CallVerdict:
        """For a search without hits: what is in files that were not searched."""
    @property
    def truncated(self) -> bool:
        """Whether there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Passed back as `cursor`, the call goes on where this one ended."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Sentences about what went wrong without ending the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets hidden as `[redacted:RULE]`, counted by rule; the files have another text there."""
    @property
    def content(self) -> str | None:
        """The text of the answer."""
    @property
    def error(self) -> str | None:
        """What kept the call from its answer, or from finding anything."""
    @property
    def code(self) -> ErrorCode | None:
        """The same for programs."""
    @property
    def other_roots(self) -> builtins.list[SearchAnswerOfRoot | UnreadRoot] | None:
        """The same of each other root, of a call that is about several: these records, or `root` and `error`."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    def __iter__(self) -> Iterator[SearchRecord]: ...
    def __len__(self) -> int: ...

class SearchAnswerOfRoot(Record):
    """The answer of `Search`."""
    @property
    def pattern(self) -> str:
        """The pattern, as the caller wrote it."""
    @property
    def path(self) -> str:
        """Where was searched, below the root."""
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
        """Whether the time was over first."""
    @property
    def engine(self) -> str:
        """`embedded`, `ugrep` or `rg`."""
    @property
    def exit_code(self) -> int | None:
        """That of an external engine."""
    @property
    def stderr(self) -> str | None:
        """What an external engine wrote to stderr."""
    @property
    def files_searched(self) -> int:
        """Files that were searched."""
    @property
    def continued(self) -> bool:
        """This answer continues another: the counts are of what follows it."""
    @property
    def no_file_chosen(self) -> bool:
        """`glob` was given and no file fits it."""
    @property
    def not_searched(self) -> CallVerdict:
        """For a search without hits: what is in files that were not searched."""
    @property
    def truncated(self) -> bool:
        """Whether there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Passed back as `cursor`, the call goes on where this one ended."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Sentences about what went wrong without ending the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets hidden as `[redacted:RULE]`, counted by rule; the files have another text there."""
    @property
    def content(self) -> str | None:
        """The text of the answer."""
    @property
    def error(self) -> str | None:
        """What kept the call from its answer, or from finding anything."""
    @property
    def code(self) -> ErrorCode | None:
        """The same for programs."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""

class LookupAnswer(Answer):
    """The records of `keyword_lookup`."""
    @property
    def query(self) -> str:
        """The query, as the caller wrote it."""
    @property
    def collection(self) -> str:
        """Where was looked; empty where none is configured."""
    @property
    def status(self) -> LookupStatus:
        """How the lookup ended."""
    @property
    def reason(self) -> str | None:
        """Why nothing was looked up."""
    @property
    def filter(self) -> builtins.list[str] | None:
        """What results had to be beside having the words, a condition each."""
    @property
    def name(self) -> LookupName | None:
        """Where the query is one identifier or code: what is known of it as a whole."""
    @property
    def without_filter(self) -> LookupWithoutFilter | None:
        """Where nothing was found under the filter: what there is without it."""
    @property
    def cut(self) -> int:
        """Results that are left out because they score less than a hundredth of the best."""
    @property
    def hits(self) -> builtins.list[LookupHit]:
        """Best first; those that score the same by id. Where the query is a name, those that have it as a whole come first."""
    @property
    def truncated(self) -> bool:
        """Whether there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Passed back as `cursor`, the call goes on where this one ended."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Sentences about what went wrong without ending the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets hidden as `[redacted:RULE]`, counted by rule; the files have another text there."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """What kept the call from its answer, or from finding anything."""
    @property
    def code(self) -> ErrorCode | None:
        """The same for programs."""
    @property
    def other_roots(self) -> builtins.list[LookupAnswerOfRoot | UnreadRoot] | None:
        """The same of each other root, of a call that is about several: these records, or `root` and `error`."""
    def __iter__(self) -> Iterator[LookupHit]: ...
    def __len__(self) -> int: ...

class LookupAnswerOfRoot(Record):
    """The records of `keyword_lookup`."""
    @property
    def query(self) -> str:
        """The query, as the caller wrote it."""
    @property
    def collection(self) -> str:
        """Where was looked; empty where none is configured."""
    @property
    def status(self) -> LookupStatus:
        """How the lookup ended."""
    @property
    def reason(self) -> str | None:
        """Why nothing was looked up."""
    @property
    def filter(self) -> builtins.list[str] | None:
        """What results had to be beside having the words, a condition each."""
    @property
    def name(self) -> LookupName | None:
        """Where the query is one identifier or code: what is known of it as a whole."""
    @property
    def without_filter(self) -> LookupWithoutFilter | None:
        """Where nothing was found under the filter: what there is without it."""
    @property
    def cut(self) -> int:
        """Results that are left out because they score less than a hundredth of the best."""
    @property
    def hits(self) -> builtins.list[LookupHit]:
        """Best first; those that score the same by id. Where the query is a name, those that have it as a whole come first."""
    @property
    def truncated(self) -> bool:
        """Whether there is at least one more result."""
    @property
    def truncated_by(self) -> Limit | None:
        """The limit that cut the answer."""
    @property
    def text_cut(self) -> bool:
        """The text shows less than the records."""
    @property
    def next_cursor(self) -> str | None:
        """Passed back as `cursor`, the call goes on where this one ended."""
    @property
    def skipped(self) -> dict[str, int]:
        """Files that were not searched, counted by reason."""
    @property
    def noise_directories(self) -> builtins.list[str] | None:
        """Names of directories of dependencies and caches that were not entered."""
    @property
    def warnings(self) -> builtins.list[str]:
        """Sentences about what went wrong without ending the call."""
    @property
    def elapsed_ms(self) -> int:
        """Wall time of the call in milliseconds."""
    @property
    def redacted(self) -> dict[str, int] | None:
        """Secrets hidden as `[redacted:RULE]`, counted by rule; the files have another text there."""
    @property
    def root(self) -> str | None:
        """The directory that relative paths are below."""
    @property
    def error(self) -> str | None:
        """What kept the call from its answer, or from finding anything."""
    @property
    def code(self) -> ErrorCode | None:
        """The same for programs."""

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
    def rank(self, query: str, path: str | None = None, *, file_pattern: str | Sequence[str] | None = None, changed: str | None = None, languages: Sequence[str] | None = None, max_results: int | None = None, code_tokens: int | None = None, explain: bool | None = None, history: bool | None = None, cursor: str | None = None) -> RankAnswer:
        """Ranks the files that answer a question, with the code that helps most.

        Takes a question, names or the text of a bug report, and needs no model. In the query, "quoted
        words" must be adjacent, `path:src` and `lang:rust` restrict the files, and `-word` excludes a
        word.

        Args:
            query: The question, or names.
            path: Directory or file to search (default: the project root).
            file_pattern: Globs that choose files: "*.py", "src/**/*.rs", "!tests/**".
            changed: Only files changed since "HEAD" (uncommitted), "main..." or in "A..B".
            languages: Languages of the files, such as "rust" (default: all).
            max_results: Files to return, 1 to 100 (default: 10; with code up to 20).
            code_tokens: Tokens of code, up to 32000 (default: what is likely to help, at most 4000); 0:
                files and lines alone.
            explain: Say which rules ranked each file.
            history: Use the messages of the project's commits (default: true).
            cursor: `next_cursor` of the previous answer to the same call, to continue after it.

        Example:
            >>> answer = workspace.rank("where is it tried again")
            >>> next(iter(answer)).path
            'src/retry.py'
        """
    def grep(self, pattern: str, path: str | None = None, *, file_pattern: str | Sequence[str] | None = None, changed: str | None = None, output: Literal["lines", "files", "counts", "uses"] | None = None, syntax: str | None = None, context_lines: int | None = None, before_context: int | None = None, after_context: int | None = None, max_results: int | None = None, ignore_case: bool | None = None, word_regexp: bool | None = None, fixed_strings: bool | None = None, invert_match: bool | None = None, multiline: bool | None = None, include_ignored: bool | None = None, cursor: str | None = None) -> GrepAnswer:
        """Finds the lines that match a regular expression, grouped by file.

        The syntax is that of Rust's `regex` crate, as in ripgrep. Ignored, hidden and binary files are
        not searched; an answer without matches says if they have some. With `output` "uses" and a name
        as pattern, the answer has the definitions of the name and its uses.

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
        """Like `grep`, but iterates over all results while they are found.

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
    def list(self, path: str | None = None, *, name: str | None = None, changed: str | None = None, recursive: bool | None = None, max_depth: int | None = None, symbols: bool | None = None, include_ignored: bool | None = None) -> ListAnswer:
        """Lists a directory as a tree, or finds files by name.

        Hidden and ignored names are omitted and counted, and so are directories of dependencies and
        caches.

        Args:
            path: Directory to list (default: the project root).
            name: Find files below it by name: a glob ("*.rs", "src/**/*_test.go"), or a name, a part of
                one, or nearly one.
            changed: List changes since "HEAD" (uncommitted), "main..." or in "A..B"; searches take it too.
            recursive: List subdirectories too.
            max_depth: Levels of subdirectories to list, 0 to 20 (default: 2 when recursive).
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
                path if they have a slash ("src/**/*.rs", "!vendor/**"). They bring ignored files back
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
        """Like `search`, but iterates over all results while they are found.

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
                path if they have a slash ("src/**/*.rs", "!vendor/**"). They bring ignored files back
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

class AsyncWorkspace(_Opened):
    async def aclose(self) -> None: ...
    async def __aenter__(self) -> AsyncWorkspace: ...
    async def __aexit__(self, *_: object) -> None: ...
    async def call(self, name: str, arguments: dict[str, Any] | str | None = None) -> Answer: ...
    async def ask(self, question: str, watch: Callable[[AskEvent], object] | None = None) -> Asked: ...
    async def build_index(self) -> None: ...
    async def rank(self, query: str, path: str | None = None, *, file_pattern: str | Sequence[str] | None = None, changed: str | None = None, languages: Sequence[str] | None = None, max_results: int | None = None, code_tokens: int | None = None, explain: bool | None = None, history: bool | None = None, cursor: str | None = None) -> RankAnswer:
        """Ranks the files that answer a question, with the code that helps most.

        Takes a question, names or the text of a bug report, and needs no model. In the query, "quoted
        words" must be adjacent, `path:src` and `lang:rust` restrict the files, and `-word` excludes a
        word.

        Args:
            query: The question, or names.
            path: Directory or file to search (default: the project root).
            file_pattern: Globs that choose files: "*.py", "src/**/*.rs", "!tests/**".
            changed: Only files changed since "HEAD" (uncommitted), "main..." or in "A..B".
            languages: Languages of the files, such as "rust" (default: all).
            max_results: Files to return, 1 to 100 (default: 10; with code up to 20).
            code_tokens: Tokens of code, up to 32000 (default: what is likely to help, at most 4000); 0:
                files and lines alone.
            explain: Say which rules ranked each file.
            history: Use the messages of the project's commits (default: true).
            cursor: `next_cursor` of the previous answer to the same call, to continue after it.
        """
    async def grep(self, pattern: str, path: str | None = None, *, file_pattern: str | Sequence[str] | None = None, changed: str | None = None, output: Literal["lines", "files", "counts", "uses"] | None = None, syntax: str | None = None, context_lines: int | None = None, before_context: int | None = None, after_context: int | None = None, max_results: int | None = None, ignore_case: bool | None = None, word_regexp: bool | None = None, fixed_strings: bool | None = None, invert_match: bool | None = None, multiline: bool | None = None, include_ignored: bool | None = None, cursor: str | None = None) -> GrepAnswer:
        """Finds the lines that match a regular expression, grouped by file.

        The syntax is that of Rust's `regex` crate, as in ripgrep. Ignored, hidden and binary files are
        not searched; an answer without matches says if they have some. With `output` "uses" and a name
        as pattern, the answer has the definitions of the name and its uses.

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
        """Like `grep`, but iterates over all results while they are found.

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
    async def list(self, path: str | None = None, *, name: str | None = None, changed: str | None = None, recursive: bool | None = None, max_depth: int | None = None, symbols: bool | None = None, include_ignored: bool | None = None) -> ListAnswer:
        """Lists a directory as a tree, or finds files by name.

        Hidden and ignored names are omitted and counted, and so are directories of dependencies and
        caches.

        Args:
            path: Directory to list (default: the project root).
            name: Find files below it by name: a glob ("*.rs", "src/**/*_test.go"), or a name, a part of
                one, or nearly one.
            changed: List changes since "HEAD" (uncommitted), "main..." or in "A..B"; searches take it too.
            recursive: List subdirectories too.
            max_depth: Levels of subdirectories to list, 0 to 20 (default: 2 when recursive).
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
                path if they have a slash ("src/**/*.rs", "!vendor/**"). They bring ignored files back
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
        """Like `search`, but iterates over all results while they are found.

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
                path if they have a slash ("src/**/*.rs", "!vendor/**"). They bring ignored files back
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
