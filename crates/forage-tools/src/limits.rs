//! Limits of the tools, each with its unit and reason. Those that a user may change are defaults in
//! [`crate::CallLimits`] and the settings of a [`crate::Workspace`].

use std::ops::RangeInclusive;
use std::time::Duration;

/// Time limit for the search stage of a call (the requirement's 20 s).
pub const TIMEOUT: Duration = Duration::from_secs(20);
/// Range of the setting for [`TIMEOUT`], in milliseconds.
pub const TIMEOUT_MS_RANGE: RangeInclusive<u64> = 100..=300_000;

/// Range of the setting for worker threads; 0 means one per processor.
pub const THREADS_RANGE: RangeInclusive<usize> = 0..=256;

/// Time limit of a call for updating a ranked index. The rest of [`TIMEOUT`] is for writing it and for the
/// search.
pub const INDEXING_TIME: Duration = Duration::from_secs(15);

/// Time limit of a server's call for a small update of a ranked index. An edit takes a few milliseconds; the
/// rest is a reserve for busy machines.
pub const SMALL_UPDATE_TIME: Duration = Duration::from_secs(5);

/// The same for a large update, which continues in the background.
pub const LARGE_UPDATE_TIME: Duration = Duration::from_millis(400);

/// The same for comparing many files with an existing index. Often only their states are unknown, for example
/// after a checkout, and 30,000 files take less than a second. Waiting is worth it because on whole
/// repositories the index has an NDCG@10 of .856, and the line search that replaces it .762.
pub const READY_INDEX_TIME: Duration = Duration::from_secs(1);

/// Time limit of a call whose line search replaces a ranked index that is not ready yet, from the start of
/// the call. It includes waiting for the index, the search, and ranking the results. This way an agent gets
/// its answer within 1.5 seconds.
pub const PROVISIONAL_TIME: Duration = Duration::from_millis(1_050);

/// The last part of [`PROVISIONAL_TIME`], for reading and ranking the results.
pub const PROVISIONAL_RANKING: Duration = Duration::from_millis(300);

/// Minimum time for that search, however long we waited for the index.
pub const PROVISIONAL_SEARCH_MIN: Duration = Duration::from_millis(200);

/// Minimum number of files to rank, so that an answer has some even on a slow machine.
pub const PROVISIONAL_FILES_MIN: usize = 10;

/// Threads that read these files. Two halve the time, but each further thread takes additional memory.
pub const PROVISIONAL_THREADS: usize = 2;

/// Maximum number of query words for this search. Each needs a bit in a machine word.
pub const PROVISIONAL_WORDS: usize = 16;

/// Maximum number of lines that we count per file.
pub const PROVISIONAL_LINES: usize = 50;

/// Maximum number of files that we rank.
pub const PROVISIONAL_FILES: usize = 150;

/// Maximum share of a call's time for updating a ranked index. [`INDEXING_TIME`] is this share of
/// [`TIMEOUT`].
pub const INDEXING_SHARE: f64 = 0.75;

/// Time limit for the model stage of a `keyword_search`. Fast models answer within a few seconds, but a
/// reasoning model may take most of a minute.
pub const MODEL_TIMEOUT: Duration = Duration::from_secs(60);

/// Default bytes of one text answer: about 10,000 tokens, which every client shows inline.
pub const TEXT_BYTES: usize = 40_000;

/// Maximum bytes of one text answer. Clients move longer answers to files.
pub const TEXT_BYTES_MAX: usize = 100_000;

/// Minimum bytes of one text answer. With less there would be no room even for totals and notes.
pub const TEXT_BYTES_MIN: usize = 2_000;

/// Default and maximum lines of context in `grep_search` (the plan's default is 2).
pub const GREP_CONTEXT: u64 = 2;
/// See [`GREP_CONTEXT`].
pub const GREP_CONTEXT_MAX: u64 = 50;

/// Default and maximum matching lines in one answer of `grep_search` (the plan's default is 50).
pub const GREP_MATCHES: u64 = 50;
/// Maximum matches for which an answer has lines of context by default. With more, an agent would pay for
/// more lines than it reads.
pub const GREP_CONTEXT_MATCHES: u64 = 10;

/// Time limit for counting the matches that do not fit a page, and for finding the definitions of a name.
pub const GREP_COUNT_TIME: Duration = Duration::from_secs(5);

/// Maximum directories in the summary of matches that do not fit a page.
pub const GREP_DIRECTORIES_SHOWN: usize = 8;

/// Maximum directories for which these matches are counted.
pub const GREP_DIRECTORIES_COUNTED: usize = 10_000;

/// Maximum characters of a line of an outline. A signature of this length should still identify the
/// definition. Large outlines use the smaller values.
pub const OUTLINE_CHARACTERS: [usize; 3] = [100, 60, 40];

/// Maximum share of its file's bytes that an outline should take, as a divisor. We shorten its lines for
/// this.
pub const OUTLINE_PART: usize = 6;

/// Hard limit of an outline's share of its file's bytes, as a divisor.
pub const OUTLINE_LARGEST_PART: usize = 3;

/// Bytes that an outline may always take, even if the file is short.
pub const OUTLINE_BYTES: usize = 1_500;

/// Maximum names in one request for definitions. In a file with very many definitions, each name takes some
/// 50 ms if it is missing.
pub const SYMBOLS: usize = 100;

/// Maximum definitions, or names, in an error about a symbol.
pub const SYMBOL_PLACES: usize = 8;

/// Maximum lines of all definitions of a name in different scopes that we show together. With more, the
/// caller must choose one.
pub const SYMBOL_LINES: u32 = 80;

/// Maximum members defined outside of a type's lines that are named with the type.
pub const SYMBOL_MEMBERS: usize = 20;

/// Maximum matching lines of one file in one item of a stream of all matches.
pub const GREP_PIECE_MATCHES: usize = 10_000;

/// Default files in one answer of `grep_search` by files; see [`GREP_MATCHES_MAX`].
pub const GREP_FILES: u64 = 200;

/// Maximum files with a name in which we look for its uses.
pub const GREP_USES_FILES: usize = 100_000;

/// Maximum names of enclosing definitions of a use, and bytes of each.
pub const GREP_WITHIN: usize = 8;
/// See [`GREP_WITHIN`].
pub const GREP_WITHIN_BYTES: usize = 100;

/// Maximum types and modules in the counts of lines that a qualified name excludes.
pub const GREP_RECEIVERS: usize = 8;

/// Maximum names per caller whose files we cache for further pages.
pub const GREP_USES_KEPT: usize = 4;

/// Maximum files whose text and outline we cache for an answer of uses, and bytes of all of them with their
/// definitions.
pub const GREP_USES_HELD: (usize, usize) = (64, 16 << 20);

/// Maximum definitions of a name that we list, and types that implement or extend it.
pub const GREP_DEFINITIONS: usize = 20;

/// Maximum definitions of a change whose uses an impact follows.
pub const IMPACT_CHANGED: usize = 60;

/// Maximum definitions that the second step of an impact follows. With more, its answer would name most of a
/// project.
pub const IMPACT_FOLLOWED: usize = 40;

/// Maximum files with one of several followed names. A more frequent name, such as `new`, shows no impact.
pub const IMPACT_FILES: usize = 400;

/// Maximum lines of one edge or file in an impact.
pub const IMPACT_LINES: usize = 20;

/// Maximum files in the lists of an impact that are not edges.
pub const IMPACT_NAME_ONLY: usize = 20;

/// Maximum levels of subtypes of a qualifier. Each level searches all files once.
pub const GREP_SUBTYPE_LEVELS: usize = 8;

/// Maximum subtypes of a qualifier. With more, we search no further level.
pub const GREP_SUBTYPES: usize = 200;

/// Time limit for finding the types that implement or extend a name, and separately those that extend its
/// qualifier.
pub const GREP_IMPLEMENTATIONS_TIME: Duration = Duration::from_secs(1);

/// Share of a call's time for finding all files with a name.
pub const GREP_GATHER_SHARE: f64 = 0.6;

/// See [`GREP_MATCHES`].
pub const GREP_MATCHES_MAX: u64 = 10_000;

/// Maximum match positions per line in the records of `grep_search`.
pub const GREP_SPANS: usize = 100;

/// Maximum characters of a line in `grep_search` (the plan's 200), as a reader sees them. Longer lines are
/// cut around the match.
pub const GREP_LINE_CHARACTERS: usize = 200;

/// Default and maximum match and context events in one answer of `Search` (the requirement's default is 200).
pub const SEARCH_RESULTS: u64 = 200;
/// See [`SEARCH_RESULTS`].
pub const SEARCH_RESULTS_MAX: u64 = 10_000;

/// Default and maximum files in one answer of `search_index`.
pub const RANKED_FILES: u64 = 10;
/// See [`RANKED_FILES`].
pub const RANKED_FILES_MAX: u64 = 100;

/// Number of files of `search_index` that we show in more detail, because readers look at the start of a
/// ranking.
pub const RANKED_WELL_SHOWN: usize = 3;

/// Maximum chunks of a file and lines of each chunk in `search_index`, for the first files and for the
/// others.
pub const RANKED_CHUNKS: (usize, usize) = (3, 3);
/// See [`RANKED_CHUNKS`].
pub const RANKED_CHUNKS_LATER: (usize, usize) = (2, 1);

/// Default tokens of code of `search_index`: the best value for its price (bench/README.md, right lines).
pub const CODE_TOKENS: u64 = 4_000;

/// Minimum room in tokens for showing code by default. With less, only one definition would fit.
pub const CODE_TOKENS_MIN: u64 = 1_000;

/// Minimum tokens of code for reading [`CODE_FILES`] files. With less, we read as many as without code.
pub const CODE_TOKENS_FOR_MANY: u64 = 2_000;

/// Maximum tokens of code that a call of `search_index` may request.
pub const CODE_TOKENS_MAX: u64 = 32_000;

/// Default files that we consider for an answer with code.
pub const CODE_FILES: u64 = 20;

/// Default files without code that an answer with code names.
pub const CODE_FURTHER_FILES: usize = 6;

/// Siblings that the text of an answer names, of a file. The record has all of them.
pub const NAMED_SIBLINGS: usize = 5;

/// Maximum characters of the line that is shown of such a file.
pub const CODE_FURTHER_CHARACTERS: usize = 60;

/// Tokens and bytes of such a line, including its number and reason.
pub const CODE_FURTHER_TOKENS: usize = 20;
/// See [`CODE_FURTHER_TOKENS`].
pub const CODE_FURTHER_BYTES: usize = 92;

/// Maximum share of the tokens of an answer with code for file names, as a divisor.
pub const CODE_NAMED_PART: usize = 3;

/// Files that we rank for each file considered in an answer with code. We need more because tests,
/// translations and the like are skipped.
pub const CODE_CANDIDATES: usize = 3;

/// Maximum considered files whose code may be shown.
pub const CODE_FILES_READ: usize = 12;

/// How many of these files, starting with the first, also get an outline of the parts not shown.
pub const CODE_OUTLINES: usize = 3;

/// Maximum definitions that this outline names.
pub const CODE_OUTLINE_NAMES: usize = 5;

/// Tokens of a definition in this outline in addition to its name: its kind and two numbers.
pub const CODE_OUTLINE_TOKENS: usize = 6;

/// Maximum bytes of a line of code; longer ones are cut.
pub const CODE_LINE_BYTES: usize = forage_rank::limits::PASSAGE_LINE_BYTES;

/// Bytes of such a line in which we look for the part to show.
pub const CODE_PLACE_BYTES: usize = 16 << 10;

/// Maximum bytes of the name of a definition in an answer with code.
pub const CODE_NAME_BYTES: usize = 80;

/// Approximate bytes of a token of code.
pub const CODE_TOKEN_BYTES: usize = 4;

/// Maximum share of the tokens of code for outlines of the parts not shown, as a divisor.
pub const CODE_OUTLINE_PART: usize = 12;

/// Bytes that an answer with code must reserve for notes.
pub const CODE_NOTES_BYTES: usize = 1_500;

/// Number of files for which we remember the lines that a caller has seen.
pub const SHOWN_EARLIER_FILES: usize = 10_000;

/// Maximum characters of a line in `search_index`.
pub const RANKED_LINE_CHARACTERS: usize = 160;

/// Minimum and maximum milliseconds for a `Search`; [`TIMEOUT`] is the default.
pub const SEARCH_TIMEOUT_MS_MIN: u64 = 100;
/// See [`SEARCH_TIMEOUT_MS_MIN`].
pub const SEARCH_TIMEOUT_MS_MAX: u64 = 300_000;

/// Maximum lines of context in `Search`; the default is none.
pub const SEARCH_CONTEXT_MAX: u64 = 50;

/// Maximum edits of a fuzzy `Search` (the requirement's 4).
pub const SEARCH_FUZZY_MAX: u64 = 4;

/// Maximum characters of a line in `Search`; longer ones are cut around the best match.
pub const SEARCH_LINE_CHARACTERS: usize = 400;

/// Maximum match positions per line in the records of `Search`.
pub const SEARCH_SPANS: usize = 100;

/// Maximum bytes of an external engine's standard error in an answer.
pub const SEARCH_STDERR_BYTES: usize = 4 << 10;

/// Maximum bytes of a line of evidence for a model; longer ones are cut around the match.
pub const EVIDENCE_LINE_BYTES: usize = 400;

/// Bytes of source code per token. In OpenAI's o200k vocabulary the requirement's evidence has 3.2 and the
/// compact form 3.7, so we should stay below the budget.
pub const BYTES_PER_TOKEN: f64 = 3.2;

/// Minimum and maximum of the settings for bytes of one term and of all terms. Below a few kilobytes we could
/// show hardly any file, and no model reads more than a megabyte.
pub const BREADTH_BYTES_MIN: u64 = 4 << 10;
/// See [`BREADTH_BYTES_MIN`].
pub const BREADTH_BYTES_MAX: u64 = 1 << 20;

/// Maximum of the setting for lines of context around matches.
pub const EVIDENCE_CONTEXT_MAX: u64 = 50;

/// Default, minimum and maximum tokens of evidence in one request. 12,000 tokens have room for about forty
/// files with one or two windows each. This is more than a model finds relevant. Above 32,000, answers become
/// slow and models forget the middle.
pub const EVIDENCE_TOKENS: usize = 12_000;
/// See [`EVIDENCE_TOKENS`].
pub const EVIDENCE_TOKENS_MIN: usize = 1_000;
/// See [`EVIDENCE_TOKENS`].
pub const EVIDENCE_TOKENS_MAX: usize = 32_000;

/// Maximum bytes of a user's system prompt. Ours have 2 KB, and a megabyte in every request would be an
/// expensive mistake.
pub const PROMPT_BYTES: u64 = 64 << 10;

/// Maximum requests that we split evidence into. They run in parallel, and providers limit concurrency.
pub const FILTER_SHARDS_MAX: usize = 4;

/// Lines of context on each side of a match in compact evidence.
pub const COMPACT_CONTEXT: u64 = 3;

/// Maximum lines of one window of compact evidence. A longer run of matches becomes several windows, so that
/// no file takes the room of all others.
pub const COMPACT_WINDOW_LINES: usize = 20;

/// Maximum windows of one file in compact evidence, and the smaller values to try if these do not fit.
pub const COMPACT_WINDOWS: [usize; 3] = [4, 2, 1];

/// Maximum bytes of a line of compact evidence. Longer lines are cut around the match. Text beyond 200
/// columns is seldom read, and data in one line would fill the budget.
pub const COMPACT_LINE_BYTES: usize = 200;

/// Maximum bytes of the line for a file that is shown in one line.
pub const COMPACT_ENTRY_LINE_BYTES: usize = 100;

/// Minimum bytes of a window that we replace by a reference to a copy in another file. The reference itself
/// takes about half of this.
pub const COMPACT_COPY_BYTES: usize = 120;

/// Maximum share of the budget, as a divisor, that we reserve for files in one line. Naming the last files is
/// worth more than another window of the first.
pub const COMPACT_ENTRIES_PART: usize = 4;

/// Maximum bytes of a term in the heading of a file.
pub const COMPACT_TERM_BYTES: usize = 40;

/// Maximum ids in an answer's schema. With more, the schema accepts any string. OpenAI accepts 1,000 values,
/// others fewer.
pub const SCHEMA_IDS: usize = 500;

/// Maximum line ranges per file that we take from a model's answer.
pub const ANSWER_RANGES: usize = 8;

/// Maximum failed attempts to parse JSON that begins in a line of a model's text. Links and list markers look
/// like the start of JSON, and thousands of attempts would take seconds.
pub const ANSWER_BEGINNINGS: usize = 64;

/// Maximum entry ends, counted from the end of a truncated JSON list, at which we try to close the list. The
/// truncated entry may contain a few braces in its reason.
pub const ANSWER_REPAIRS: usize = 16;

/// Maximum definitions and uses in the cache of parsed files, at about 200 bytes each. If this is exceeded,
/// we clear the cache.
pub const OUTLINES_KEPT_ENTRIES: usize = 100_000;

/// Maximum files in the warning about files that are mentioned only in the text around a model's list.
pub const MENTIONED_FILES: usize = 8;

/// Maximum markers that we strip from a model's line before its path, e.g. of a quotation, list, number, bold
/// text, link or code.
pub const ANSWER_MARKS: usize = 16;

/// Bytes within which a tag before a path must end.
pub const ANSWER_TAG_BYTES: usize = 300;

/// Default and maximum levels of a recursive `list_directory` (the plan's default is 2).
pub const LIST_DEPTH: u64 = 2;
/// See [`LIST_DEPTH`].
pub const LIST_DEPTH_MAX: u64 = 20;

/// Maximum entries that `list_directory` shows.
pub const LIST_ENTRIES: usize = 400;

/// Maximum entries that `list_directory` reads. A wider tree is listed in part, and the answer says so.
pub const LIST_ENTRIES_READ: usize = 200_000;

/// Maximum files that `list_directory` shows for a glob, and for a similar name.
pub const LIST_FOUND: usize = 200;
/// See [`LIST_FOUND`].
pub const LIST_NEAR: usize = 20;

/// Maximum files whose symbols `list_directory` shows, and names of each.
pub const LIST_SYMBOL_FILES: usize = 200;
/// See [`LIST_SYMBOL_FILES`].
pub const LIST_SYMBOLS: usize = 12;
/// Maximum bytes of such a name.
pub const LIST_SYMBOL_BYTES: usize = 60;

/// Minimum and maximum tokens of a map of `list_directory`. With fewer, it would name hardly anything.
pub const LIST_MAP_TOKENS_MIN: u64 = 100;
/// See [`LIST_MAP_TOKENS_MIN`].
pub const LIST_MAP_TOKENS_MAX: u64 = 20_000;
/// Minimum tokens of a root's share of a map of several roots. A share needs some for its notes.
pub const LIST_MAP_SHARE_TOKENS: u64 = 60;
/// Bytes of a map per token, at most. The longest known word has 14.
pub const LIST_MAP_TOKEN_BYTES: u64 = 16;

/// Maximum share of a map's tokens for notes, as a divisor. Warnings alone may take twice as much. Further notes
/// are counted.
pub const LIST_MAP_NOTES_PART: usize = 3;

/// Maximum paths with similar names that we sort by similarity.
pub const NEAR_PATHS: usize = 100_000;

/// Number of characters of a name for which we allow one edit.
pub const CHARACTERS_BY_EDIT: usize = 4;

/// Depth of directories below a root that may have a lock file of their own, for example `packages/app`.
pub const DEPENDENCY_PROJECT_DEPTH: usize = 2;
/// Maximum number of such directories at one depth. Looking for lock files in each takes some ten system calls.
pub const DEPENDENCY_PROJECTS: usize = 500;
/// Maximum number of names that we read of a directory when we look for a dependency. Large stores of
/// packages have some ten thousand.
pub const DEPENDENCY_NAMES: usize = 50_000;
/// Maximum bytes of a lock file or manifest. The lock files of large projects have 2 MB. The packages in one may
/// take ten times its size in memory.
pub const DEPENDENCY_LIST_BYTES: usize = 8 << 20;

/// Time limit for finding the dependencies that define a name without matches in the project.
pub const DEPENDENCY_SEARCH_TIME: Duration = Duration::from_millis(500);
/// Maximum number of such definitions in an answer.
pub const DEPENDENCY_DEFINITIONS: usize = 3;
/// Minimum number of characters of such a name. Shorter ones are defined in most packages.
pub const DEPENDENCY_NAME_CHARACTERS: usize = 4;

/// Maximum paths that an error suggests for a missing one, and the time limit for finding them.
pub const NEAREST_PATHS: usize = 3;
/// See [`NEAREST_PATHS`]. Also the time limit for finding globs that match no file.
pub const NEAREST_TIME: Duration = Duration::from_millis(500);

/// Maximum bytes of a file whose lines `list_directory` counts. For larger files it shows the size.
pub const LIST_COUNT_BYTES: usize = 16 << 20;

/// Maximum characters of a line in `read_file`. The rest is only counted.
pub const READ_LINE_CHARACTERS: usize = 2_000;

/// Maximum globs of a call, with all readings of each, and bytes of all of them. The matcher of 100,000 globs
/// would take 300 MB.
pub const GLOBS: usize = 2_000;
/// See [`GLOBS`].
pub const GLOBS_BYTES: usize = 64 << 10;

/// Maximum bytes of a file that we parse as a whole.
pub const READ_DECODE_BYTES: usize = 16 << 20;

/// Maximum lines of a file whose definitions we read. Each line takes some sixty bytes, however short it is.
pub const READ_DECODE_LINES: u64 = 1_000_000;

/// Size in bytes above which only one file at a time may be read as a whole. With its definitions, a text
/// takes up to eight times its size.
pub const LARGE_TEXT_BYTES: u64 = 1 << 20;

/// Maximum bytes that `read_file` reads to count the lines of a file. For longer files the answer says "at
/// least".
pub const READ_COUNT_BYTES: u64 = 256 << 20;

/// Maximum files with matches in each search after one without hits: that of skipped files, and that of each
/// other reading.
pub const VERDICT_FILES: u64 = 20_000;

/// Time limit for the search of skipped files.
pub const VERDICT_TIME: Duration = Duration::from_secs(2);

/// Time limit for searches of other readings of a pattern without hits, and for the ranking after them.
pub const READINGS_TIME: Duration = Duration::from_secs(1);

/// Maximum other readings in an answer.
pub const READINGS: usize = 3;

/// Maximum ranked files in an answer without hits.
pub const READINGS_RANKED: usize = 3;

/// Maximum bytes of the sentence about one reading.
pub const READING_BYTES: usize = 300;

/// Maximum spellings listed for one reading.
pub const READING_SPELLINGS: usize = 4;

/// Distinct spellings after which we end the search of one reading.
pub const READING_SPELLINGS_HELD: usize = 1_000;

/// Maximum bytes of a query for `keyword_search`.
pub const QUERY_BYTES: usize = 8 << 10;

/// Maximum tokens of a model's answer in `keyword_search`. The answer needs a few hundred, but reasoning
/// models spend several thousand before it.
pub const FILTER_ANSWER_TOKENS: u32 = 8_192;

/// Maximum files in an answer of `keyword_search --filter lexical`.
pub const LEXICAL_FILES: usize = 20;

/// Maximum files of a `keyword_search` that we read whole for ranking without a model. Further files are
/// seldom looked at.
pub const LEXICAL_RANKED: usize = 300;

/// Time limit for this ranking. It takes a few tenths of a second. Without it, the files come in the order of
/// their matching lines.
pub const LEXICAL_TIME: Duration = Duration::from_secs(5);

/// Maximum ranked files that we add to the files found by the terms of a `keyword_search`.
pub const UNION_FILES: usize = 30;

/// Maximum parts of each such file that we show with context, and lines of each part.
pub const UNION_CHUNKS: usize = 2;
/// See [`UNION_CHUNKS`].
pub const UNION_LINES: usize = 3;

/// Maximum bytes of a term or pattern in an error or note.
pub const QUOTED_BYTES: usize = 80;

/// Maximum bytes of one note at the end of an answer, and maximum warnings shown there.
pub const NOTE_BYTES: usize = 600;
/// See [`NOTE_BYTES`].
pub const WARNINGS_SHOWN: usize = 10;

/// Maximum rules named in the explanation of a search without hits.
pub const VERDICT_RULES: usize = 10;

/// Maximum bytes of a model's explanation.
pub const EXPLANATION_BYTES: usize = 300;

/// Default (the requirement's `top_k`) and maximum results of `keyword_lookup`.
pub const LOOKUP_HITS: u64 = 10;
/// See [`LOOKUP_HITS`].
pub const LOOKUP_HITS_MAX: u64 = forage_lookup::limits::HITS as u64;

/// Default time limit for a lookup in milliseconds, including retries.
pub const LOOKUP_TIMEOUT_MS: u64 = 5_000;
/// Range of the setting for [`LOOKUP_TIMEOUT_MS`].
pub const LOOKUP_TIMEOUT_MS_RANGE: RangeInclusive<u64> = 100..=300_000;

/// Maximum bytes of a text in the records of `keyword_lookup`.
pub const LOOKUP_TEXT_BYTES: usize = 4_000;

/// Maximum conditions in the filter of `keyword_lookup`.
pub const LOOKUP_CONDITIONS: usize = 16;

/// Maximum bytes of one condition.
pub const LOOKUP_CONDITION_BYTES: usize = 2_000;

/// Maximum lines that `keyword_lookup` shows of a result.
pub const LOOKUP_LINES: usize = 3;

/// Bytes of a lookup's result lines that we compare with words between deadline checks. This takes a few
/// milliseconds.
pub const LOOKUP_COMPARED_BYTES: u64 = 256 << 10;

/// Lines around those shown that we check for signs of a secret, for example a name above its value.
/// Formatters put the value on the next line, and people may put a comment in between.
pub const REDACTION_CONTEXT_LINES: usize = 3;

/// Bytes of a line before and after the part shown that we check for the same reason. The longest common
/// tokens have about 2,000, plus a name before them.
pub const REDACTION_CONTEXT_BYTES: usize = 4 << 10;

/// Factor by which we keep more spans of a line than we show, until the line is cut to the part shown.
pub const REDACTION_SPAN_FACTOR: usize = 8;

/// Minimum bytes of a root's part of a text answer about several roots. Further roots are only named.
pub const ROOT_BYTES_MIN: usize = 1_500;

/// Maximum ranked indexes that we update in parallel for one call. Each may take a hundred megabytes in the
/// meantime.
pub const RANKED_AT_ONCE: usize = 3;

/// Rounds in which we give the bytes that some roots do not need to the others.
pub const ROOT_ROUNDS: usize = 3;

/// Maximum bytes of a call's arguments in a journal.
pub const JOURNAL_ARGUMENT_BYTES: usize = 16_384;

/// Maximum bytes of a call's error message in a journal.
pub const JOURNAL_ERROR_BYTES: usize = 500;

/// Maximum bytes of an error text. Claude Code shows about as many.
pub const ERROR_BYTES: usize = 8_000;

/// Maximum changed files whose definitions we compare.
pub const CHANGED_OUTLINES: usize = 300;

/// Maximum definitions of a changed file that we name for each kind of change.
pub const CHANGED_DEFINITIONS: usize = 20;

/// Maximum bytes of the name of a changed definition.
pub const CHANGED_SYMBOL_BYTES: usize = 160;

/// Maximum files named because they usually change together with others.
pub const COMPANIONS: usize = 5;

/// Time limit for finding such files. A thousand commits of a small project take 0.1 s.
pub const COMPANIONS_TIME: Duration = Duration::from_secs(1);

/// Maximum files of another revision whose lines we count in a list.
pub const LIST_REVISION_LINES: usize = 500;

/// Default and maximum number of commits of a history.
pub const HISTORY_COMMITS: u64 = 20;
/// See [`HISTORY_COMMITS`].
pub const HISTORY_COMMITS_MAX: u64 = 500;

/// Maximum commits that may have caused a failure. In our model of the ranking, the right one is among five in 80 of
/// 100 cases and among ten in 84.
pub const HISTORY_SUSPECTS: u64 = 10;

/// Newest commits among which we look for the cause of a failure, if the call gives no range. Merges do not
/// count.
pub const SUSPECT_COMMITS: usize = 300;

/// Maximum commits of a range that we look at. Each takes milliseconds and a few kilobytes.
pub const SUSPECT_COMMITS_MAX: usize = 2_000;

/// Maximum lines of a changed file that count as evidence. A longer change is usually generated.
pub const SUSPECT_LINES: usize = 4_000;

/// Maximum different words of changed files whose parts are cached.
pub const SUSPECT_CACHED_WORDS: usize = 1 << 16;

/// Maximum changed files of a commit that count as evidence.
pub const SUSPECT_FILES: usize = 500;

/// Maximum words in the reason for which a commit is a suspect.
pub const SUSPECT_REASONS: usize = 3;

/// Maximum changed files of a commit in a history.
pub const HISTORY_FILES: usize = 12;

/// Maximum lines of a changed file in a history.
pub const HISTORY_LINES: usize = 12;

/// Maximum lines of a definition per commit in its history. A cursor counts them with one byte.
pub const HISTORY_DEFINITION_LINES: usize = 200;
const _: () = assert!(HISTORY_DEFINITION_LINES < 255 && HISTORY_FILES * HISTORY_LINES < 255);

/// Additional time for the lines of the commit that was found last. Reading them takes milliseconds.
pub const HISTORY_LINES_TIME: Duration = Duration::from_millis(300);

/// Maximum characters of the first line of a commit message.
pub const HISTORY_SUBJECT_CHARACTERS: usize = 160;

/// Definitions that `search_index` returns as similar to given code, if the call does not set a number.
pub const SIMILAR_DEFINITIONS: u64 = 5;

/// Share of a call's time for scanning all files for similar code. The rest is for the definitions of the best
/// ones, which take a few tenths of a second.
pub const SIMILAR_SCAN_SHARE: f64 = 0.7;
/// The share after which no further definitions are compared. The rest is for reading those that were found.
pub const SIMILAR_COMPARE_SHARE: f64 = 0.9;

/// Maximum bytes of a file that is scanned for similar code. Larger files are seldom written by people, and each
/// thread reads one as a whole.
pub const SIMILAR_FILE_BYTES: usize = LARGE_TEXT_BYTES as usize;

/// Bytes of the line about a similar definition, without its path and name.
pub const SIMILAR_HEAD_BYTES: usize = 160;
