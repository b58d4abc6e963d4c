//! Every bound of the tools, with its unit and its reason. Those that a user may change are defaults in
//! [`crate::Context`].

use std::ops::RangeInclusive;
use std::time::Duration;

/// Time for the search stage of a call (the requirement's 20 s).
pub const TIMEOUT: Duration = Duration::from_secs(20);
/// Milliseconds that settings can name for it.
pub const TIMEOUT_MS_RANGE: RangeInclusive<u64> = 100..=300_000;

/// Worker threads that settings can name; 0 is one for each processor.
pub const THREADS_RANGE: RangeInclusive<usize> = 0..=256;

/// Time of a call for bringing a ranked index up to date; what is left of [`TIMEOUT`] is for writing it and for the
/// search.
pub const INDEXING_TIME: Duration = Duration::from_secs(15);

/// Time of a server's call for bringing a ranked index up to date if the update is small. An edit takes some milliseconds; the
/// rest is for machines that are busy.
pub const SMALL_UPDATE_TIME: Duration = Duration::from_secs(5);

/// The same for a large update, which goes on in the background.
pub const LARGE_UPDATE_TIME: Duration = Duration::from_millis(400);

/// Time of a call, from its beginning, whose search stands in for a ranked index which is not there yet: what was waited
/// for that index, the search, and ranking what it found. An agent gets its answer within one and a half seconds.
pub const PROVISIONAL_TIME: Duration = Duration::from_millis(1_050);

/// The last part of it, for reading and ranking what was found.
pub const PROVISIONAL_RANKING: Duration = Duration::from_millis(300);

/// Time of that search at the least, however long the index was waited for.
pub const PROVISIONAL_SEARCH_MIN: Duration = Duration::from_millis(200);

/// Files that are ranked in any case, so that an answer has some on however slow a machine.
pub const PROVISIONAL_FILES_MIN: usize = 10;

/// Threads that read them: two halve the time, and each further one takes memory of its own.
pub const PROVISIONAL_THREADS: usize = 2;

/// Words of a query that it looks for. A word of bits has room for them.
pub const PROVISIONAL_WORDS: usize = 16;

/// Lines of a file that it counts.
pub const PROVISIONAL_LINES: usize = 50;

/// Files that it ranks at the most.
pub const PROVISIONAL_FILES: usize = 150;

/// The share of a call's time that this takes at the most: of [`TIMEOUT`] it is as much.
pub const INDEXING_SHARE: f64 = 0.75;

/// Time for the model stage of a `keyword_search`. Fast models answer within a few seconds; a reasoning model may
/// take most of a minute.
pub const MODEL_TIMEOUT: Duration = Duration::from_secs(60);

/// Bytes of one text answer by default: some 10,000 tokens, which every client shows inline.
pub const TEXT_BYTES: usize = 40_000;

/// Bytes of one text answer at the most: above this clients put answers aside in files.
pub const TEXT_BYTES_MAX: usize = 100_000;

/// Bytes below which an answer can't hold even its totals and notes.
pub const TEXT_BYTES_MIN: usize = 2_000;

/// Lines of context in `grep_search` by default (the plan's 2), and at the most.
pub const GREP_CONTEXT: u64 = 2;
/// See [`GREP_CONTEXT`].
pub const GREP_CONTEXT_MAX: u64 = 50;

/// Matching lines in one answer of `grep_search` by default (the plan's 50), and at the most.
pub const GREP_MATCHES: u64 = 50;
/// Matches up to which an answer has lines of context where the call does not say how many: beyond them an agent pays
/// for more lines than it reads.
pub const GREP_CONTEXT_MATCHES: u64 = 10;

/// Time for counting what does not fit a page.
pub const GREP_COUNT_TIME: Duration = Duration::from_secs(5);

/// Directories by which what does not fit a page is told.
pub const GREP_DIRECTORIES_SHOWN: usize = 8;

/// Directories by which it is counted.
pub const GREP_DIRECTORIES_COUNTED: usize = 10_000;

/// Characters of a line of an outline: a signature, as far as it tells what is defined; less where there are many.
pub const OUTLINE_CHARACTERS: [usize; 3] = [100, 60, 40];

/// An outline has no more than this part of the bytes of its file, if shorter lines help.
pub const OUTLINE_PART: usize = 6;

/// And no more than this part whatever is in it.
pub const OUTLINE_LARGEST_PART: usize = 3;

/// Bytes that an outline may have of a file however short it is.
pub const OUTLINE_BYTES: usize = 1_500;

/// Definitions, or names, that an error about a symbol tells of.
pub const SYMBOL_PLACES: usize = 8;

/// Members of a type, outside of its lines, that are named with it.
pub const SYMBOL_MEMBERS: usize = 20;

/// Matching lines of one file that a program is handed at once which asked for all there is.
pub const GREP_PIECE_MATCHES: usize = 10_000;

/// Files in one answer of `grep_search` by files, by default; see [`GREP_MATCHES_MAX`].
pub const GREP_FILES: u64 = 200;

/// Files with a name whose uses are looked for, at the most.
pub const GREP_USES_FILES: usize = 100_000;

/// Names of the definitions around a use, and bytes of each.
pub const GREP_WITHIN: usize = 8;
/// See [`GREP_WITHIN`].
pub const GREP_WITHIN_BYTES: usize = 100;

/// Types and modules by which lines are counted that a qualified name leaves out.
pub const GREP_RECEIVERS: usize = 8;

/// Names whose files are kept for further pages, for each caller.
pub const GREP_USES_KEPT: usize = 4;

/// Files whose text and outline are held for an answer of uses, and bytes of them together.
pub const GREP_USES_HELD: (usize, usize) = (64, 32 << 20);

/// Definitions of a name that are listed, and likewise types that implement or extend it.
pub const GREP_DEFINITIONS: usize = 20;

/// Time for looking for types that implement or extend a name.
pub const GREP_IMPLEMENTATIONS_TIME: Duration = Duration::from_secs(1);

/// Share of a call's time in which all files with a name are found.
pub const GREP_GATHER_SHARE: f64 = 0.6;

/// See [`GREP_MATCHES`].
pub const GREP_MATCHES_MAX: u64 = 10_000;

/// Places of matches per line in the records of `grep_search`.
pub const GREP_SPANS: usize = 100;

/// Characters of a line in `grep_search` (the plan's 200), as a reader sees them; longer ones are cut around the match.
pub const GREP_LINE_CHARACTERS: usize = 200;

/// Match and context events in one answer of `Search` by default (the requirement's 200), and at the most.
pub const SEARCH_RESULTS: u64 = 200;
/// See [`SEARCH_RESULTS`].
pub const SEARCH_RESULTS_MAX: u64 = 10_000;

/// Files in one answer of `search_index` by default, and at the most.
pub const RANKED_FILES: u64 = 10;
/// See [`RANKED_FILES`].
pub const RANKED_FILES_MAX: u64 = 100;

/// Files of which `search_index` shows more than of the others: who reads a ranking looks at its beginning.
pub const RANKED_WELL_SHOWN: usize = 3;

/// Chunks of a file, and lines of each, that `search_index` shows of the first files, and of the others.
pub const RANKED_CHUNKS: (usize, usize) = (3, 3);
/// See [`RANKED_CHUNKS`].
pub const RANKED_CHUNKS_LATER: (usize, usize) = (2, 1);

/// Tokens of code of `search_index` where none are asked for: what helps most for its price (bench/README.md, right lines).
pub const CODE_TOKENS: u64 = 4_000;

/// Tokens that an answer must have room for to show code where none is asked for: in less there is no more than a definition.
pub const CODE_TOKENS_LEAST: u64 = 1_000;

/// Tokens of code from which on [`CODE_FILES`] are looked at; for less as many as without code.
pub const CODE_TOKENS_FOR_MANY: u64 = 2_000;

/// Tokens of code that can be asked of `search_index`.
pub const CODE_TOKENS_MAX: u64 = 32_000;

/// Files that are looked at for an answer with code by default.
pub const CODE_FILES: u64 = 20;

/// Files without code that an answer with code names by default.
pub const CODE_FURTHER_FILES: usize = 8;

/// Characters of the line that is shown of such a file.
pub const CODE_FURTHER_CHARACTERS: usize = 80;

/// Tokens and bytes of such a line with its number and reason.
pub const CODE_FURTHER_TOKENS: usize = 25;
/// See [`CODE_FURTHER_TOKENS`].
pub const CODE_FURTHER_BYTES: usize = 112;

/// Part of the tokens of an answer with code that names of files take at most.
pub const CODE_NAMED_PART: usize = 3;

/// Files that are ranked for each that an answer with code looks at: tests, translations and the like are left out.
pub const CODE_CANDIDATES: usize = 3;

/// Files whose code may be shown, of those that are looked at.
pub const CODE_FILES_READ: usize = 12;

/// Of these, the first ones get an outline of what is not shown of them.
pub const CODE_OUTLINES: usize = 3;

/// Tokens of a definition in it beside its name: what it is, and two numbers.
pub const CODE_OUTLINE_TOKENS: usize = 6;

/// Bytes of a line of code; longer ones are cut.
pub const CODE_LINE_BYTES: usize = forage_rank::limits::PASSAGE_LINE_BYTES;

/// Bytes of such a line in which the part to show is looked for.
pub const CODE_PLACE_BYTES: usize = 16 << 10;

/// Bytes of the name of a definition in it.
pub const CODE_NAME_BYTES: usize = 80;

/// Bytes of a token of code, about.
pub const CODE_TOKEN_BYTES: usize = 4;

/// The part of the tokens of code that outlines of what is not shown may take: one of so many.
pub const CODE_OUTLINE_PART: usize = 12;

/// Bytes that an answer with code keeps free for what is said around it.
pub const CODE_NOTES_BYTES: usize = 1_500;

/// Files of which it is remembered which lines a caller has been shown.
pub const SHOWN_EARLIER_FILES: usize = 10_000;

/// Characters of a line in `search_index`.
pub const RANKED_LINE_CHARACTERS: usize = 160;

/// Milliseconds that a `Search` may take, at the least and at the most; [`TIMEOUT`] is the default.
pub const SEARCH_TIMEOUT_MS_MIN: u64 = 100;
/// See [`SEARCH_TIMEOUT_MS_MIN`].
pub const SEARCH_TIMEOUT_MS_MAX: u64 = 300_000;

/// Lines of context that `Search` gives at the most; none by default.
pub const SEARCH_CONTEXT_MAX: u64 = 50;

/// Edits that a fuzzy `Search` allows at the most (the requirement's 4).
pub const SEARCH_FUZZY_MAX: u64 = 4;

/// Characters of a line in `Search`; longer ones are cut around the best match.
pub const SEARCH_LINE_CHARACTERS: usize = 400;

/// Places of matches per line in the records of `Search`.
pub const SEARCH_SPANS: usize = 100;

/// Bytes of what an external engine wrote to its standard error that an answer holds.
pub const SEARCH_STDERR_BYTES: usize = 4 << 10;

/// Bytes of a line of evidence that a model sees; longer ones are cut around the match.
pub const EVIDENCE_LINE_BYTES: usize = 400;

/// Bytes of source code that are taken for a token. In OpenAI's o200k vocabulary the requirement's evidence has 3.2, the
/// compact one 3.7, so that a budget is rather undercut.
pub const BYTES_PER_TOKEN: f64 = 3.2;

/// Bytes of one term, and of all, that can be set: below a few kilobytes hardly a file can be shown, and above a megabyte no
/// model reads it all.
pub const BREADTH_BYTES_MIN: u64 = 4 << 10;
/// See [`BREADTH_BYTES_MIN`].
pub const BREADTH_BYTES_MAX: u64 = 1 << 20;

/// Lines of context around matches that can be set at the most.
pub const EVIDENCE_CONTEXT_MAX: u64 = 50;

/// Tokens of evidence in one request, by default, at the least and at the most. 12,000 hold some forty files with a
/// window or two each, which is more than a model finds relevant; above 32,000 answers get slow and models forget
/// what stands in the middle.
pub const EVIDENCE_TOKENS: usize = 12_000;
/// See [`EVIDENCE_TOKENS`].
pub const EVIDENCE_TOKENS_MIN: usize = 1_000;
/// See [`EVIDENCE_TOKENS`].
pub const EVIDENCE_TOKENS_MAX: usize = 32_000;

/// Bytes of a system prompt of the user's. Ours have 2 KB; a megabyte in every request would be a mistake, and a dear one.
pub const PROMPT_BYTES: u64 = 64 << 10;

/// Requests that evidence is split into at the most. They run at the same time, and providers limit how many may.
pub const FILTER_SHARDS_MAX: usize = 4;

/// Lines of context on each side of a match in compact evidence.
pub const COMPACT_CONTEXT: u64 = 3;

/// Lines of one window of compact evidence; a longer run of matches is several windows, so that no file takes the
/// room of all others.
pub const COMPACT_WINDOW_LINES: usize = 20;

/// Windows of one file in compact evidence at the most, and what is tried when these don't fit.
pub const COMPACT_WINDOWS: [usize; 3] = [4, 2, 1];

/// Bytes of a line of compact evidence; longer ones are cut around the match. What is behind 200 columns is seldom
/// read, and data in one line would fill the budget.
pub const COMPACT_LINE_BYTES: usize = 200;

/// Bytes of the line that stands for a file which is shown in one line.
pub const COMPACT_ENTRY_LINE_BYTES: usize = 100;

/// Bytes from which on a window that another file has as well is named and not repeated. The reference itself takes
/// about half of this.
pub const COMPACT_COPY_BYTES: usize = 120;

/// The part of the budget, as a divisor, that is kept for files in one line: to be named at all says more about the
/// last files than a further window does about the first.
pub const COMPACT_ENTRIES_PART: usize = 4;

/// Bytes of a term in the heading of a file.
pub const COMPACT_TERM_BYTES: usize = 40;

/// Ids that an answer's schema lists; with more, the schema takes any string. OpenAI takes 1,000 values, others fewer.
pub const SCHEMA_IDS: usize = 500;

/// Ranges of lines per file that are taken from a model's answer.
pub const ANSWER_RANGES: usize = 8;

/// Lines of a model's text that begin like JSON and are none, after which no more are tried: links and marks of a list begin
/// so, and to try thousands would take seconds.
pub const ANSWER_BEGINNINGS: usize = 64;

/// Ends of entries, from the end of a list in JSON that was cut, at which it is closed again. The entry that is cut may have
/// a few braces in its reason.
pub const ANSWER_REPAIRS: usize = 16;

/// Definitions of the outlines that are kept; some 200 bytes each. Then all of them make room.
pub const OUTLINES_KEPT_DEFINITIONS: usize = 100_000;

/// Files that a warning names of those that only the text around a model's list mentions.
pub const MENTIONED_FILES: usize = 8;

/// Marks in front of a path in a model's line that are taken off: of a quotation, a list, a number, bold text, a link, code.
pub const ANSWER_MARKS: usize = 16;

/// Bytes in which a tag in front of a path ends.
pub const ANSWER_TAG_BYTES: usize = 300;

/// Levels that `list_directory` shows when it is recursive (the plan's 2), and at the most.
pub const LIST_DEPTH: u64 = 2;
/// See [`LIST_DEPTH`].
pub const LIST_DEPTH_MAX: u64 = 20;

/// Entries that `list_directory` shows.
pub const LIST_ENTRIES: usize = 400;

/// Entries that `list_directory` reads; a wider tree is listed in part, and the answer says so.
pub const LIST_ENTRIES_READ: usize = 200_000;

/// Files that `list_directory` shows for a glob, and for a name that is nearly theirs.
pub const LIST_FOUND: usize = 200;
/// See [`LIST_FOUND`].
pub const LIST_NEAR: usize = 20;

/// Files whose symbols `list_directory` shows, and names of each.
pub const LIST_SYMBOL_FILES: usize = 200;
/// See [`LIST_SYMBOL_FILES`].
pub const LIST_SYMBOLS: usize = 12;
/// Bytes of a name there.
pub const LIST_SYMBOL_BYTES: usize = 60;

/// Paths whose names are like one that are ordered by how near they are.
pub const NEAR_PATHS: usize = 100_000;

/// Characters of a name of which one may be wrong.
pub const CHARACTERS_BY_EDIT: usize = 4;

/// Paths that an error names for one that is not there, and the time for finding them.
pub const NEAREST_PATHS: usize = 3;
/// See [`NEAREST_PATHS`].
pub const NEAREST_TIME: Duration = Duration::from_millis(500);

/// Bytes of a file whose lines `list_directory` counts; of larger ones it shows the size.
pub const LIST_COUNT_BYTES: usize = 16 << 20;

/// Characters of a line that `read_file` shows; the rest is counted.
pub const READ_LINE_CHARACTERS: usize = 2_000;

/// Bytes of a file that is taken apart as a whole.
pub const READ_DECODE_BYTES: usize = 16 << 20;

/// Bytes that `read_file` reads to count the lines of a file; of a longer one it says «at least».
pub const READ_COUNT_BYTES: u64 = 256 << 20;

/// Files with matches after which the look at what a search without hits has not seen ends.
pub const VERDICT_FILES: u64 = 20_000;

/// Time for the same.
pub const VERDICT_TIME: Duration = Duration::from_secs(2);

/// Time limit for searches of other readings of a pattern without hits, and for the ranking after them.
pub const READINGS_TIME: Duration = Duration::from_secs(1);

/// Other readings in an answer.
pub const READINGS: usize = 3;

/// Ranked files in an answer without hits.
pub const READINGS_RANKED: usize = 3;

/// Bytes of the sentence about one reading.
pub const READING_BYTES: usize = 300;

/// Spellings listed for one reading.
pub const READING_SPELLINGS: usize = 4;

/// Distinct spellings after which the search of one reading ends.
pub const READING_SPELLINGS_HELD: usize = 1_000;

/// Bytes of a query for `keyword_search`.
pub const QUERY_BYTES: usize = 8 << 10;

/// Tokens that a model may answer with in `keyword_search`. The wanted answer needs a few hundred; reasoning
/// models spend several thousand before it.
pub const FILTER_ANSWER_TOKENS: u32 = 8_192;

/// Files in an answer of `keyword_search --filter lexical`.
pub const LEXICAL_FILES: usize = 20;

/// Files of a `keyword_search` that are read whole to be ranked where no model does it. The others are seldom looked at.
pub const LEXICAL_RANKED: usize = 300;

/// Time for that. It takes some tenths of a second; without it the files come in the order of their matching lines.
pub const LEXICAL_TIME: Duration = Duration::from_secs(5);

/// Files of a ranking that stand beside those that the terms of a `keyword_search` find.
pub const UNION_FILES: usize = 30;

/// Parts of each such file, and lines of each part, that are shown with their context.
pub const UNION_CHUNKS: usize = 2;
/// See [`UNION_CHUNKS`].
pub const UNION_LINES: usize = 3;

/// Bytes of a term or pattern quoted back to its sender.
pub const QUOTED_BYTES: usize = 80;

/// Bytes of one note at the end of an answer, and warnings shown there.
pub const NOTE_BYTES: usize = 600;
/// See [`NOTE_BYTES`].
pub const WARNINGS_SHOWN: usize = 10;

/// Rules named when a search without hits says what hides matches.
pub const VERDICT_RULES: usize = 10;

/// Bytes of an explanation that a model gave.
pub const EXPLANATION_BYTES: usize = 300;

/// Results of `keyword_lookup` (the requirement's `top_k`), and at the most.
pub const LOOKUP_HITS: u64 = 10;
/// See [`LOOKUP_HITS`].
pub const LOOKUP_HITS_MAX: u64 = forage_lookup::limits::HITS as u64;

/// Milliseconds for a lookup where the settings name none, with all that is tried again.
pub const LOOKUP_TIMEOUT_MS: u64 = 5_000;
/// What settings can name for it.
pub const LOOKUP_TIMEOUT_MS_RANGE: RangeInclusive<u64> = 100..=300_000;

/// Bytes of a text in the records of `keyword_lookup`.
pub const LOOKUP_TEXT_BYTES: usize = 4_000;

/// Conditions of the filter of `keyword_lookup`.
pub const LOOKUP_CONDITIONS: usize = 16;

/// Bytes of one of them.
pub const LOOKUP_CONDITION_BYTES: usize = 2_000;

/// Lines that `keyword_lookup` shows of a result.
pub const LOOKUP_LINES: usize = 3;

/// Bytes of lines of a lookup's results that are compared with words between two looks at the deadline: some milliseconds.
pub const LOOKUP_COMPARED_BYTES: u64 = 256 << 10;

/// Lines around those that are shown that are looked at for what says that a line has a secret: a name above its value,
/// which formatters put one line apart, and people with a comment between.
pub const BORDER_LINES: usize = 3;

/// Bytes of a line, before and behind what is shown of it, that are looked at for the same reason: the longest of common
/// tokens have some 2,000, and a name before them.
pub const BORDER_LINE_BYTES: usize = 4 << 10;

/// Times as many spans are kept of a line until it is cut to what is shown of it.
pub const BORDER_SPANS: usize = 8;

/// Bytes of a word of a name or message from which on it may be a secret by itself: the shortest tokens have 20, and less
/// would have every other name looked at.
pub const BORDER_WORD_BYTES: usize = 16;

/// Bytes of a text answer that a root has at the least where a call is about several; those beyond are named alone.
pub const ROOT_BYTES_MIN: usize = 1_500;

/// Ranked indexes that are brought up to date at the same time for one call: each may take a hundred megabytes meanwhile.
pub const RANKED_AT_ONCE: usize = 3;

/// How often the bytes that some roots leave are shared among the others.
pub const ROOT_ROUNDS: usize = 3;

/// Bytes of arguments that are kept of a call in a journal.
pub const JOURNAL_ARGUMENT_BYTES: usize = 16_384;

/// Bytes of the sentence of an error that are kept of a call in a journal.
pub const JOURNAL_ERROR_BYTES: usize = 500;

/// Bytes of the text of an error; Claude Code shows about as many.
pub const ERROR_BYTES: usize = 8_000;
