// Written by `cargo xtask generate`; don't edit.

/// <reference lib="esnext.disposable" />

/** A call has no answer. Each code has its own subclass. */
export declare class ForageError extends Error {
  constructor(message: string, options?: { code?: string; hint?: string; text?: string; transcript?: Record<string, unknown> });
  /** Stable code for programs. */
  readonly code: string;
  /** The text for a model that wrote the call. */
  readonly text: string;
  /** The next step, unless the message names it. */
  readonly hint?: string;
  /** The transcript of a question that got no answer. */
  readonly transcript?: Record<string, unknown>;
}

/** An answer: `text` for a model or a person, and the records of the tool as properties. */
export declare class Answer<Records extends object = object> {
  private constructor();
  /** The answer as a model or a person reads it. */
  readonly text: string;
  /** Whether anything was found. */
  readonly found: boolean;
  /** Returns the records as a plain object, with the names of the properties. */
  toJSON(): Records;
  toString(): string;
}

/** The answer to a question. */
export declare class Asked {
  private constructor();
  /** The answer of the model. */
  readonly answer: string;
  /** The answer and notes on it. */
  readonly text: string;
  /** Returns the transcript, as `forage ask --json` prints it. */
  toJSON(): Record<string, unknown>;
  toString(): string;
}

/** The results of a search that runs while they are read. Leaving a loop over them ends the search. */
export declare class Each<Piece, Of extends Answer = Answer> implements AsyncIterableIterator<Piece> {
  private constructor();
  /** The answer with the counts, once all results have been read. */
  readonly answer: Of | undefined;
  [Symbol.asyncIterator](): this;
  next(): Promise<IteratorResult<Piece, undefined>>;
  return(value?: undefined): Promise<IteratorResult<Piece, undefined>>;
  /** Ends the search. */
  close(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The command line is not valid. See `forage help COMMAND`. */
export declare class UsageError extends ForageError {
  readonly code: "usage";
}

/** The request of a tool is not a JSON object with the right fields. The message names the field. */
export declare class RequestError extends ForageError {
  readonly code: "request";
}

/** The value of an argument is not valid, for example a malformed glob. The message names the argument and the values that it accepts. */
export declare class ArgumentError extends ForageError {
  readonly code: "argument";
}

/** A pattern is not valid. Fix it at the position in the message, or search for plain text. */
export declare class PatternError extends ForageError {
  readonly code: "pattern";
}

/** A path does not exist, can't be read, or is outside of the roots. The message suggests similar paths. */
export declare class PathError extends ForageError {
  readonly code: "path";
}

/** There is no tool with this name. The message lists the tools. */
export declare class UnknownToolError extends ForageError {
  readonly code: "unknown_tool";
}

/** The configuration gives a tool a name that clients do not accept. Change the setting in the message. */
export declare class BadNameError extends ForageError {
  readonly code: "bad_name";
}

/** The configuration gives two tools the same name. Change one of the settings in the message, or turn a tool off. */
export declare class SameNameError extends ForageError {
  readonly code: "same_name";
}

/** Every term of a keyword search matches too much. Use longer, more specific terms. */
export declare class TooBroadError extends ForageError {
  readonly code: "too_broad";
}

/** No model is available. Set a key, run a local model, or filter without one; the message lists the settings that were checked. */
export declare class NoModelError extends ForageError {
  readonly code: "no_model";
}

/** All requested models failed. The message has the errors; try again later, or use another model. */
export declare class ModelsFailedError extends ForageError {
  readonly code: "models_failed";
}

/** None of the configured external engines can run. Install ugrep or ripgrep, or use the embedded engine. */
export declare class NoEngineError extends ForageError {
  readonly code: "no_engine";
}

/** An external engine failed. The message has its output; the embedded engine needs no other program. */
export declare class EngineError extends ForageError {
  readonly code: "engine";
}

/** The ranked index can't be used. Search lines, or rebuild the index. */
export declare class SearchIndexError extends ForageError {
  readonly code: "index";
}

/** The collection does not exist or is incompatible, or its store does not answer. See the message. */
export declare class CollectionError extends ForageError {
  readonly code: "collection";
}

/** The call ended before it found anything, for example at its time limit. There may be matches: allow more time, or search a smaller directory. */
export declare class UnfinishedError extends ForageError {
  readonly code: "unfinished";
}

/** The model returned no answer, or refused. Rephrase the question, or use another model. */
export declare class NoAnswerError extends ForageError {
  readonly code: "no_answer";
}

/** The call was interrupted. The answer has the results so far. */
export declare class CancelledError extends ForageError {
  readonly code: "cancelled";
}

/** A token of a team's server has reached its limit of calls. The message says when you should call again. */
export declare class RateLimitedError extends ForageError {
  readonly code: "rate_limited";
}

/** A bug in Forage. Please report it. */
export declare class InternalError extends ForageError {
  readonly code: "internal";
}

/** Any other error, such as an invalid configuration. See the message. */
export declare class FailedError extends ForageError {
  readonly code: "failed";
}

export type ErrorCode = "usage" | "request" | "argument" | "pattern" | "path" | "unknown_tool" | "bad_name" | "same_name" | "too_broad" | "no_model" | "models_failed" | "no_engine" | "engine" | "index" | "collection" | "unfinished" | "no_answer" | "cancelled" | "rate_limited" | "internal" | "failed";

export type Has = "whole" | "other_case" | "other_spelling" | "inside" | "parts" | "unknown";

export type Limit = "max_results" | "file_bytes" | "text_bytes" | "timeout" | "cancelled" | "entries" | "engine" | "root" | "unavailable";

export type LookupStatus = "found" | "parts_only" | "no_match" | "no_match_under_filter" | "no_usable_word" | "encoder_unavailable" | "store_unavailable";

export type Presence = "present" | "other_case" | "absent" | "unknown";

/** The result of a check of the files that a search excludes by default. */
export interface CallVerdict {
  /** A sentence for each rule that hides matches. */
  hiddenMatches: Array<string>;
  /** True if all such files were searched. Without hidden matches, the pattern is then in no text file below the start, except in those that may hold secrets. False if the search found something or did not finish. */
  complete: boolean;
  /** A sentence for each variant of the pattern that matches: another case or spelling, plain text, one edit. */
  otherReadings?: Array<string>;
  /** The best files of the ranking for the words of the pattern. */
  rankedFirst?: Array<string>;
  /** Places in dependencies that define the name in the pattern. */
  inDependencies?: Array<string>;
  /** Files that were not read, by reason. */
  unread?: Record<string, number>;
}

/** A definition that was added, changed or removed. */
export interface ChangedDefinition {
  /** `added`, `changed` or `removed`. */
  change: string;
  /** The keyword of its kind, such as `struct`. */
  kind: string;
  /** Its name, after those of the definitions around it. */
  symbol: string;
  /** Its first line, counted from 1; for a removed definition, in the file before the change. */
  startLine: number;
  /** Its last line. */
  endLine: number;
}

/** A changed file. */
export interface ChangedFile {
  /** `added`, `modified`, `type changed`, `deleted`, `renamed`, `untracked` or `conflicted`. */
  change: string;
  /** Path below the root; for a renamed file, the new path. */
  path: string;
  /** The bytes of the path in base64, if `path` is quoted. */
  pathBytes?: string | null;
  /** The previous path of a renamed file. */
  oldPath?: string | null;
  /** The share of a renamed file that is the same, in percent. */
  similarity?: number | null;
  /** Its definitions that were added, changed or removed, in the order of their lines. */
  definitions?: Array<ChangedDefinition>;
}

/** A line that a commit added or removed. */
export interface ChangedLine {
  /** `added` or `removed`. */
  change: string;
  /** From 1, in the new version if it was added, otherwise in the old one. */
  lineNumber: number;
  /** The line, cut if it is long; U+FFFD replaces bytes that are not UTF-8. */
  text: string;
}

/** A file that usually changes with one that has changed. */
export interface CompanionFile {
  /** Below the root. */
  path: string;
  /** The changed file that it goes with. */
  changedFile: string;
  /** Commits that changed both. */
  both: number;
  /** Commits that changed `changedFile`. */
  commits: number;
}

/** A definition whose end is not shown. */
export interface CutDefinition {
  /** Its name. */
  name: string;
  /** Its last line, from 1. */
  endLine: number;
}

/** Lines that an earlier answer has shown. */
export interface EarlierLines {
  /** The first line, counted from 1. */
  startLine: number;
  /** The last line. */
  endLine: number;
}

/** Files of a kind that an answer excludes. */
export interface FilesLeftOut {
  /** `test`, `translation`, `lock file` or `generated file`. */
  kind: string;
  /** Number of these files. */
  files: number;
}

/** A changed file of a commit. */
export interface FoundChange {
  /** `added`, `modified`, `deleted`, `renamed` or `type changed`. */
  change: string;
  /** Below the root, after the change. */
  path: string;
  /** The path that a renamed file had, or the file from which the definition was moved. */
  oldPath?: string | null;
  /** Number of matching lines that were removed. */
  removed: number;
  /** Number of matching lines that were added. */
  added: number;
  /** The first of these lines. */
  lines?: Array<ChangedLine>;
}

/** A commit. */
export interface FoundCommit {
  /** The whole id. */
  id: string;
  /** The date of the commit, in UTC. */
  date: string;
  /** The first line of the message, without addresses of people. */
  subject: string;
  /** Why it is a suspect. */
  reason?: string | null;
  /** True if the previous page has the first files or lines of this commit. */
  continued?: boolean;
  /** The changed files that count, in path order. */
  files: Array<FoundChange>;
  /** Number of such files that are not in `files`. */
  filesMore?: number;
}

/** Answers from the cache. */
export interface FromCache {
  /** Number of cached answers. */
  answers: number;
  /** Age of the oldest. */
  ageSeconds: number;
}

/** A definition of the name, or of a type that implements or extends it. */
export interface GrepDefinition {
  /** Its file, below the root. */
  path: string;
  /** The bytes of the path in base64, if `path` is quoted. */
  pathBytes?: string | null;
  /** The keyword of the language, such as `struct`, or a general word, such as `function`. */
  kind: string;
  /** The first line of the comments and attributes above it, from 1. */
  startLine: number;
  /** The line with the name. */
  line: number;
  /** The last line of its body. */
  endLine: number;
  /** The type that implements or extends the name, or the definition around an anonymous type. */
  symbol?: string | null;
  /** The definitions around a definition of the name, outermost first: `Queue > push`. */
  within?: string | null;
  /** The line with the name, trimmed and cut. */
  text: string;
}

/** Matches in a top-level directory, or at the top itself. */
export interface GrepDirectory {
  /** Below the root. */
  path: string;
  /** Matching lines below it. */
  matchCount: number;
  /** Files with matching lines below it. */
  fileCount: number;
}

/** A file with matching lines. */
export interface GrepFile {
  /** Its path below the root. */
  path: string;
  /** The bytes of the path in base64, if `path` is quoted. */
  pathBytes?: string | null;
  /** Number of matching lines shown; for `output: "files"`, of all matching lines. */
  matchCount: number;
  /** Matching lines and their context, in order. */
  lines?: Array<GrepLine>;
}

/** The impact of a definition or of a change. */
export interface GrepImpact {
  /** The definitions that the impact starts from. */
  definitions: Array<ImpactDefinition>;
  /** The definitions that use these, then those that use the former. */
  edges: Array<ImpactEdge>;
  /** Number of all edges of each step, shown or not. */
  edgeCounts: Array<number>;
  /** Lines with a name of `definitions` that may mean another definition. */
  nameOnly?: Array<ImpactFile>;
  /** Number of all such lines of each step. */
  nameOnlyCounts: Array<number>;
  /** Files that import a name of `definitions` and do not use it otherwise. */
  onlyImported?: Array<string>;
  /** The tests among the edges, and those that the change contains. */
  tests: Array<ImpactTests>;
  /** Definitions of the first step whose uses were not followed. */
  notFollowed?: Array<string>;
}

/** A line of a file. */
export interface GrepLine {
  /** From 1. */
  lineNumber: number;
  /** `match` or `context`. */
  type: string;
  /** The line without its line feed; U+FFFD replaces bytes that are not UTF-8. */
  text: string;
  /** The bytes of the line in base64, if `text` differs from them. */
  bytes?: string | null;
  /** Byte ranges of the matches in `bytes`, or in `text` if that is absent. */
  spans?: Array<Array<number>>;
  /** Bytes that were cut before `text`. */
  cutBefore?: number;
  /** Bytes that were cut after `text`. */
  cutAfter?: number;
  /** With uses, the use of the name: `definition`, `implementation`, `call`, `type`, `import`, `code`, `string` or `comment`. */
  mention?: string | null;
  /** `unknown` if this may be a use of the qualified name or not. */
  receiver?: string | null;
  /** With uses, the innermost definition around the line. */
  within?: GrepWithin | null;
}

/** Lines that a qualified name excludes, because the name belongs to another type or module there. */
export interface GrepReceiver {
  /** The other type or module. */
  name: string;
  /** Lines of the page's files. */
  lineCount: number;
}

/** The innermost definition around a line. */
export interface GrepWithin {
  /** Its name, after those of the definitions around it. */
  symbol: string;
  /** Its first line, from 1. */
  startLine: number;
  /** Its last line. */
  endLine: number;
}

/** A definition that the impact starts from. */
export interface ImpactDefinition {
  /** Its file, below the root. */
  path: string;
  /** The keyword of the language, such as `struct`. */
  kind: string;
  /** Its name, after those of the definitions around it. */
  symbol: string;
  /** The first line of its comments and attributes, from 1. */
  startLine: number;
  /** Its last line. */
  endLine: number;
  /** With a change: `added`, `changed` or `removed`. */
  change?: string | null;
}

/** A definition that uses another one. */
export interface ImpactEdge {
  /** 1 if it uses one of `definitions`, 2 if it uses one that does. */
  step: number;
  /** Its file, below the root. */
  path: string;
  /** Lines of the uses, from 1. */
  lines: Array<number>;
  /** The innermost definition around these lines; none for code outside of definitions. */
  within?: GrepWithin | null;
  /** Its keyword, such as `fn`. */
  kind?: string | null;
  /** Why we believe that the lines use this definition: `same file`, `same package`, `import seen`, `type seen` or `only definition`. */
  reason: string;
  /** The used definition. */
  used: string;
  /** Its file. */
  usedPath: string;
  /** The first line of its comments and attributes. */
  usedLine: number;
  /** True if it is in test code. */
  isTest: boolean;
}

/** Lines of a file. */
export interface ImpactFile {
  /** Its path below the root. */
  path: string;
  /** From 1. */
  lines: Array<number>;
}

/** Tests of a file. */
export interface ImpactTests {
  /** Its path below the root. */
  path: string;
  /** The tests, as their runner takes them: `path::name` for pytest, a path of modules for Rust. Empty if the whole file is to run. */
  names: Array<string>;
}

/** A file of the answer. */
export interface KeywordFile {
  /** The absolute path of the file. */
  path: string;
  /** The bytes of the path in base64, if `path` is quoted. */
  pathBytes?: string | null;
  /** The reason, in the words of the model or of the ranking. */
  explanation: string;
  /** Relevance according to the model, 1 to 3; only from answers by ids. */
  grade?: number | null;
  /** Lines that the model names; only from answers by ids. */
  ranges?: Array<LineRange>;
  /** No model has judged this file, unlike other files in the same answer. */
  notFiltered?: boolean;
  /** Only the ranking selected this file, and no term. */
  isRanked?: boolean;
  /** Numbers of the lines that match a term; for a file from the ranking, of its best lines. */
  matchLines: Array<number>;
  /** Minimum number of further matching lines. */
  moreMatchLines?: number;
  /** The best lines, if there is no explanation of a model. */
  evidence?: Array<KeywordLine>;
}

/** A line of a file. */
export interface KeywordLine {
  /** From 1. */
  lineNumber: number;
  /** The line without indentation; a long line is cut around its first match. */
  text: string;
}

/** Lines that a model names. */
export interface LineRange {
  /** From 1. */
  first: number;
  /** The last line of them. */
  last: number;
  /** True if the model has seen these lines. */
  shown: boolean;
}

/** The files in which two states of a project differ. */
export interface ListChanges {
  /** The range as the caller wrote it. */
  range: string;
  /** In the order of their paths, untracked files last. */
  files: Array<ChangedFile>;
  /** Files that usually change with these and have not changed. */
  companions?: Array<CompanionFile>;
}

/** A name in a directory. */
export interface ListEntry {
  /** Below the root. */
  path: string;
  /** The bytes of the path in base64, if `path` is quoted. */
  pathBytes?: string | null;
  /** `directory`, `file` or `symlink`. */
  type: string;
  /** Number of lines, for a text file. */
  lines?: number | null;
  /** Top-level names that the file defines, in line order; if requested. */
  symbols?: Array<string>;
  /** Number of further names that are not in `symbols`. */
  symbolsMore?: number;
  /** Why there is no line count. */
  note?: string | null;
  /** Target of a link, as stored. */
  target?: string | null;
}

/** A map of a directory. */
export interface ListMap {
  /** The tokens that the text may take. */
  tokens: number;
  /** Source files that the map is about. */
  files: number;
  /** Tests, examples, documentation, data, generated and third-party files, which the map leaves out. */
  otherFiles: number;
  /** Directories that contain such source files themselves, named or not. */
  directoryCount: number;
  /** The named directories in path order, beginning with the listed one. */
  directories: Array<MappedDirectory>;
}

/** A chunk of the collection. */
export interface LookupHit {
  /** Id of its point. */
  id: string;
  /** Comparable within one answer. */
  score: number;
  /** If the query is a name: the kind of match. */
  has?: Has | null;
  /** The payload fields of the configuration; texts are cut to 4,000 bytes, except in Python and Node. */
  payload: Record<string, unknown>;
  /** The lines of the text with the most words. */
  lines: Array<LookupLine>;
}

/** A line of a chunk. */
export interface LookupLine {
  /** Present if the chunk has line numbers. */
  lineNumber: number | null;
  /** The line. */
  text: string;
}

/** The result for a name. */
export interface LookupName {
  /** The name, as in the query. */
  name: string;
  /** Whether the name occurs in the filtered collection. */
  presence: Presence;
  /** Compared chunks that contain it exactly. */
  whole: number;
  /** Chunks that contain it only in another case. */
  otherCase: number;
  /** Compared chunks. */
  compared: number;
  /** Chunks without a text to compare. */
  withoutText: number;
  /** True if all chunks that can contain it were compared. */
  complete: boolean;
  /** If no chunk with this filter contains it: the number of chunks that contain it without the filter, in any case. */
  withoutFilter?: number | null;
}

/** The result without the filter. */
export interface LookupWithoutFilter {
  /** Chunks that contain any of the words. */
  chunks: number;
  /** The number is a lower bound. */
  atLeast: boolean;
  /** Chunks that pass the filter, with any words. */
  underFilter: number;
}

/** A definition of a map. */
export interface MappedDefinition {
  /** Its name. */
  name: string;
  /** Its kind, such as `struct`. */
  kind: string;
  /** Its line. */
  line: number;
  /** Number of files that contain the name and do not define it. */
  usedBy: number;
}

/** A directory of a map. */
export interface MappedDirectory {
  /** Below the root. */
  path: string;
  /** The bytes of the path in base64, if `path` is quoted. */
  pathBytes?: string | null;
  /** Source files in it, at any depth. */
  fileCount: number;
  /** The files of this directory with named definitions. */
  files?: Array<MappedFile>;
}

/** A file of a map. */
export interface MappedFile {
  /** Below the root. */
  path: string;
  /** The bytes of the path in base64, if `path` is quoted. */
  pathBytes?: string | null;
  /** Its most used definitions, in line order. A file without any is one in which a program starts. */
  definitions: Array<MappedDefinition>;
}

/** The requests to models. */
export interface ModelRecord {
  /** `provider/model` of the first request. */
  name: string;
  /** Tokens of the requests, if all providers report them. */
  inputTokens: number | null;
  /** Tokens that the provider read from its cache. */
  cachedInputTokens: number | null;
  /** Tokens of the answers. */
  outputTokens: number | null;
  /** Cost in US dollars, if all tokens and prices are known. */
  costUsd?: number | null;
  /** Time until all had answered. */
  elapsedMs: number;
  /** Number of requests, if the evidence was split. */
  shards?: number | null;
  /** Answers from the cache, which cost nothing. */
  fromCache?: FromCache | null;
  /** Secrets that were removed from the requests. */
  redacted: number;
  /** Entries of the answer that name files which were not sent. */
  droppedPaths: number;
}

/** A definition of the outline. */
export interface OutlineEntry {
  /** The name, without its qualifiers. */
  name: string;
  /** The keyword of the language, such as `struct` or `def`, or a general word, such as `function`, if `byLine`. */
  kind: string;
  /** The first line of the comments and attributes above it, from 1. */
  startLine: number;
  /** The line with the name. */
  line: number;
  /** The last line of its body. */
  endLine: number;
  /** Number of definitions around it. */
  depth: number;
  /** The line with the name, without indentation, cut. */
  text: string;
}

/** Lines of one definition, or of a part of a file outside of definitions. */
export interface RankedChunk {
  /** The first line, counted from 1. */
  startLine: number;
  /** The last line. */
  endLine: number;
  /** The innermost definition, preceded by those around it (`A > b`). */
  symbol: string | null;
  /** Its kind, such as `struct`. */
  kind: string | null;
  /** Lines that match the most of the query, in order. */
  lines: Array<RankedLine>;
}

/** Consecutive lines of a file. */
export interface RankedCode {
  /** The first line, counted from 1. */
  startLine: number;
  /** The last line. */
  endLine: number;
  /** The definitions around the first line that begin before it, outermost first: `Queue > push`. */
  within?: string | null;
  /** The last line of the innermost of these, if the shown lines continue after it. */
  withinEndLine?: number | null;
  /** The function in which the shown lines end, if its end is not shown. */
  cut?: CutDefinition | null;
  /** Omitted lines of a long comment directly before the first line. */
  commentLines?: number;
  /** The lines without line ends. U+FFFD replaces bytes that are not UTF-8; characters that hide or reorder text are escaped. */
  lines: Array<string>;
}

/** A ranked file. */
export interface RankedFile {
  /** The path, below the root. */
  path: string;
  /** The bytes of the path in base64, if `path` is quoted. */
  pathBytes?: string | null;
  /** Comparable within one answer. */
  score: number;
  /** Best first. In an answer with code, files without shown code have one part of one line. */
  chunks: Array<RankedChunk>;
  /** In an answer with code, for files without shown code: the strongest rule. */
  reason?: string | null;
  /** Lines that help most, in order, in an answer with code. */
  code?: Array<RankedCode>;
  /** Unchanged lines that an earlier answer has shown. */
  shownEarlier?: Array<EarlierLines>;
  /** Definitions without shown lines, in the first files with code, the most likely ones first. */
  unshown?: Array<UnshownDefinition>;
  /** Number of further definitions that are not in `unshown`. */
  unshownMore?: number;
  /** Files that match less and whose paths only differ by the name of a platform or backend. */
  siblings?: Array<string>;
  /** The points of each rule, strongest first; with `explain`. */
  reasons?: Array<RankedReason>;
}

/** A line of a part. */
export interface RankedLine {
  /** From 1. */
  lineNumber: number;
  /** The line without indentation; a long line is cut around the match. */
  text: string;
}

/** The points of a rule. */
export interface RankedReason {
  /** The name of the rule. */
  rule: string;
  /** Points added; if negative, the fraction by which the score is reduced. */
  gives: number;
  /** The evidence of the rule. */
  about: string;
}

/** A further requested definition. */
export interface ReadPart {
  /** The first line of `lines`, from 1. */
  startLine: number;
  /** The last line shown. */
  endLine: number;
  /** As in [`ReadResponse::lines`]. */
  lines: Array<string>;
}

/** Like `data` of `rg --json`. */
export interface SearchData {
  /** The file, below the root. */
  path: SearchText;
  /** From 1. */
  lineNumber: number;
  /** The line without its line feed. */
  lines: SearchText;
  /** Byte ranges of the matches in the line. */
  submatches?: Array<Submatch>;
  /** Edits of the best match in the line; fuzzy searches only. */
  distance?: number | null;
  /** Number of bytes cut from the start of the line. */
  cutBefore?: number;
  /** Bytes that were cut after the line. */
  cutAfter?: number;
}

/** A matching line, or a context line. */
export interface SearchRecord {
  /** `match` or `context`. */
  type: string;
  /** The line. */
  data: SearchData;
}

/** A text that may not be UTF-8. */
export interface SearchText {
  /** As UTF-8. */
  text: string;
  /** The bytes in base64, if `text` differs from them. */
  bytes?: string | null;
}

/** A definition that is similar to the given code. */
export interface SimilarCode {
  /** Its file, below the root. */
  path: string;
  /** The bytes of the path in base64, if `path` is quoted. */
  pathBytes?: string | null;
  /** Its first line, from 1. */
  startLine: number;
  /** Its last line. */
  endLine: number;
  /** Its name, preceded by those of the definitions around it (`A > b`). */
  symbol: string;
  /** Its kind, such as `struct`. */
  kind: string;
  /** 1 if it has all runs of tokens and all words of the given code and its length, 0 if it has none. */
  similarity: number;
  /** Lines of the given code without blank lines, comments and lines of punctuation. */
  givenLines: number;
  /** Number of these that it has too, apart from names, numbers and strings. */
  alikeLines: number;
  /** Number of these that it has unchanged. */
  equalLines: number;
  /** The rarest names that both have. */
  names?: Array<string>;
  /** Its lines, within the tokens for code. */
  code?: RankedCode | null;
}

/** A match within a line. */
export interface Submatch {
  /** The first byte of the match in the line. */
  start: number;
  /** The byte after the match. */
  end: number;
  /** Edits of this match; fuzzy searches only. */
  distance?: number | null;
}

/** The result of a term. */
export interface TermRecord {
  /** The term, as the caller wrote it. */
  term: string;
  /** `kept`, `noHits`, `tooBroad`, `dropped` or `invalid`. */
  fate: string;
  /** Why it is not valid. */
  error?: string | null;
  /** Bytes that ripgrep prints for this term; a lower bound if it is too broad. */
  bytes: number;
  /** Matching lines. */
  lines: number;
  /** Files with such lines. */
  files: number;
  /** Both counts are lower bounds. */
  linesAtLeast?: boolean;
  /** The part that the model has seen, if not all lines with their full context. */
  shown?: Record<string, unknown> | null;
}

/** A root that could not be searched. */
export interface UnreadRoot {
  /** The root. */
  root: string;
  /** Why. */
  error: string;
}

/** A definition without shown lines. */
export interface UnshownDefinition {
  /** Its name. */
  name: string;
  /** Its kind, such as `function`. */
  kind: string;
  /** Its first line, from 1. */
  startLine: number;
  /** Its last line. */
  endLine: number;
}

export interface RankArguments {
  /** The question, or names. */
  query?: string;
  /** Finds definitions similar to "path#name" or to pasted code. */
  like?: string;
  /** Directory or file to search (default: the project root). */
  path?: string;
  /** Globs: "*.py", "src/**\/*.rs", "!tests/**". */
  filePattern?: string | ReadonlyArray<string>;
  /** Only files changed since "HEAD" (uncommitted), "main..." or in "A..B". */
  changed?: string;
  /** Languages of the files, such as "rust" (default: all). */
  languages?: ReadonlyArray<string>;
  /** Files to return, 1 to 100 (default: 10 to 20). */
  maxResults?: number;
  /** Tokens of code, up to 32000 (default: what helps, at most 4000); 0: files and lines alone. */
  codeTokens?: number;
  /** Say which rules ranked each file. */
  explain?: boolean;
  /** Use the messages of the project's commits (default: true). */
  history?: boolean;
  /** `nextCursor` of the previous answer to the same call, to continue after it. */
  cursor?: string;
}

/** The records that `search_index` returns. */
export interface RankRecords {
  /** The query, as the caller wrote it. */
  query: string;
  /** The path, below the root. */
  path: string;
  /** The ranked roots, if there are several: paths below the first one are relative, all others absolute. */
  roots?: Array<string>;
  /** The best first. */
  files: Array<RankedFile>;
  /** `like`, as the caller wrote it. */
  like?: string | null;
  /** With `like`: the most similar definitions, in place of `files`. */
  similar?: Array<SimilarCode>;
  /** With `like`: the similar definitions in the compared files, returned or not. */
  similarCount?: number | null;
  /** Files that match a part of the query. */
  matchingFiles: number;
  /** Files in the index. */
  filesSearched: number;
  /** The ranked index is not complete yet: only the files with the most words of the query were ranked. */
  provisional: boolean;
  /** True if even the best file matches little of the query. */
  weak: boolean;
  /** Lead of the first file over the second, as a share of its score; 1 for a single file. */
  lead: number;
  /** Share of the query that the best file matches, weighted by rarity, 0 to 1. */
  strength: number;
  /** Words of the query that no file contains. */
  unknownWords: Array<string>;
  /** Words of the query that carry no weight, because they are the project's name; with `explain`. */
  ownNames?: Array<string>;
  /** Quotes, filters and exclusions that were applied. */
  understood: Array<string>;
  /** Quotes, filters and exclusions that were ignored. */
  ignored: Array<string>;
  /** No file of the index matches `path`, `filePattern` and `languages`. */
  noFileChosen: boolean;
  /** The known commits of each root; with `explain`. */
  history?: Array<string>;
  /** Files that an answer with code excludes, because the query does not ask for their kind. */
  leftOut?: Array<FilesLeftOut>;
  /** This page continues another. */
  continued: boolean;
  /** For an answer without files: matches in files that the configuration excludes. */
  notSearched: CallVerdict;
  /** True if there is at least one more result. */
  truncated: boolean;
  /** The limit that cut the answer. */
  truncatedBy: Limit | null;
  /** The text shows less than the records. */
  textCut: boolean;
  /** Pass it as `cursor` to continue. */
  nextCursor: string | null;
  /** Files that were not searched, counted by reason. */
  skipped: Record<string, number>;
  /** Names of directories of dependencies and caches that were not entered. */
  noiseDirectories?: Array<string>;
  /** Problems that did not end the call. */
  warnings: Array<string>;
  /** Wall time of the call in milliseconds. */
  elapsedMs: number;
  /** Secrets replaced by `[redacted:RULE]`, counted by rule. */
  redacted?: Record<string, number>;
  /** The directory that relative paths are below. */
  root?: string;
  /** The error that ended the call. */
  error?: string | null;
  /** The code of this error. */
  code?: ErrorCode | null;
  /** For a call about several roots: these records for each other root, or `root` and `error`. */
  otherRoots?: Array<Omit<RankRecords, "otherRoots"> | UnreadRoot>;
}

export type RankAnswer = Answer<RankRecords> & Readonly<Omit<RankRecords, keyof Answer>> & Iterable<RankedFile>;

export interface GrepArguments {
  /** Regular expression to search for. */
  pattern: string;
  /** Directory or file to search (default: the project root). */
  path?: string;
  /** Globs that choose files: "*.py", "src/**\/*.rs", "!tests/**". */
  filePattern?: string | ReadonlyArray<string>;
  /** Only files changed since "HEAD" (uncommitted), "main..." or in "A..B". */
  changed?: string;
  /** What to return: matching "lines" (the default), "files", "counts", or the definitions and "uses" of a name. */
  output?: "lines" | "files" | "counts" | "uses" | "impact";
  /** The pattern is code of this language ("rust", or "any") with metavariables: `spawn($A)`. */
  syntax?: string;
  /** Lines around each match, 0 to 50 (default: 2). */
  contextLines?: number;
  /** Lines of context before each match, in place of `contextLines`. */
  beforeContext?: number;
  /** Lines of context after each match, in place of `contextLines`. */
  afterContext?: number;
  /** Lines or files to return, 1 to 10000 (default: 50; files 200). */
  maxResults?: number;
  /** Match without regard to case. */
  ignoreCase?: boolean;
  /** Match whole words only. */
  wordRegexp?: boolean;
  /** The pattern is plain text. */
  fixedStrings?: boolean;
  /** Find the lines that do not match. */
  invertMatch?: boolean;
  /** Let matches span lines, and `.` match line feeds. */
  multiline?: boolean;
  /** Search ignored and hidden files too. */
  includeIgnored?: boolean;
  /** `nextCursor` of the previous answer to the same call, to continue after it. */
  cursor?: string;
}

/** The records that `grep_search` returns. */
export interface GrepRecords {
  /** The pattern, as the caller wrote it. */
  pattern: string;
  /** The directory or file that was searched, below the root. */
  path: string;
  /** Matching lines, shown or not; a lower bound unless `totalsExact`. */
  matchCount: number;
  /** Files with matching lines; a lower bound unless `totalsExact`. */
  fileCount: number;
  /** True if both counts are exact. */
  totalsExact: boolean;
  /** Files whose text was searched. */
  filesSearched: number;
  /** Files with matching lines, in path order. */
  files: Array<GrepFile>;
  /** With uses: definitions of the name. Those in tests and those without a body come last. */
  definitions?: Array<GrepDefinition>;
  /** Number of all definitions that were found. */
  definitionCount?: number;
  /** With uses: types that implement or extend the name. Those in tests come last. */
  implementations?: Array<GrepDefinition>;
  /** Number of all implementations that were found. */
  implementationCount?: number;
  /** With uses: the type or module of a qualified name. */
  qualifier?: string | null;
  /** Lines that this page excludes, because the name belongs to another type or module there. */
  leftOutCount?: number;
  /** These types and modules, those with the most lines first. */
  leftOut?: Array<GrepReceiver>;
  /** The impact of a definition or of a change, if requested. */
  impact?: GrepImpact | null;
  /** Directories with further matches that are not in `files`, those with the most first. */
  elsewhere?: Array<GrepDirectory>;
  /** No file matches `filePattern`. */
  noFileChosen: boolean;
  /** This page continues another. Its counts exclude the earlier pages, except with `output: "uses"`. */
  continued: boolean;
  /** For a search without matches: the result of a check of the excluded files. */
  notSearched: CallVerdict;
  /** True if there is at least one more result. */
  truncated: boolean;
  /** The limit that cut the answer. */
  truncatedBy: Limit | null;
  /** The text shows less than the records. */
  textCut: boolean;
  /** Pass it as `cursor` to continue. */
  nextCursor: string | null;
  /** Files that were not searched, counted by reason. */
  skipped: Record<string, number>;
  /** Names of directories of dependencies and caches that were not entered. */
  noiseDirectories?: Array<string>;
  /** Problems that did not end the call. */
  warnings: Array<string>;
  /** Wall time of the call in milliseconds. */
  elapsedMs: number;
  /** Secrets replaced by `[redacted:RULE]`, counted by rule. */
  redacted?: Record<string, number>;
  /** The directory that relative paths are below. */
  root?: string;
  /** The error that ended the call. */
  error?: string | null;
  /** The code of this error. */
  code?: ErrorCode | null;
  /** For a call about several roots: these records for each other root, or `root` and `error`. */
  otherRoots?: Array<Omit<GrepRecords, "otherRoots"> | UnreadRoot>;
}

export type GrepAnswer = Answer<GrepRecords> & Readonly<Omit<GrepRecords, keyof Answer>> & Iterable<GrepFile>;

export interface KeywordSearchArguments {
  /** A detailed statement of what you're trying to find or learn. */
  query: string;
  /** List of search terms in descending order of importance. */
  searchTerms: ReadonlyArray<string>;
}

/** The records that `keyword_search` returns. */
export interface KeywordSearchRecords {
  /** The query, as the caller wrote it. */
  query: string;
  /** Absolute path of the directory that was searched. */
  root: string;
  /** `model`, `lexical`, `lexicalAfterModelFailure`, or `modelInPart` when a part of the files could not be judged and follows in lexical order. */
  filter: string;
  /** Most relevant first. */
  files: Array<KeywordFile>;
  /** Files that match a kept term. */
  candidateFiles: number;
  /** Files that only the ranking selected (`filter.candidates = "union"`). */
  rankedFiles?: number;
  /** The result of each term, in their order. */
  terms: Array<TermRecord>;
  /** Bytes that ripgrep would print for the shown lines of the kept terms. */
  evidenceBytes: number;
  /** Files whose text was searched. */
  filesSearched: number;
  /** The requests to models, if there were any. */
  model?: ModelRecord | null;
  /** For a search without matches: the result of a check of the excluded files. */
  notSearched: CallVerdict;
  /** True if there is at least one more result. */
  truncated: boolean;
  /** The limit that cut the answer. */
  truncatedBy: Limit | null;
  /** The text shows less than the records. */
  textCut: boolean;
  /** Pass it as `cursor` to continue. */
  nextCursor: string | null;
  /** Files that were not searched, counted by reason. */
  skipped: Record<string, number>;
  /** Names of directories of dependencies and caches that were not entered. */
  noiseDirectories?: Array<string>;
  /** Problems that did not end the call. */
  warnings: Array<string>;
  /** Wall time of the call in milliseconds. */
  elapsedMs: number;
  /** Secrets replaced by `[redacted:RULE]`, counted by rule. */
  redacted?: Record<string, number>;
  /** For a call about several roots: these records for each other root, or `root` and `error`. */
  otherRoots?: Array<Omit<KeywordSearchRecords, "otherRoots"> | UnreadRoot>;
  /** The error that ended the call. */
  error?: string | null;
  /** The code of this error. */
  code?: ErrorCode | null;
}

export type KeywordSearchAnswer = Answer<KeywordSearchRecords> & Readonly<Omit<KeywordSearchRecords, keyof Answer>> & Iterable<KeywordFile>;

export interface ListArguments {
  /** Directory to list (default: the project root). */
  path?: string;
  /** Find files by name: a glob ("*.rs", "src/**\/*_test.go"), a name, a part of one, or nearly one. */
  name?: string;
  /** List changes since "HEAD" (uncommitted), "main..." or in "A..B"; searches take it too. */
  changed?: string;
  /** Map the tree in this many tokens: directories and most used definitions. */
  tokens?: number;
  /** List subdirectories too. */
  recursive?: boolean;
  /** Levels below it, 0 to 20 (default: 2 when recursive). */
  maxDepth?: number;
  /** Show what each file defines. */
  symbols?: boolean;
  /** List ignored and hidden names too. */
  includeIgnored?: boolean;
}

/** The records that `list_directory` returns. */
export interface ListRecords {
  /** Below the root. */
  path: string;
  /** Levels of subdirectories that were listed. */
  maxDepth: number;
  /** Directories below `maxDepth`, which were not listed. */
  notEntered: number;
  /** Number of entries, shown or not. */
  entryCount: number;
  /** In path order. */
  entries: Array<ListEntry>;
  /** Names of directories that were not entered, wherever they occur. */
  pruned: Array<string>;
  /** If no file was found by name: ignored or hidden files with this name. */
  hiddenCount?: number | null;
  /** The requested name. */
  name?: string | null;
  /** The requested change set. */
  changes?: ListChanges | null;
  /** The requested map. */
  map?: ListMap | null;
  /** True if there is at least one more result. */
  truncated: boolean;
  /** The limit that cut the answer. */
  truncatedBy: Limit | null;
  /** The text shows less than the records. */
  textCut: boolean;
  /** Pass it as `cursor` to continue. */
  nextCursor: string | null;
  /** Files that were not searched, counted by reason. */
  skipped: Record<string, number>;
  /** Names of directories of dependencies and caches that were not entered. */
  noiseDirectories?: Array<string>;
  /** Problems that did not end the call. */
  warnings: Array<string>;
  /** Wall time of the call in milliseconds. */
  elapsedMs: number;
  /** Secrets replaced by `[redacted:RULE]`, counted by rule. */
  redacted?: Record<string, number>;
  /** The directory that relative paths are below. */
  root?: string;
  /** The error that ended the call. */
  error?: string | null;
  /** The code of this error. */
  code?: ErrorCode | null;
  /** For a call about several roots: these records for each other root, or `root` and `error`. */
  otherRoots?: Array<Omit<ListRecords, "otherRoots"> | UnreadRoot>;
}

export type ListAnswer = Answer<ListRecords> & Readonly<Omit<ListRecords, keyof Answer>> & Iterable<ListEntry>;

export interface ReadArguments {
  /** File, relative to the project root or absolute. */
  path: string;
  /** First line (default: 1). */
  startLine?: number;
  /** Last line, inclusive (default: the last that fits). */
  endLine?: number;
  /** Definitions to read, such as "Client::send, close". */
  symbol?: string;
  /** Lines around each definition (default: 0). */
  contextLines?: number;
  /** Show what the file defines. */
  outline?: boolean;
}

/** The records that `read_file` returns. */
export interface ReadRecords {
  /** The file, below the root. */
  path: string;
  /** The bytes of the path in base64, if `path` is quoted. */
  pathBytes?: string | null;
  /** The first line of `lines`, from 1. */
  startLine: number;
  /** The last line shown; 0 for an empty file. */
  endLine: number;
  /** Lines of the file; a lower bound unless `totalExact`. */
  totalLines: number;
  /** True if `totalLines` is exact. */
  totalExact: boolean;
  /** Bytes of the file. */
  size: number;
  /** The encoding of the file, such as `UTF-8`. */
  encoding: string;
  /** The lines without line ends. U+FFFD replaces bytes that are not UTF-8; characters that hide or reorder text are escaped. */
  lines: Array<string>;
  /** Further definitions, if several were requested. */
  further?: Array<ReadPart>;
  /** Other definitions with a requested name, and members of a requested type outside of its lines. */
  symbolNotes?: Array<string>;
  /** The definitions in line order, if an outline was requested. */
  outline?: Array<OutlineEntry>;
  /** Number of definitions that the outline omits, by kind. */
  outlineLeftOut?: Record<string, number>;
  /** The outline was built line by line, because there is no parser for the language or the file is too large: definitions may be missing or have wrong ends. */
  outlineByLine?: boolean;
  /** The parser found errors in the file: definitions near them may be missing or have wrong ends. */
  outlineHasErrors?: boolean;
  /** By line number, the bytes in base64 of lines that differ in `lines`. */
  lineBytes?: Record<string, string>;
  /** Numbers of the lines in which a secret was replaced. */
  redactedLines?: Array<number>;
  /** Number of lines that were cut. */
  cutLines: number;
  /** True if lines end with CR LF. */
  crlf: boolean;
  /** True if U+FFFD replaces bytes that are not text. */
  notUtf8: boolean;
  /** True if there is at least one more result. */
  truncated: boolean;
  /** The limit that cut the answer. */
  truncatedBy: Limit | null;
  /** The text shows less than the records. */
  textCut: boolean;
  /** Pass it as `cursor` to continue. */
  nextCursor: string | null;
  /** Files that were not searched, counted by reason. */
  skipped: Record<string, number>;
  /** Names of directories of dependencies and caches that were not entered. */
  noiseDirectories?: Array<string>;
  /** Problems that did not end the call. */
  warnings: Array<string>;
  /** Wall time of the call in milliseconds. */
  elapsedMs: number;
  /** Secrets replaced by `[redacted:RULE]`, counted by rule. */
  redacted?: Record<string, number>;
  /** The directory that relative paths are below. */
  root?: string;
  /** The error that ended the call. */
  error?: string | null;
  /** The code of this error. */
  code?: ErrorCode | null;
  /** For a call about several roots: these records for each other root, or `root` and `error`. */
  otherRoots?: Array<Omit<ReadRecords, "otherRoots"> | UnreadRoot>;
}

export type ReadAnswer = Answer<ReadRecords> & Readonly<Omit<ReadRecords, keyof Answer>> & Iterable<string>;

export interface SearchArguments {
  /** What to search for in every line: a regular expression, or plain text with fixed_strings. */
  pattern: string;
  /** Directory or file to search, relative to the project root or absolute within it (default: ".", the project root). */
  path?: string;
  /** How letters compare; "smart": without regard to case unless the pattern has an upper-case letter (default: "smart"). */
  case?: "smart" | "sensitive" | "insensitive";
  /** The pattern is plain text, not a regular expression (default: false). */
  fixedStrings?: boolean;
  /** Match whole words only (default: false). */
  wordRegexp?: boolean;
  /** Globs that choose files, "!" excludes, later ones win; by name ("*.py"), or by path if they have a slash ("src/**\/*.rs", "!vendor/**"). They re-include ignored files (default: all files). */
  filePattern?: string | ReadonlyArray<string>;
  /** Search hidden files too (default: false). */
  hidden?: boolean;
  /** Follow symbolic links within the project root (default: false). */
  follow?: boolean;
  /** Search files that .gitignore and the like exclude too (default: false). */
  noIgnore?: boolean;
  /** Lines of context around each match, 0 to 50 (default: 0). */
  contextLines?: number;
  /** Matching and context lines to return, 1 to 10000 (default: 200). */
  maxResults?: number;
  /** Time limit in milliseconds, 100 to 300000; what was found by then is returned (default: 20000). */
  timeoutMs?: number;
  /** Allow up to this many edits (characters inserted, deleted or replaced), 1 to 4, for names you can't spell exactly; leave it out for most searches (default: exact). */
  fuzzy?: number;
  /** With fuzzy: the results with the fewest edits first, not in path order (default: false). */
  bestFirst?: boolean;
  /** `nextCursor` of the previous answer to the same call, to continue after it. */
  cursor?: string;
}

/** The records that `Search` returns. */
export interface SearchRecords {
  /** The pattern, as the caller wrote it. */
  pattern: string;
  /** The directory or file that was searched, below the root. */
  path: string;
  /** Events: matching lines and lines of context. */
  count: number;
  /** Matching lines among them. */
  matchCount: number;
  /** The events, in path order or the nearest first. */
  matches: Array<SearchRecord>;
  /** True if the time limit ended the search. */
  timedOut: boolean;
  /** `embedded`, `ugrep` or `rg`. */
  engine: string;
  /** Exit code of an external engine. */
  exitCode?: number | null;
  /** Standard error of an external engine. */
  stderr?: string | null;
  /** Files that were searched. */
  filesSearched: number;
  /** This answer continues another. Its counts exclude the earlier ones. */
  continued: boolean;
  /** No file matches `glob`. */
  noFileChosen: boolean;
  /** For a search without matches: the result of a check of the excluded files. */
  notSearched: CallVerdict;
  /** True if there is at least one more result. */
  truncated: boolean;
  /** The limit that cut the answer. */
  truncatedBy: Limit | null;
  /** The text shows less than the records. */
  textCut: boolean;
  /** Pass it as `cursor` to continue. */
  nextCursor: string | null;
  /** Files that were not searched, counted by reason. */
  skipped: Record<string, number>;
  /** Names of directories of dependencies and caches that were not entered. */
  noiseDirectories?: Array<string>;
  /** Problems that did not end the call. */
  warnings: Array<string>;
  /** Wall time of the call in milliseconds. */
  elapsedMs: number;
  /** Secrets replaced by `[redacted:RULE]`, counted by rule. */
  redacted?: Record<string, number>;
  /** The text of the answer. */
  content?: string | null;
  /** The error that ended the call. */
  error?: string | null;
  /** The code of this error. */
  code?: ErrorCode | null;
  /** For a call about several roots: these records for each other root, or `root` and `error`. */
  otherRoots?: Array<Omit<SearchRecords, "otherRoots"> | UnreadRoot>;
  /** The directory that relative paths are below. */
  root?: string;
}

export type SearchAnswer = Answer<SearchRecords> & Readonly<Omit<SearchRecords, keyof Answer>> & Iterable<SearchRecord>;

export interface LookupArguments {
  /** Words to look up: an error code, an identifier, an id. */
  query: string;
  /** Results to return, 1 to 100 (default: 10). */
  maxResults?: number;
  /** Repository to look in, as the collection names it. */
  repo?: string;
  /** File to look in, by its whole path in the collection. */
  path?: string;
  /** Language to look in, such as "rust". */
  language?: string;
  /** Conditions on payload fields, all of which must hold: FIELD=VALUE, FIELD=VALUE|VALUE for any of them, or FIELD>=NUMBER (>, <=, <), such as ["modality=text", "page_id>=10"]. */
  filter?: ReadonlyArray<string>;
}

/** The records that `keyword_lookup` returns. */
export interface LookupRecords {
  /** The query, as the caller wrote it. */
  query: string;
  /** The collection; empty if none is configured. */
  collection: string;
  /** How the lookup ended. */
  status: LookupStatus;
  /** Why nothing was looked up. */
  reason?: string | null;
  /** The conditions of the filter. */
  filter?: Array<string>;
  /** If the query is one identifier or code: the result for it as a whole. */
  name?: LookupName | null;
  /** If nothing was found with the filter: the result without it. */
  withoutFilter?: LookupWithoutFilter | null;
  /** Omitted results, which score less than a hundredth of the best. */
  cut: number;
  /** Best first, and by id for equal scores. If the query is a name, chunks that contain it as a whole come first. */
  hits: Array<LookupHit>;
  /** True if there is at least one more result. */
  truncated: boolean;
  /** The limit that cut the answer. */
  truncatedBy: Limit | null;
  /** The text shows less than the records. */
  textCut: boolean;
  /** Pass it as `cursor` to continue. */
  nextCursor: string | null;
  /** Files that were not searched, counted by reason. */
  skipped: Record<string, number>;
  /** Names of directories of dependencies and caches that were not entered. */
  noiseDirectories?: Array<string>;
  /** Problems that did not end the call. */
  warnings: Array<string>;
  /** Wall time of the call in milliseconds. */
  elapsedMs: number;
  /** Secrets replaced by `[redacted:RULE]`, counted by rule. */
  redacted?: Record<string, number>;
  /** The directory that relative paths are below. */
  root?: string;
  /** The error that ended the call. */
  error?: string | null;
  /** The code of this error. */
  code?: ErrorCode | null;
  /** For a call about several roots: these records for each other root, or `root` and `error`. */
  otherRoots?: Array<Omit<LookupRecords, "otherRoots"> | UnreadRoot>;
}

export type LookupAnswer = Answer<LookupRecords> & Readonly<Omit<LookupRecords, keyof Answer>> & Iterable<LookupHit>;

export interface HistoryArguments {
  /** Regular expression that an added or removed line matches. */
  pattern?: string;
  /** The pattern is plain text; only commits that changed how often it occurs. */
  fixedStrings?: boolean;
  /** Name of a definition in the file `path`, in place of a pattern. */
  symbol?: string;
  /** A failure (trace, message, test name), in place of a pattern: the commits most likely to have caused it. */
  suspects?: string;
  /** For `suspects`: the revision that still worked, or "good..bad" (default: the newest 300 commits). */
  since?: string;
  /** Directory or file (default: the project root); "main:src" begins at another revision. */
  path?: string;
  /** Commits to return, 1 to 500 (default: 20). */
  maxResults?: number;
  /** `nextCursor` of the previous answer to the same call, to continue after it. */
  cursor?: string;
}

/** The records that `search_history` returns. */
export interface HistoryRecords {
  /** The pattern, as the caller wrote it. */
  pattern?: string | null;
  /** The definition whose history is requested. */
  symbol?: string | null;
  /** The commits that may have caused a failure, best first, instead of a history. */
  suspects?: boolean;
  /** The directory or file, below the root. */
  path: string;
  /** The commits that were found, newest first; suspects are in the order of their likelihood. */
  commits: Array<FoundCommit>;
  /** Number of commits that were looked at, in this answer and those before it. */
  lookedAt: number;
  /** The date of the last one. */
  lookedBackTo?: string | null;
  /** True if there are no more commits. */
  complete: boolean;
  /** This page continues another. */
  continued: boolean;
  /** True if there is at least one more result. */
  truncated: boolean;
  /** The limit that cut the answer. */
  truncatedBy: Limit | null;
  /** The text shows less than the records. */
  textCut: boolean;
  /** Pass it as `cursor` to continue. */
  nextCursor: string | null;
  /** Files that were not searched, counted by reason. */
  skipped: Record<string, number>;
  /** Names of directories of dependencies and caches that were not entered. */
  noiseDirectories?: Array<string>;
  /** Problems that did not end the call. */
  warnings: Array<string>;
  /** Wall time of the call in milliseconds. */
  elapsedMs: number;
  /** Secrets replaced by `[redacted:RULE]`, counted by rule. */
  redacted?: Record<string, number>;
  /** The directory that relative paths are below. */
  root?: string;
  /** The error that ended the call. */
  error?: string | null;
  /** The code of this error. */
  code?: ErrorCode | null;
  /** For a call about several roots: these records for each other root, or `root` and `error`. */
  otherRoots?: Array<Omit<HistoryRecords, "otherRoots"> | UnreadRoot>;
}

export type HistoryAnswer = Answer<HistoryRecords> & Readonly<Omit<HistoryRecords, keyof Answer>> & Iterable<FoundCommit>;

/** A model and its endpoint. */
export interface ModelSettings {
  /** A known provider, such as `openai`; with `baseUrl` a name for messages. */
  provider?: string;
  /** The provider's id of the model. */
  model: string;
  /** The address of the endpoint; by default that of the provider. */
  baseUrl?: string;
  /** The key; by default the value of the provider's environment variable. */
  apiKey?: string;
  /** The protocol; by default that of the provider, or OpenAI's. */
  wire?: string;
  /** Allows plain `http` to another machine. */
  allowInsecure?: boolean;
}

/** A collection in a directory or on a Qdrant server. The configuration describes the same keys in `[retrieval]`. */
export interface CollectionSettings {
  /** A local directory of collections, in place of a server. */
  directory?: string;
  /** The address of a server. Its port is that of the REST API, 6333 by default. */
  url?: string;
  /** The name of the collection. */
  name?: string;
  /** The API key of the server. */
  apiKey?: string;
  /** Allows sending the key over plain `http` to another machine. */
  allowPlainKey?: boolean;
  /** The payload field that selects the shard of a point. */
  shardKey?: string;
  /** Timeout of a lookup in milliseconds, 100 to 300000. */
  timeoutMs?: number;
  /** The name of the sparse vector. */
  vector?: string;
  /** The weights of terms in a collection without the IDF modifier: computed by Forage, or as stored. */
  idf?: "auto" | "stored";
  /** The encoder; `auto` uses the one that the collection names. */
  encoder?: "auto" | "code-superset" | "fastembed-bm25" | "bm42";
  /** The language of the texts, for stemming. */
  language?: string;
  /** Whether words were indexed without stemming. */
  disableStemmer?: boolean;
  /** Results of a lookup that does not request a number, 1 to 100. */
  topK?: number;
  /** Payload fields to return; `*` for all. */
  payload?: readonly string[];
  /** The payload field that contains the text. */
  textField?: string;
}

/** How `keywordSearch` filters. The configuration describes the same keys in `[filter]`. */
export interface FilterSettings {
  /** The source of candidate files. */
  candidates?: "terms" | "union";
  /** What happens to terms that match too much. */
  breadth?: "adaptive" | "requirement";
  /** Maximum bytes of the evidence for one term. */
  termBytes?: number;
  /** Maximum bytes of all evidence. */
  evidenceBytes?: number;
  /** Lines of context around a match. */
  contextLines?: number;
  /** The form of the evidence. */
  evidence?: "requirement" | "compact";
  /** The form of the model's answer. */
  answer?: "paths" | "ids";
  /** Number of model calls among which a large body of evidence is divided; needs `ids`. */
  shards?: number;
  /** Maximum tokens of compact evidence. */
  evidenceTokens?: number;
  /** A file with a system prompt that replaces the built-in one. */
  promptFile?: string;
}

/** Settings of a workspace. Settings that are omitted are as on the command line, but its configuration file is not read. */
export interface WorkspaceSettings {
  /** Whether to use indexes, or the directory to store them in. */
  index?: boolean | string | URL;
  /** Watch the tree and keep its index in memory, for a long-running program. */
  watch?: boolean;
  /** The models for `keywordSearch` and `ask`, in order of preference. */
  models?: readonly ModelSettings[];
  /** The collection for `lookup`. */
  collection?: CollectionSettings;
  /** Let `keywordSearch` rank its results without a model. */
  withoutModel?: boolean;
  /** How `keywordSearch` filters. */
  filter?: FilterSettings;
  /** Return secrets unchanged. By default they are removed from every answer. */
  showSecrets?: boolean;
  /** Maximum bytes of an answer's text, 2000 to 100000. */
  textBytes?: number;
  /** Time limit of every call in milliseconds, 100 to 300000. */
  timeoutMs?: number;
  /** Threads of a call, up to 256 (default: one per processor). */
  threads?: number;
  /** Do not search files that are larger than this. */
  maxFileBytes?: number;
  /** Globs of files that are excluded everywhere. */
  exclude?: readonly string[];
  /** Allow a root as broad as a home directory. */
  allowBroadRoot?: boolean;
}

export interface CallOptions {
  /** Ends the call and its work. */
  signal?: AbortSignal;
}

/** An event while a question is answered. Unknown tokens and costs are `null`. */
export type AskEvent =
  /** A model is asked; it must answer now if `last` is true. */
  | { readonly type: "asking"; readonly turn: number; readonly turns: number; readonly model: string; readonly last: boolean }
  /** A piece of the model's text, while it is written. */
  | { readonly type: "text"; readonly text: string }
  /** A model has responded, and requests this number of calls. */
  | {
      readonly type: "said";
      readonly calls: number;
      readonly costUsd: number | null;
      readonly elapsedMs: number;
      readonly inputTokens: number | null;
      readonly outputTokens: number | null;
    }
  /** A model failed; `then` says what happens next. */
  | { readonly type: "failed"; readonly error: string; readonly then: string }
  /** A call of a tool has started; `arguments` are JSON, as the model wrote them. */
  | { readonly type: "call_started"; readonly number: number; readonly tool: string; readonly arguments: string }
  /** A call of a tool has ended. */
  | {
      readonly type: "call_ended";
      readonly number: number;
      readonly tool: string;
      readonly bytes: number;
      readonly elapsedMs: number;
      readonly error: string | null;
    }
  /** This number of old results was removed from the conversation to make room. */
  | { readonly type: "made_room"; readonly results: number };

/** The form of definitions of tools that a provider expects. */
export type ToolFormat = "openai" | "openai-strict" | "anthropic" | "gemini" | "mcp";

/** Directories, and the tools that search them. */
export declare class Workspace {
  /**
   * Opens directories, each widened to the git repository that contains it.
   *
   * @param paths - one directory or several, or none (`[]`) if you only use `lookup` on a `collection`
   */
  constructor(paths: string | URL | ReadonlyArray<string | URL>, settings?: WorkspaceSettings);
  /** The directories, as answers name them. */
  readonly roots: string[];
  /**
   * Returns the definitions of the tools for a model.
   *
   * @param options - `only`: names of tools to define, including those that are off by default (default: all that are on)
   */
  tools(format?: ToolFormat, options?: { only?: readonly string[] }): Array<Record<string, unknown>>;
  /**
   * Calls a tool as a model does.
   *
   * @param name - the name of the tool, as in its definition
   * @param given - the arguments as in the definition, or the JSON that the model wrote
   */
  call(name: string, given?: object | string, options?: CallOptions): Promise<Answer>;
  /**
   * Answers a question with an agent that uses the tools. The workspace needs `models`.
   *
   * @param options - `watch` is called with each event; if it throws, or its promise is rejected, the question ends with that error
   */
  ask(question: string, options?: CallOptions & { watch?: (event: AskEvent) => unknown }): Promise<Asked>;
  /** Builds the index, or updates it. */
  buildIndex(options?: CallOptions): Promise<void>;
  /** Refuses further calls. The promise is fulfilled when the background work has ended. */
  close(): Promise<void>;
  /** Like `close`, without waiting. */
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
  /**
   * Ranks the files that answer a question, with the code that helps most.
   *
   * Takes a question, names or the text of a bug report, and needs no model. In the query, "quoted words" must be adjacent, `path:src` and `lang:rust` restrict the files, and `-word` excludes a word.
   * @example
   * ```ts
   * const ranked = await workspace.rank({ query: "where are requests retried", maxResults: 5 });
   * for (const file of ranked) console.log(file.path, file.score);
   * ```
   */
  rank(given?: RankArguments, options?: CallOptions): Promise<RankAnswer>;
  /**
   * Finds the lines that match a regular expression, grouped by file.
   *
   * The syntax is that of Rust's `regex` crate, as in ripgrep. Ignored, hidden and binary files are not searched; an answer without matches says whether they have some. With `output` "uses" and a name as pattern, the answer has the definitions of the name and its uses.
   * @example
   * ```ts
   * const matching = await workspace.grep({ pattern: "^export ", filePattern: "*.ts" });
   * for (const file of matching) console.log(file.path, file.lines?.map((line) => line.lineNumber));
   * ```
   */
  grep(given: GrepArguments, options?: CallOptions): Promise<GrepAnswer>;
  /** Like `grep`, but iterates over all results as they are found. */
  grepEach(given: Omit<GrepArguments, "output" | "maxResults" | "cursor">, options?: CallOptions): Each<GrepFile, GrepAnswer>;
  /**
   * Finds the files that are relevant to a question, as judged by a model.
   *
   * One pass searches for all terms. Then a fast model keeps the relevant files and says why. The workspace needs `models`, or `withoutModel` to rank the files without one.
   * @example
   * ```ts
   * const relevant = await workspace.keywordSearch({
   *   query: "Where are failed requests retried?",
   *   searchTerms: ["again", "retr(y|ies)"],
   * });
   * for (const file of relevant) console.log(file.path, file.explanation);
   * ```
   */
  keywordSearch(given: KeywordSearchArguments, options?: CallOptions): Promise<KeywordSearchAnswer>;
  /**
   * Lists a directory as a tree, or finds files by name.
   *
   * Hidden and ignored names are omitted and counted, and so are directories of dependencies and caches.
   * @example
   * ```ts
   * const listed = await workspace.list({ path: "src", recursive: true });
   * for (const entry of listed) console.log(entry.path, entry.lines);
   * ```
   */
  list(given?: ListArguments, options?: CallOptions): Promise<ListAnswer>;
  /**
   * Reads a text file: whole, a range of its lines, definitions by name, or an outline.
   *
   * Binary files and files whose names show that they hold secrets are refused.
   * @example
   * ```ts
   * const read = await workspace.read({ path: "src/retry.ts", symbol: "again" });
   * console.log(read.startLine, read.lines.join("\n"));
   * ```
   */
  read(given: ReadArguments, options?: CallOptions): Promise<ReadAnswer>;
  /**
   * Searches lines with several globs, smart case and up to four edits.
   *
   * Returns single matches and lines of context, in path order. Set `fuzzy` for a name that you can't spell exactly; start with 1.
   * @example
   * ```ts
   * const similar = await workspace.search({ pattern: "agian", fuzzy: 2, filePattern: ["*.ts", "!*.d.ts"] });
   * for (const match of similar) console.log(match.data.path.text, match.data.lineNumber);
   * ```
   */
  search(given: SearchArguments, options?: CallOptions): Promise<SearchAnswer>;
  /** Like `search`, but iterates over all results as they are found. */
  searchEach(given: Omit<SearchArguments, "maxResults" | "bestFirst" | "cursor">, options?: CallOptions): Each<SearchRecord, SearchAnswer>;
  /**
   * Looks up exact words in a collection of sparse vectors.
   *
   * For error codes, identifiers and other rare words. The workspace needs a `collection`. If its server or its encoder is unavailable, the answer has no hits, and its `status` and `reason` say so.
   * @example
   * ```ts
   * const found = await workspace.lookup({ query: "ORA-00942", maxResults: 3 });
   * for (const hit of found) console.log(hit.id, hit.score, hit.payload);
   * ```
   */
  lookup(given: LookupArguments, options?: CallOptions): Promise<LookupAnswer>;
  /**
   * Finds the commits that changed a text, a definition or a path, newest first.
   *
   * With a pattern, these added or removed a matching line, as for `git log -G`; with `fixedStrings` they changed how often the text occurs (`-S`). With `symbol` they changed this definition of the file `path` (`-L`). Merges are left out. The top of the repository must be the root.
   * @example
   * ```ts
   * const changes = await workspace.history({ symbol: "again", path: "src/retry.ts" });
   * for (const commit of changes) console.log(commit.date, commit.subject);
   * ```
   */
  history(given?: HistoryArguments, options?: CallOptions): Promise<HistoryAnswer>;
}
