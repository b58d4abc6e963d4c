//! Every parser of foreign bytes has a fuzz target.
//!
//! What is a parser can't be told from the sources; what reads bytes or texts of a format can, by what it calls. A file of
//! the product that does so must stand in [`READERS`], with its target or with the reason why it needs none, and every
//! target that is named must be there. So a new one is seen when it is written.

use crate::cargo::Workspace;
use crate::house;

/// Calls by which formats are read.
const CALLS: [&str; 11] = [
    "serde_json::from_slice(",
    "serde_json::from_slice::<",
    "serde_json::from_str(",
    "serde_json::from_str::<",
    "Deserializer::from_",
    "toml::from_str",
    "parse::<Table>",
    "::from_le_bytes",
    "httparse::Request",
    "GitignoreBuilder::new",
    "encoding_rs::UTF",
];

/// What covers a file that reads foreign bytes.
enum Cover {
    /// A target: the file that it is in, and its function.
    Target(&'static str, &'static str),
    /// Nothing foreign is read here.
    None(&'static str),
}

use Cover::{None as NoneForeign, Target};

/// The files below `crates` that read a format, and what covers each.
const READERS: &[(&str, &[Cover])] = &[
    (
        "forage-fs/src/ignore_rules.rs",
        &[Target("forage-fs/tests/it/fuzz.rs", "any_ignore_file_decides_as_it_does_for_ripgrep")],
    ),
    (
        "forage-fs/src/rel_path.rs",
        &[Target("forage-fs/src/rel_path.rs", "fuzz_a_written_path_stays_below_and_reads_back")],
    ),
    (
        "forage-fs/src/text.rs",
        &[Target("forage-fs/src/text.rs", "fuzz_any_bytes_are_decoded_as_their_mark_says")],
    ),
    (
        "forage-fs/src/walk/snapshot.rs",
        &[
            Target("forage-fs/src/walk/snapshot/fuzz.rs", "altered_bytes_are_refused"),
            Target("forage-fs/src/walk/snapshot/fuzz.rs", "any_bytes_with_a_right_checksum_are_walked_with"),
        ],
    ),
    (
        "forage-rank/src/latent.rs",
        &[NoneForeign("the table that the program is built with; places are any numbers")],
    ),
    (
        "forage-search/src/index/segment.rs",
        &[
            Target("forage-search/src/index/segment/fuzz.rs", "altered_bytes_say_the_same_or_nothing"),
            Target(
                "forage-search/src/index/segment/fuzz.rs",
                "wrong_numbers_behind_right_checksums_do_no_harm",
            ),
            Target("forage-search/tests/it/fuzz.rs", "damaged_files_of_an_index_change_no_answer"),
        ],
    ),
    (
        "forage-search/src/index/numbers.rs",
        &[Target(
            "forage-search/src/index/segment/fuzz.rs",
            "wrong_numbers_behind_right_checksums_do_no_harm",
        )],
    ),
    (
        "forage-search/src/external/output.rs",
        &[Target("forage-search/src/external/output.rs", "fuzz_numbers_rise_and_hang_on_no_cut")],
    ),
    ("forage-git/src/refs.rs", &[Target("forage-git/src/refs.rs", "fuzz_any_list_has_a_reference_or_not")]),
    (
        "forage-git/src/commit.rs",
        &[Target("forage-git/src/commit.rs", "fuzz_any_bytes_are_a_commit_or_none")],
    ),
    (
        "forage-git/src/tree.rs",
        &[Target("forage-git/src/tree.rs", "fuzz_any_bytes_are_entries_that_name_no_other_directory")],
    ),
    (
        "forage-git/src/delta.rs",
        &[Target("forage-git/src/delta.rs", "fuzz_any_difference_makes_what_it_says_or_nothing")],
    ),
    (
        "forage-git/src/pack.rs",
        &[
            Target("forage-git/src/pack.rs", "fuzz_any_head_leads_forward_only"),
            Target(
                "forage-git/tests/it/main.rs",
                "objects_that_are_missing_or_damaged_are_told_and_end_nothing",
            ),
        ],
    ),
    (
        "forage-git/src/inflate.rs",
        &[Target(
            "forage-git/tests/it/main.rs",
            "objects_that_are_missing_or_damaged_are_told_and_end_nothing",
        )],
    ),
    (
        "forage-git/src/repository.rs",
        &[Target(
            "forage-git/tests/it/main.rs",
            "objects_that_are_missing_or_damaged_are_told_and_end_nothing",
        )],
    ),
    (
        "forage-rank/src/history/file.rs",
        &[Target(
            "forage-rank/src/history/tests.rs",
            "fuzz_any_bytes_in_the_place_of_a_history_are_sound_or_none",
        )],
    ),
    (
        "forage-rank/src/query/report.rs",
        &[Target("forage-rank/src/query/report.rs", "fuzz_parts_are_of_the_text_in_its_order")],
    ),
    (
        "forage-rank/src/segments/manifest.rs",
        &[Target("forage-rank/src/segments/manifest.rs", "fuzz_a_manifest_names_plain_files_and_comes_back")],
    ),
    (
        "forage-rank/src/index/segment.rs",
        &[Target(
            "forage-rank/src/index/fuzz.rs",
            "any_bytes_in_the_place_of_states_are_as_many_as_documents_or_none",
        )],
    ),
    (
        "forage-rank/src/segments/files.rs",
        &[Target(
            "forage-rank/src/index/damage_tests.rs",
            "no_damage_gives_a_wrong_answer_or_reaches_the_engine",
        )],
    ),
    (
        "forage-rank/src/index/record.rs",
        &[Target("forage-rank/src/index/fuzz.rs", "any_text_in_the_place_of_a_record_is_sound_or_none")],
    ),
    (
        "forage-rank/src/chunk.rs",
        &[Target("forage-rank/src/fuzz.rs", "any_text_is_cut_into_all_of_its_lines")],
    ),
    ("forage-rank/src/query.rs", &[Target("forage-rank/src/fuzz.rs", "any_query_is_read_and_answered")]),
    (
        "forage-lookup/src/bm42/word_pieces.rs",
        &[Target("forage-lookup/tests/it/fuzz.rs", "any_text_is_encoded_in_finite_weights")],
    ),
    (
        "forage-lookup/src/superset.rs",
        &[Target("forage-lookup/tests/it/fuzz.rs", "any_text_is_encoded_in_finite_weights")],
    ),
    (
        "forage-lookup/src/embedded/schema.rs",
        &[NoneForeign("a payload that the store wrote, compared with its hash before it is read")],
    ),
    (
        "forage-lookup/src/embedded/store.rs",
        &[NoneForeign("a line of the manifest, which is compared with its hash before it is read")],
    ),
    ("forage-lookup/src/fill.rs", &[NoneForeign("a hash of its own is turned into an id")]),
    (
        "forage-lookup/src/qdrant/wire.rs",
        &[Target(
            "forage-lookup/src/qdrant/wire.rs",
            "fuzz_any_point_that_the_protocol_decodes_has_an_id_or_none_and_a_payload_of_json",
        )],
    ),
    (
        "forage-llm/src/sse.rs",
        &[Target("forage-llm/src/sse.rs", "fuzz_events_hang_on_no_cut_and_hold_what_came")],
    ),
    (
        "forage-llm/src/recording.rs",
        &[Target("forage-llm/src/recording.rs", "fuzz_what_is_read_of_a_recording_is_what_was_written")],
    ),
    ("forage-llm/src/table.rs", &[NoneForeign("the table of providers that is built in")]),
    (
        "forage-llm/src/message.rs",
        &[Target("forage-llm/src/wire/fuzz.rs", "a_refusal_is_an_error_without_the_key")],
    ),
    (
        "forage-llm/src/wire/status.rs",
        &[Target("forage-llm/src/wire/fuzz.rs", "a_refusal_is_an_error_without_the_key")],
    ),
    (
        "forage-llm/src/wire/listing.rs",
        &[Target("forage-llm/src/wire/fuzz.rs", "a_list_of_models_names_only_what_can_be_asked_for")],
    ),
    (
        "forage-llm/src/wire/answer.rs",
        &[Target("forage-llm/src/wire/fuzz.rs", "a_streamed_answer_is_the_same_however_it_is_cut")],
    ),
    (
        "forage-llm/src/wire/anthropic.rs",
        &[Target("forage-llm/src/wire/fuzz.rs", "a_streamed_answer_is_the_same_however_it_is_cut")],
    ),
    (
        "forage-llm/src/wire/gemini.rs",
        &[Target("forage-llm/src/wire/fuzz.rs", "a_streamed_answer_is_the_same_however_it_is_cut")],
    ),
    (
        "forage-llm/src/wire/openai_chat.rs",
        &[Target("forage-llm/src/wire/fuzz.rs", "a_streamed_answer_is_the_same_however_it_is_cut")],
    ),
    (
        "forage-llm/src/wire/stream.rs",
        &[Target("forage-llm/src/wire/fuzz.rs", "a_streamed_answer_is_the_same_however_it_is_cut")],
    ),
    (
        "forage-llm/src/wire/client.rs",
        &[Target("forage-llm/src/wire/fuzz.rs", "a_streamed_answer_is_the_same_however_it_is_cut")],
    ),
    (
        "forage-tools/src/cursor.rs",
        &[Target("forage-tools/src/cursor.rs", "fuzz_no_altered_cursor_is_taken")],
    ),
    (
        "forage-tools/src/arguments.rs",
        &[Target(
            "forage-tools/tests/it/fuzz.rs",
            "any_arguments_are_answered_or_refused_and_show_no_secret",
        )],
    ),
    (
        "forage-tools/src/correction.rs",
        &[Target(
            "forage-tools/tests/it/fuzz.rs",
            "any_arguments_are_answered_or_refused_and_show_no_secret",
        )],
    ),
    (
        "forage-tools/src/tools/keyword_search/records.rs",
        &[
            Target(
                "forage-tools/src/tools/keyword_search/answer.rs",
                "fuzz_no_answer_names_a_file_that_was_not_sent",
            ),
            Target(
                "forage-tools/src/tools/keyword_search/ids.rs",
                "fuzz_no_answer_yields_what_was_not_shown",
            ),
            Target("forage/src/answer_cache.rs", "fuzz_an_entry_is_a_miss_or_speaks_of_what_was_asked"),
        ],
    ),
    (
        "forage-bindings/src/settings.rs",
        &[NoneForeign("serde_json reads settings, which are those of the program that opens a workspace")],
    ),
    (
        "forage-node/src/lib.rs",
        &[NoneForeign("serde_json reads arguments, which the tools then read as everybody's")],
    ),
    (
        "forage-python/src/lib.rs",
        &[NoneForeign("serde_json reads arguments, which the tools then read as everybody's")],
    ),
    (
        "forage-lookup/src/filter.rs",
        &[Target(
            "forage-lookup/src/filter.rs",
            "fuzz_any_text_is_a_condition_that_is_read_again_or_an_error",
        )],
    ),
    (
        "forage-tools/src/tools/keyword_lookup/conditions.rs",
        &[NoneForeign(
            "serde_json reads an object that a caller wrote as text; each condition is one of forage-lookup's filter",
        )],
    ),
    (
        "forage/src/answer_cache.rs",
        &[Target("forage/src/answer_cache.rs", "fuzz_an_entry_is_a_miss_or_speaks_of_what_was_asked")],
    ),
    (
        "forage/src/cli/telemetry.rs",
        &[Target("forage/src/cli/telemetry.rs", "fuzz_any_file_is_summed_or_counted")],
    ),
    (
        "forage/src/conversations.rs",
        &[Target("forage/src/conversations.rs", "fuzz_what_is_kept_is_of_this_root_or_nothing")],
    ),
    (
        "forage/src/child/line.rs",
        &[Target("forage/src/child/line.rs", "fuzz_a_line_of_a_server_is_an_answer_a_request_or_nothing")],
    ),
    (
        "forage/src/config.rs",
        &[Target("forage/src/config.rs", "fuzz_a_configuration_is_read_or_refused_by_its_name")],
    ),
    (
        "forage/src/config/model_lists.rs",
        &[Target("forage/src/config/model_lists.rs", "fuzz_a_kept_list_is_one_or_none")],
    ),
    (
        "forage/src/config/repository.rs",
        &[Target("forage/src/config/repository.rs", "fuzz_a_repository_only_narrows")],
    ),
    (
        "forage-agent/src/arguments.rs",
        &[Target("forage-agent/src/arguments.rs", "fuzz_arguments_are_one_object_or_a_correction")],
    ),
    (
        "forage-agent/src/citation.rs",
        &[Target("forage-agent/src/citation.rs", "fuzz_citations_are_parts_of_the_text_in_its_order")],
    ),
    (
        "forage/src/cli/call.rs",
        &[Target(
            "forage-tools/tests/it/fuzz.rs",
            "any_arguments_are_answered_or_refused_and_show_no_secret",
        )],
    ),
    (
        "forage/src/cli/eval/history.rs",
        &[Target(
            "forage/src/cli/eval/history.rs",
            "fuzz_what_git_prints_makes_paths_below_the_root_or_an_error",
        )],
    ),
    (
        "forage/src/cli/eval/lines.rs",
        &[Target("forage/src/cli/eval/lines.rs", "fuzz_answers_of_others_are_refused_or_counted")],
    ),
    (
        "forage/src/cli/eval/set.rs",
        &[Target("forage/src/cli/eval/set.rs", "fuzz_a_set_is_refused_or_can_be_run_and_leads_nowhere_else")],
    ),
    (
        "forage/src/cli/hook/query.rs",
        &[
            Target("forage/src/cli/hook/query.rs", "fuzz_a_call_is_words_or_none"),
            Target("forage/src/cli/hook/query.rs", "fuzz_a_command_line_is_words_or_none"),
        ],
    ),
    (
        "forage/src/setup/jsonc/parse.rs",
        &[
            Target("forage/src/setup/fuzz.rs", "any_json_is_refused_or_keeps_every_byte"),
            Target("forage/src/setup/fuzz.rs", "any_json_beside_the_entry_is_refused_or_keeps_every_byte"),
            Target("forage/src/setup/fuzz.rs", "any_markdown_keeps_every_byte"),
        ],
    ),
    ("forage/src/setup/plugin.rs", &[NoneForeign("it lays out a text that it has just made")]),
    (
        "forage/src/cli/mcp/tokens.rs",
        &[Target(
            "forage/src/cli/mcp/tokens.rs",
            "fuzz_any_file_of_tokens_is_refused_or_lets_in_whom_it_names",
        )],
    ),
    (
        "forage/src/setup/toml.rs",
        &[Target("forage/src/setup/fuzz.rs", "any_toml_is_refused_or_keeps_every_byte")],
    ),
    (
        "forage/src/setup/yaml.rs",
        &[Target("forage/src/setup/fuzz.rs", "any_yaml_is_refused_or_keeps_every_byte")],
    ),
    (
        "forage-mcp/src/stdio.rs",
        &[
            Target("forage-mcp/src/stdio.rs", "fuzz_a_line_is_a_message_or_gets_one_answer"),
            Target("forage-mcp/src/stdio.rs", "fuzz_lines_are_what_stands_between_line_feeds"),
        ],
    ),
    (
        "forage-mcp/src/rounds.rs",
        &[Target("forage-mcp/src/rounds.rs", "fuzz_a_state_is_one_that_could_have_been_given_or_refused")],
    ),
    (
        "forage-mcp/src/server.rs",
        &[Target("forage-mcp/src/server.rs", "fuzz_arguments_in_a_text_are_an_object_or_none")],
    ),
    (
        "forage-mcp/src/http.rs",
        &[Target(
            "forage-mcp/src/http/fuzz.rs",
            "any_body_is_told_from_json_and_from_one_that_opens_a_session",
        )],
    ),
    (
        "forage-mcp/src/http/short_answer.rs",
        &[Target(
            "forage-mcp/src/http/fuzz.rs",
            "any_body_is_told_from_json_and_from_one_that_opens_a_session",
        )],
    ),
    (
        "forage-mcp/src/http/door.rs",
        &[Target("forage-mcp/src/http/door.rs", "fuzz_a_head_is_read_once_it_is_whole_and_no_sooner")],
    ),
    ("forage-ui/src/files.rs", &[Target("forage-ui/src/fuzz.rs", "any_file_is_shown_or_refused")]),
    ("forage-ui/src/seen.rs", &[Target("forage-ui/src/fuzz.rs", "any_file_is_shown_or_refused")]),
    ("forage-ui/src/api.rs", &[Target("forage-ui/src/fuzz.rs", "any_question_is_answered")]),
    ("forage-ui/src/api/ranking.rs", &[Target("forage-ui/src/fuzz.rs", "any_question_is_answered")]),
];

/// The part of a source that is in the product: up to the module with its tests.
fn product(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let begins_tests = |at: &usize| {
        let is_for_tests = lines[*at].starts_with("#[cfg(test)]") || lines[*at].starts_with("#[cfg(all(test");
        // A module in a file of its own leaves the rest of this one in the product.
        let item = lines[*at..].iter().find(|line| line.starts_with("mod ") || line.starts_with("pub"));
        is_for_tests && item.is_some_and(|line| line.ends_with('{'))
    };
    let end = (0..lines.len()).find(begins_tests).unwrap_or(lines.len());
    lines[..end].to_vec()
}

fn is_reader(text: &str) -> bool {
    product(text)
        .iter()
        .filter(|line| !line.trim_start().starts_with("//"))
        .any(|line| CALLS.iter().any(|call| line.contains(call)))
}

/// Whether a test of this name stands in a source.
fn has_target(text: &str, name: &str) -> bool {
    text.contains(&format!("fn {name}()"))
}

/// Checks the table against the sources.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let mut found = Vec::new();
    for path in house::sources(workspace)? {
        let shown = workspace.shown(&path);
        let name = shown.trim_start_matches("crates/");
        let is_test = name.contains("/tests/") || name.ends_with("/tests.rs") || name.ends_with("/fuzz.rs");
        // What makes the inputs reads none.
        if is_test || !name.contains("/src/") || name.starts_with("forage-fuzz/") {
            continue;
        }
        if is_reader(&workspace.read(&path)?) && !READERS.iter().any(|(reader, _)| *reader == name) {
            found.push(format!(
                "{shown} reads a format and has no fuzz target: write one and name it in xtask/src/parsers.rs"
            ));
        }
    }
    let mut targets = std::collections::BTreeSet::new();
    for (reader, covers) in READERS {
        if !workspace.path("crates").join(reader).is_file() {
            found.push(format!("crates/{reader} is in xtask/src/parsers.rs and not there"));
        }
        for cover in *covers {
            match cover {
                Target(file, name) => {
                    let text = workspace.read(&workspace.path("crates").join(file))?;
                    if !has_target(&text, name) {
                        found.push(format!("crates/{file} has no fuzz target {name}, which covers {reader}"));
                    }
                    targets.insert(name);
                }
                NoneForeign("") => found.push(format!("{reader}: why is nothing foreign read there?")),
                NoneForeign(_) => {}
            }
        }
    }
    if !found.is_empty() {
        return Err(found.join("\n"));
    }
    println!("    {} files that read foreign bytes have {} fuzz targets", READERS.len(), targets.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_a_format_in_the_product_is_seen() {
        assert!(is_reader("fn f() {\n    let x = serde_json::from_slice(b);\n}\n"));
        assert!(is_reader("fn f() { u32::from_le_bytes(x) }\n#[cfg(test)]\nmod tests {}\n"));
        assert!(is_reader("#[cfg(test)]\nmod tests;\nfn f() { toml::from_str(x) }\n"));
        assert!(!is_reader("// serde_json::from_slice(\nfn f() {}\n"));
        assert!(!is_reader("fn f() {}\n#[cfg(test)]\nmod tests {\n    toml::from_str(\"\");\n}\n"));
    }

    #[test]
    fn the_table_is_true_of_this_source() {
        check(&Workspace::of_this_source()).unwrap();
    }
}
