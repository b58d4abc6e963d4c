use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::endpoint::{OutputLimitField, Reasoning};
use crate::wire::ListedModel;

fn table() -> ProviderTable {
    ProviderTable::built_in().unwrap()
}

/// Parses the text of a user's file.
fn settings(text: &str) -> Result<TableSettings, String> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct User {
        #[serde(default)]
        providers: BTreeMap<String, ProviderSettings>,
        #[serde(default)]
        roles: RoleTable,
        #[serde(default)]
        model_facts: Vec<FactSettings>,
    }
    let user: User = toml::from_str(text).map_err(|error| error.to_string())?;
    Ok(TableSettings { providers: user.providers, roles: user.roles, model_facts: user.model_facts })
}

fn changed(text: &str) -> ProviderTable {
    table().with(&settings(text).unwrap()).unwrap()
}

/// Resolves the providers in an environment with these variables.
fn providers(table: &ProviderTable, variables: &[(&str, &str)]) -> Vec<ResolvedModel> {
    let value =
        |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
    table.resolve_all(&value)
}

fn listed(ids: &[(&str, u64)]) -> ModelListing {
    let model = |(id, created): &(&str, u64)| ListedModel {
        created: (*created > 0).then_some(*created),
        ..ListedModel::new(*id)
    };
    ModelListing::Read(ids.iter().map(model).collect())
}

fn lists(lists: &[(&str, ModelListing)]) -> BTreeMap<String, ModelListing> {
    lists.iter().map(|(name, listing)| ((*name).to_owned(), listing.clone())).collect()
}

fn silent() -> ModelListing {
    ModelListing::Failed(ListFailure::new("no answer in time"))
}

fn names(choice: &ModelChoice) -> Vec<String> {
    choice.candidates.iter().map(|it| format!("{}/{}", it.provider, it.model)).collect()
}

fn why<'a>(choice: &'a ModelChoice, provider: &str, model: &str) -> &'a str {
    let found = choice.passed_over.iter().find(|passed| {
        passed.provider == provider
            && (passed.models.iter().any(|id| id == model) || model.is_empty() && passed.models.is_empty())
    });
    found.map_or("", |passed| &passed.reason)
}

const FIREWORKS: (&str, &str) = ("FIREWORKS_API_KEY", "k");
const OPENAI: (&str, &str) = ("OPENAI_API_KEY", "k");
const CODER: &str = "accounts/fireworks/models/qwen9-coder";

/// The model ids of the requirement, in its order.
const DOCUMENTS: [&str; 4] =
    ["qwen3-coder-fireworks", "gpt-5-thinking-mini", "gpt5-mini", "claude-sonnet-4.5"];

#[test]
fn first_preference_needs_no_other_list() {
    let table = table();
    let providers = providers(&table, &[FIREWORKS, OPENAI]);
    let choice = choose(&table, ModelRole::Filter, &providers, &lists(&[]));
    assert_eq!((choice.needs.as_slice(), choice.candidates.len()), (&["fireworks".to_owned()][..], 0));
    let old = "accounts/fireworks/models/qwen8-coder";
    let known = lists(&[("fireworks", listed(&[(old, 5), (CODER, 9), ("accounts/x/other", 99)]))]);
    let choice = choose(&table, ModelRole::Filter, &providers, &known);
    assert!(choice.needs.is_empty(), "{choice:?}");
    assert_eq!(names(&choice)[..2], [format!("fireworks/{CODER}"), format!("fireworks/{old}")]);
    assert_eq!(choice.candidates[0].reason, "listed, matches *qwen*coder*, newest of 2, price unknown");
    assert_eq!(
        choice.candidates[1].reason,
        "listed, matches *qwen*coder*, 2 of 2, newest first, price unknown"
    );
    // The second model should belong to another provider, even though we have not requested its list.
    let picks = choice.picks(2);
    assert_eq!((picks[0].model.as_str(), picks[1].provider.as_str()), (CODER, "openai"));
    assert!(picks[1].reason.starts_with("pinned id: its list was not read"), "{}", picks[1].reason);
    assert_eq!(why(&choice, "anthropic", ""), "no key: ANTHROPIC_API_KEY is not set");
    let not_set_up = |provider: &str| {
        choice.passed_over.iter().any(|passed| passed.provider == provider && passed.is_not_set_up)
    };
    assert!(not_set_up("anthropic") && !not_set_up("ollama"));
    assert!(why(&choice, "ollama", "").contains("`[providers.ollama] enabled = true`"), "{choice:?}");
}

#[test]
fn unlisted_model_is_not_chosen() {
    let table = table();
    let providers = providers(&table, &[FIREWORKS, OPENAI]);
    let known = lists(&[
        ("fireworks", listed(&[("accounts/fireworks/models/gpt-oss-20b", 1)])),
        (
            "openai",
            listed(&[
                ("gpt-5-mini", 1_754_425_928),
                ("gpt-5.9-mini", 1_799_000_000),
                ("gpt-5-mini-audio", 1),
            ]),
        ),
    ]);
    let choice = choose(&table, ModelRole::Filter, &providers, &known);
    assert_eq!(
        names(&choice)[..3],
        ["openai/gpt-5.9-mini", "openai/gpt-5-mini", "fireworks/accounts/fireworks/models/gpt-oss-20b"]
    );
    assert_eq!(why(&choice, "fireworks", ""), "none of its 1 ids matches *qwen*coder*");
    let retired = "accounts/fireworks/models/qwen3-coder-480b-a35b-instruct";
    assert_eq!(why(&choice, "fireworks", retired), "retired, and not listed by the provider");
    assert_eq!(why(&choice, "openai", "gpt-5.6-luna"), "not listed by the provider");
    assert_eq!(why(&choice, "openai", "gpt-5-mini-audio"), "excluded by *audio*");
}

#[test]
fn unreadable_model_list_keeps_pinned_ids() {
    let table = table();
    let providers = providers(&table, &[OPENAI, FIREWORKS]);
    let choice = choose(
        &table,
        ModelRole::Filter,
        &providers,
        &lists(&[("fireworks", silent()), ("openai", silent())]),
    );
    assert_eq!(names(&choice)[..2], ["openai/gpt-5.6-luna", "openai/gpt-5.4-mini"]);
    assert!(choice.candidates[0].reason.contains("its list can't be read (no answer in time)"));
    // A retired id should never be pinned, so Fireworks comes later, with another family.
    assert!(names(&choice).iter().all(|name| !name.contains("qwen3-coder-480b")));
    let refused =
        ListFailure { key_refused: true, why: "the provider refused the key (HTTP 401)".to_owned() };
    let known = lists(&[("fireworks", listed(&[(CODER, 1)])), ("openai", ModelListing::Failed(refused))]);
    let choice = choose(&table, ModelRole::Filter, &providers, &known);
    assert_eq!(names(&choice), [format!("fireworks/{CODER}")]);
    assert_eq!(why(&choice, "openai", ""), "the provider refused the key (HTTP 401)");
}

#[test]
fn any_available_orders_by_price_below_the_cap() {
    let table = changed(
        "[roles.filter]\nprefer = [{ provider = \"*\", match = [\"*\"], order = \"cheapest\", max_input_price = 1.0 }]\n\
         [providers.ollama]\nenabled = true\n\
         [[model_facts]]\nmatch = [\"dear\"]\nprice = { input = 1.01, output = 0.0 }\n\
         [[model_facts]]\nmatch = [\"cheap\"]\nprice = { input = 0.2, output = 0.1 }\n\
         [[model_facts]]\nmatch = [\"cheaper\"]\nprice = { input = 0.1, output = 0.1 }\n",
    );
    let providers = providers(&table, &[("GROQ_API_KEY", "k")]);
    let known = lists(&[
        ("groq", listed(&[("who-knows", 9), ("dear", 8), ("cheap", 7), ("cheaper", 6)])),
        ("ollama", silent()),
    ]);
    let choice = choose(&table, ModelRole::Filter, &providers, &known);
    assert_eq!(names(&choice), ["groq/cheaper", "groq/cheap", "groq/who-knows"]);
    assert_eq!(choice.candidates[2].reason, "listed, matches *, price unknown");
    assert_eq!(choice.candidates[0].reason, "listed, matches *, $0.10 in, $0.10 out per million tokens");
    assert_eq!(why(&choice, "groq", "dear"), "over the price cap: $1.01 per million input tokens, cap $1.00");
    // A local server is free, so it should come first.
    let mut with_local = known;
    with_local.insert("ollama".to_owned(), listed(&[("small:7b", 3)]));
    let choice = choose(&table, ModelRole::Filter, &providers, &with_local);
    assert_eq!(
        (names(&choice)[0].as_str(), choice.candidates[0].reason.as_str()),
        ("ollama/small:7b", "listed, matches *, free")
    );
}

#[test]
fn local_server_is_used_only_if_wanted_and_listable() {
    for variables in [&[][..], &[("OLLAMA_HOST", "0.0.0.0"), ("LM_STUDIO_API_BASE", "http://127.0.0.1:1/v1")]]
    {
        let unasked = providers(&table(), variables);
        let choice = choose(&table(), ModelRole::Filter, &unasked, &lists(&[]));
        assert!(choice.candidates.is_empty() && choice.needs.is_empty(), "{choice:?}");
        for name in ["ollama", "lmstudio"] {
            let reported = why(&choice, name, "");
            assert!(reported.contains(&format!("`[providers.{name}] enabled = true`")), "{reported}");
            assert!(reported.contains(&format!("`FORAGE_MODEL={name}/ID`")), "{reported}");
            let named = table().resolve(name, &|_| None).unwrap();
            assert_eq!(named.obstacle, None, "a model of it can be named");
        }
    }
    let table = changed(
        "[providers.ollama]\nenabled = true\n[providers.lmstudio]\nbase_url = \"http://127.0.0.1:9/v1\"",
    );
    let providers = providers(&table, &[]);
    let choice = choose(&table, ModelRole::Filter, &providers, &lists(&[]));
    assert_eq!(choice.needs, ["lmstudio", "ollama"], "both at once");
    let choice = choose(
        &table,
        ModelRole::Filter,
        &providers,
        &lists(&[("ollama", silent()), ("lmstudio", silent())]),
    );
    assert!(choice.candidates.is_empty() && choice.needs.is_empty());
    assert_eq!(why(&choice, "ollama", ""), "its list can't be read (no answer in time)");
    let ollama = listed(&[("tiny", 1), ("nomic-embed-text", 2), ("claude-opus-4-5", 3)]);
    let choice =
        choose(&table, ModelRole::Filter, &providers, &lists(&[("ollama", ollama), ("lmstudio", silent())]));
    assert_eq!(names(&choice), ["ollama/claude-opus-4-5", "ollama/tiny"]);
    assert!(choice.candidates.iter().all(|it| it.reason.ends_with(", free") && it.facts.price.is_none()));
    let off = changed("[providers.ollama]\nenabled = false\n");
    let off = self::providers(&off, &[]);
    assert_eq!(off.iter().find(|it| it.name == "ollama").unwrap().obstacle, Some(Obstacle::Off));
}

#[test]
fn models_that_take_too_little_are_passed_over() {
    let table = changed(
        "[providers.ollama]\nenabled = true\n[[model_facts]]\nprovider = \"ollama\"\nmatch = [\"narrow\"]\ncontext_tokens = 8192\n",
    );
    let providers = providers(&table, &[]);
    let known = lists(&[("ollama", listed(&[("narrow", 1), ("wide", 1)]))]);
    let choice = choose(&table, ModelRole::Filter, &providers, &known);
    assert_eq!(names(&choice), ["ollama/wide"]);
    assert!(why(&choice, "ollama", "narrow").starts_with("accepts 8192 tokens, but the role needs"));
}

/// A gateway, the ids in its list with their creation times, and the model to choose.
type Gateway = (&'static str, &'static [(&'static str, u64)], &'static str);

const GATEWAYS: &[Gateway] = &[
    (
        "the documents' ids",
        &[(DOCUMENTS[3], 4), (DOCUMENTS[2], 2), (DOCUMENTS[1], 3), (DOCUMENTS[0], 1)],
        DOCUMENTS[0],
    ),
    ("without the first", &[(DOCUMENTS[3], 0), (DOCUMENTS[2], 0), (DOCUMENTS[1], 0)], DOCUMENTS[1]),
    (
        "newer ones last",
        &[(DOCUMENTS[1], 1), (DOCUMENTS[2], 2), (DOCUMENTS[3], 3), ("claude-opus-4.5", 4)],
        DOCUMENTS[2],
    ),
    (
        "the dearest is the newest",
        &[("claude-opus-4-5", 9), ("gpt-5", 8), ("claude-sonnet-4-5", 7)],
        "claude-sonnet-4-5",
    ),
    // All models have the same date.
    (
        "LiteLLM",
        &[
            ("openai/gpt-5", 1_677_610_602),
            ("openai/gpt-4o-mini", 1_677_610_602),
            ("anthropic/claude-opus-4-5", 1_677_610_602),
            ("anthropic/claude-sonnet-4-20250514", 1_677_610_602),
            ("anthropic/claude-sonnet-4-5-20250929", 1_677_610_602),
            ("openrouter/anthropic/claude-sonnet-4.5", 1_677_610_602),
        ],
        "anthropic/claude-sonnet-4-5-20250929",
    ),
    (
        "LiteLLM with Fireworks",
        &[
            ("openai/gpt-5-mini", 1_677_610_602),
            ("fireworks_ai/accounts/fireworks/models/qwen3-coder-480b-a35b-instruct", 1_677_610_602),
            ("fireworks_ai/accounts/fireworks/models/qwen3-coder-30b-a3b-instruct", 1_677_610_602),
        ],
        "fireworks_ai/accounts/fireworks/models/qwen3-coder-480b-a35b-instruct",
    ),
    (
        "OpenRouter",
        &[
            ("openrouter/auto", 1_799_999_999),
            ("openrouter/sonoma-sky-alpha", 1_799_999_998),
            ("openai/gpt-5.1-codex-mini", 1_763_057_820),
            ("openai/gpt-5-mini", 1_754_587_407),
            ("openai/gpt-5-nano", 1_754_587_402),
            ("qwen/qwen3-coder:free", 1_753_230_546),
            ("anthropic/claude-sonnet-4.5", 1_759_161_676),
            ("openai/gpt-4o-mini", 1_721_260_800),
        ],
        "openai/gpt-5-mini",
    ),
    (
        "OpenRouter by prefix",
        &[("openrouter/openai/gpt-4.1-mini", 2), ("openrouter/qwen/qwen3-coder", 1), ("openrouter/auto", 3)],
        "openrouter/qwen/qwen3-coder",
    ),
    (
        "Vercel AI gateway",
        &[
            ("alibaba/qwen3-max", 1_755_815_280),
            ("anthropic/claude-haiku-4.5", 1_755_815_280),
            ("anthropic/claude-sonnet-4", 1_755_815_280),
            ("anthropic/claude-sonnet-4.5", 1_755_815_280),
            ("google/gemini-2.5-flash", 1_755_815_280),
            ("openai/gpt-5-pro", 1_755_815_280),
        ],
        "anthropic/claude-sonnet-4.5",
    ),
    (
        "Bedrock",
        &[
            ("us.anthropic.claude-opus-4-5-20251101-v1:0", 0),
            ("us.anthropic.claude-sonnet-4-20250514-v1:0", 0),
            ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", 0),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 0),
            ("amazon.titan-embed-text-v2:0", 0),
            ("openai.gpt-oss-120b-1:0", 0),
        ],
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ),
    (
        "Bedrock with Qwen",
        &[("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 0), ("qwen.qwen3-coder-480b-a35b-v1:0", 0)],
        "qwen.qwen3-coder-480b-a35b-v1:0",
    ),
    (
        "Azure",
        &[("gpt-4.1-mini", 5), ("gpt-5-mini-prod", 3), ("gpt-5", 4), ("text-embedding-3-large", 9)],
        "gpt-5-mini-prod",
    ),
    (
        "Azure by prefix",
        &[("azure/gpt-4o-mini", 0), ("azure/gpt-5", 0), ("azure/team-gpt5mini-live", 0)],
        "azure/team-gpt5mini-live",
    ),
    (
        "efforts as models",
        &[("gpt-5-minimal", 3), ("gpt-5-high", 2), ("claude-4.5-sonnet", 1)],
        "claude-4.5-sonnet",
    ),
    (
        "LM Studio",
        &[
            ("text-embedding-nomic-embed-text-v1.5", 0),
            ("openai/gpt-oss-20b", 0),
            ("qwen/qwen3-coder-30b", 0),
        ],
        "qwen/qwen3-coder-30b",
    ),
    (
        "vLLM",
        &[("Qwen/Qwen2.5-Coder-32B-Instruct", 1_760_000_000), ("my-lora", 1_760_000_000)],
        "Qwen/Qwen2.5-Coder-32B-Instruct",
    ),
    ("old minis", &[("gpt-4o-mini", 9), ("gpt-4.1-mini", 8), ("claude-sonnet-4-5", 1)], "claude-sonnet-4-5"),
    (
        "no preferred model",
        &[("gpt-4o-mini", 9), ("gpt-4.1-mini", 8), ("claude-haiku-4-5", 7)],
        "gpt-4o-mini",
    ),
    ("a single model", &[("llama-3.3-70b", 0)], "llama-3.3-70b"),
    ("Opus only", &[("claude-opus-4-1", 0)], "claude-opus-4-1"),
    (
        "dear ones only",
        &[("gpt-5-pro", 2), ("anthropic/claude-opus-4.5", 1), ("claude-opus-4-1", 3)],
        "anthropic/claude-opus-4.5",
    ),
];

#[test]
fn gateway_models_keep_the_required_order() {
    let table = table();
    let variables = [("FORAGE_BASE_URL", "http://127.0.0.1:4000/v1")];
    let providers = providers(&table, &variables);
    for role in ModelRole::ALL {
        for (gateway, ids, chosen) in GATEWAYS {
            let choice = choose(&table, role, &providers, &lists(&[("custom", listed(ids))]));
            assert_eq!(
                names(&choice).first(),
                Some(&format!("custom/{chosen}")),
                "{role:?} {gateway}: {:?}",
                names(&choice)
            );
            // The order of a list must not matter.
            let reversed: Vec<(&str, u64)> = ids.iter().rev().copied().collect();
            let reversed = choose(&table, role, &providers, &lists(&[("custom", listed(&reversed))]));
            assert_eq!(names(&reversed), names(&choice), "{gateway}");
        }
    }
}

#[test]
fn a_gateways_mini_is_preferred_to_sonnet_at_its_maker() {
    let table = table();
    let providers = providers(
        &table,
        &[
            ("ANTHROPIC_API_KEY", "k"),
            ("FORAGE_BASE_URL", "https://gateway.example.com/v1"),
            ("FORAGE_API_KEY", "k"),
        ],
    );
    let known = [
        ("anthropic", listed(&[("claude-sonnet-4-5", 9)])),
        ("custom", listed(&[("azure/gpt-5-mini", 1), ("claude-sonnet-4-6", 99)])),
    ];
    let choice = choose(&table, ModelRole::Filter, &providers, &lists(&known));
    assert_eq!(
        names(&choice),
        ["custom/azure/gpt-5-mini", "anthropic/claude-sonnet-4-5", "custom/claude-sonnet-4-6"]
    );
}

#[test]
fn a_price_is_the_models_whoever_serves_it() {
    let table = table();
    let price = |provider: &str, id: &str| table.facts(provider, id).price.map(|price| price.input);
    for (input, ids) in [
        (
            0.25,
            &[
                "gpt-5-mini",
                "openai/gpt-5-mini",
                "gpt-5-thinking-mini",
                "gpt5-mini",
                "azure/gpt-5-mini-2025-08-07",
            ][..],
        ),
        (
            3.0,
            &[
                "claude-sonnet-4.5",
                "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
                "anthropic/claude-3.7-sonnet",
            ],
        ),
        (5.0, &["claude-opus-4-5", "openrouter/anthropic/claude-opus-4.5"]),
        (
            15.0,
            &["claude-opus-4-1", "anthropic.claude-opus-4-20250514-v1:0", "openai/gpt-5-pro", "openai/o1"],
        ),
        (0.15, &["gpt-4o-mini", "azure/gpt-4o-mini"]),
    ] {
        for id in ids {
            for provider in ["custom", "openrouter", ""] {
                assert_eq!(price(provider, id), Some(input), "{provider} {id}");
            }
            assert_eq!(price("ollama", id), None, "nothing is paid on this machine: {id}");
        }
    }
    assert_eq!(price("custom", "gpt-5-mini-prod"), Some(0.25), "not the price of gpt-5-pro");
    assert_eq!(price("custom", "foo1-large"), None);
}

/// The price cap should affect only the order, and must never exclude a model entirely.
#[test]
fn expensive_model_is_used_without_alternatives() {
    let table = table();
    let providers = providers(&table, &[("FORAGE_BASE_URL", "http://127.0.0.1:4000/v1")]);
    let filter = |ids| choose(&table, ModelRole::Filter, &providers, &lists(&[("custom", listed(ids))]));
    let choice = filter(&[("claude-opus-4-1", 0)]);
    assert_eq!(
        choice.candidates[0].reason,
        "listed, matches *, $15.00 in, $75.00 out per million tokens, over the price cap: $15.00 per million input \
         tokens, cap $3.00, but nothing cheaper is available"
    );
    assert_eq!(why(&choice, "custom", "claude-opus-4-1"), "");
    let choice = filter(&[("claude-opus-4-1", 0), ("claude-haiku-4-5", 0)]);
    assert_eq!(names(&choice), ["custom/claude-haiku-4-5"]);
    let dear = why(&choice, "custom", "claude-opus-4-1");
    assert_eq!(dear, "over the price cap: $15.00 per million input tokens, cap $3.00");
}

/// Patterns become outdated. If one of them matches no id in the table, it must be updated.
#[test]
fn every_default_pattern_matches_an_id_of_the_table() {
    let table = table();
    let mut checked = 0;
    for role in ModelRole::ALL {
        for preference in table.preferences(role) {
            let providers =
                table.provider_names().filter(|name| ["*", name].contains(&&*preference.provider));
            let pinned = providers.flat_map(|name| table.whole_ids(name)).map(|(id, _)| id);
            let documents = DOCUMENTS.into_iter().filter(|_| preference.provider == "*");
            let ids: Vec<&str> = pinned.chain(documents).collect();
            // The preferences for the makers themselves repeat those for any provider, which we have already
            // checked.
            let is_repeated = table.preferences(role).iter().any(|other| {
                other.provider == "*" && preference.provider != "*" && other.patterns == preference.patterns
            });
            for pattern in preference.patterns.iter().filter(|_| !is_repeated) {
                assert!(ids.iter().any(|id| pattern.matches(id)), "{role:?} {pattern:?}");
                checked += 1;
            }
        }
        for id in table.provider_names().flat_map(|name| table.pinned(name)) {
            assert!(table.exclusion(role, id).is_none(), "{id} is pinned and excluded");
        }
    }
    assert!(checked > 20);
    let never = IdPattern::try_from("gpt-4-turbo*".to_owned()).unwrap();
    assert!(
        !table.provider_names().flat_map(|name| table.pinned(name)).any(|id| never.matches(id)),
        "it can fail"
    );
}

#[test]
fn built_in_model_table_is_valid() {
    let table = table();
    table.check().unwrap();
    for role in ModelRole::ALL {
        let first: Vec<&str> =
            table.preferences(role).iter().take(6).map(|it| it.provider.as_str()).collect();
        assert_eq!(first, ["fireworks", "*", "openai", "*", "anthropic", "*"], "{role:?}");
        let last = table.preferences(role).last().unwrap();
        assert!(last.provider == "*" && last.max_input_price.is_some(), "any model has a price cap");
    }
    for name in table.provider_names() {
        let urls = providers(&table, &[]).into_iter().find(|it| it.name == name).unwrap();
        assert!(urls.base_url.is_some() || name == "custom", "{name}: {urls:?}");
    }
}

#[test]
fn facts_of_the_table_fit_the_models() {
    let table = table();
    let facts = table.facts("openai", "gpt-5-mini");
    assert_eq!(facts.output_limit_field, OutputLimitField::MaxCompletionTokens);
    assert_eq!((facts.accepts_temperature, facts.reasoning), (false, Reasoning::Effort("minimal")));
    assert_eq!(facts.price.map(|price| price.output), Some(2.0));
    assert_eq!(table.facts("openai", "gpt-5.4-mini").reasoning, Reasoning::Effort("none"));
    assert_eq!(table.facts("openai", "gpt-5-chat-latest").reasoning, Reasoning::AsItIs);
    let old = table.facts("openai", "gpt-4.1-mini");
    assert_eq!((old.accepts_temperature, old.reasoning), (true, Reasoning::AsItIs));
    assert_eq!(table.facts("fireworks", "accounts/x/gpt-oss-20b").reasoning, Reasoning::Effort("low"));
    let shapes = |provider: &str, id: &str| {
        let facts = table.facts(provider, id);
        (facts.answer_schema, facts.answer_tool)
    };
    assert_eq!(shapes("anthropic", "claude-3-5-haiku-latest"), (false, true));
    assert_eq!(shapes("anthropic", "claude-sonnet-4-6"), (true, true));
    assert_eq!(shapes("groq", "openai/gpt-oss-20b"), (false, true));
    assert_eq!(shapes("mistral", "codestral-latest"), (true, false));
    // There should be no facts about an unknown model.
    assert_eq!(table.facts("", "stranger"), crate::endpoint::ModelFacts::default());
}

#[test]
fn the_user_overrides_entry_by_entry() {
    let table = changed(
        "[providers.openai]\nkey_env = [\"WORK_KEY\"]\n\
         [providers.mine]\nbase_url = \"http://127.0.0.1:9/v1\"\n\
         [providers.gemini]\nenabled = false\n\
         [roles.filter]\nprefer = [{ provider = \"mine\", match = [\"m\"] }]\n\
         [[model_facts]]\nprovider = \"openai\"\nmatch = [\"gpt-5-mini\"]\ntemperature = true\n",
    );
    let found = providers(&table, &[("WORK_KEY", "k"), OPENAI, ("GEMINI_API_KEY", "k")]);
    let of = |name: &str| found.iter().find(|provider| provider.name == name).unwrap();
    assert_eq!(of("openai").key_variable.as_deref(), Some("WORK_KEY"));
    assert_eq!(of("openai").base_url.as_deref(), Some("https://api.openai.com/v1"), "what is not said stays");
    assert_eq!(
        (of("openai").origin, of("mine").origin, of("groq").origin),
        (Origin::Changed, Origin::Added, Origin::BuiltIn)
    );
    assert_eq!(of("gemini").obstacle, Some(Obstacle::Off));
    let facts = table.facts("openai", "gpt-5-mini");
    assert!(facts.accepts_temperature && facts.price.is_some(), "the other facts stay");
    let choice =
        choose(&table, ModelRole::Filter, &found, &lists(&[("mine", listed(&[("m", 0), ("n", 0)]))]));
    assert_eq!(names(&choice), ["mine/m"]);
    let untouched = self::table();
    assert_eq!(table.preferences(ModelRole::Agent), untouched.preferences(ModelRole::Agent));
}

#[test]
fn mistakes_of_the_user_are_named() {
    for (text, expected) in [
        ("[providers.x]\n", "`providers.x` has neither `base_url`"),
        ("[providers.\"a/b\"]\nbase_url = \"https://h\"\n", "letters, digits"),
        ("[providers.x]\nbase_url = \"https://h\"\nkey = \"secret\"\n", "unknown field `key`"),
        ("[providers.x]\nbase_url = \"https://h\"\nwire = \"smoke\"\n", "unknown variant `smoke`"),
        ("[roles.cook]\n", "unknown field `cook`"),
        (
            "[roles.filter]\nprefer = [{ provider = \"nobody\", match = [\"*\"] }]\n",
            "unknown provider `nobody`",
        ),
        ("[roles.filter]\nprefer = [{ provider = \"openai\", match = [] }]\n", "empty `match`"),
        (
            "[roles.filter]\nprefer = [{ provider = \"openai\", match = [\"*\"], max_input_price = -1.0 }]\n",
            "not a number",
        ),
        ("[[model_facts]]\nmatch = [\"a\"]\nprice = { input = nan, output = 1.0 }\n", "not a number"),
        ("[[model_facts]]\nmatch = [\"a\"]\nreasoning_effort = \"maximal\"\n", "unknown variant `maximal`"),
        ("[[model_facts]]\nmatch = [\"a\"]\nprovider = \"nobody\"\n", "`nobody`"),
    ] {
        let error =
            settings(text).and_then(|it| table().with(&it).map_err(|error| error.to_string())).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_key_goes_with_the_address_of_its_own_entry() {
    let table = table();
    let all = [
        ("OPENAI_API_KEY", "openai-key"),
        ("OPENAI_BASE_URL", "https://gateway.example.com/v1"),
        ("FORAGE_API_KEY", "forage-key"),
        ("FORAGE_BASE_URL", "https://own.example.com/v1"),
        ("OLLAMA_HOST", "0.0.0.0:7"),
    ];
    let found = providers(&table, &all);
    let with_key: Vec<(&str, &str)> =
        found.iter().filter_map(|it| Some((it.base_url.as_deref()?, it.key.as_ref()?.expose()))).collect();
    assert_eq!(
        with_key,
        [("https://own.example.com/v1", "forage-key"), ("https://gateway.example.com/v1", "openai-key"),]
    );
    let ollama = found.iter().find(|it| it.name == "ollama").unwrap();
    assert_eq!(
        (ollama.base_url.as_deref(), ollama.base_url_variable.as_deref()),
        (Some("http://127.0.0.1:7/v1"), Some("OLLAMA_HOST"))
    );
    assert!(!format!("{found:?}").contains("-key\""), "keys are not shown");
}

#[test]
fn invalid_address_or_key_is_never_quoted() {
    let table = table();
    for (variable, value, provider) in [
        ("OPENAI_BASE_URL", "http://hunter2.example.com", "openai"),
        ("OPENAI_BASE_URL", "https://u:hunter2@example.com", "openai"),
        ("OPENAI_API_KEY", "hunter2 hunter2", "openai"),
        ("OLLAMA_HOST", "ftp://hunter2", "ollama"),
    ] {
        let found = providers(&table, &[(variable, value)]);
        let found = found.iter().find(|it| it.name == provider).unwrap();
        let obstacle = found.obstacle.as_ref().unwrap().to_string();
        // An error may contain the host of an address, but must contain neither a password nor a key.
        assert!(!obstacle.contains("hunter2") || value.starts_with("http://"), "{obstacle}");
        assert!(!format!("{found:?}").contains("hunter2@"));
    }
}

proptest! {
    /// For any lists and keys: no model is chosen twice, unlisted and excluded models are never chosen, and
    /// every candidate has a key or is local. The result does not depend on the order of a list.
    #[test]
    fn a_choice_holds_to_its_rules(
        keys in proptest::collection::vec(proptest::bool::ANY, 4),
        ids in proptest::collection::vec(("(gpt-5|claude-sonnet|x/qwen3-coder|gemini-3)-(mini|flash|audio|[0-9])", 0u64..4), 0..12),
        fails in proptest::collection::vec(proptest::bool::ANY, 4),
    ) {
        let table = table();
        let names_of = ["fireworks", "openai", "anthropic", "groq"];
        let variables = ["FIREWORKS_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY"];
        let set: Vec<(&str, &str)> =
            variables.iter().zip(&keys).filter(|(_, set)| **set).map(|(name, _)| (*name, "k")).collect();
        let found = providers(&table, &set);
        let ids: Vec<(&str, u64)> = ids.iter().map(|(id, created)| (id.as_str(), *created)).collect();
        let mut unique = ids.clone();
        unique.sort_unstable();
        unique.dedup_by_key(|(id, _)| *id);
        let known = |ids: &[(&str, u64)]| {
            let list = names_of.iter().zip(&fails);
            let list = list.map(|(name, fails)| (*name, if *fails { silent() } else { listed(ids) }));
            lists(&list.collect::<Vec<_>>())
        };
        let choice = choose(&table, ModelRole::Filter, &found, &known(&unique));
        let mut seen = std::collections::BTreeSet::new();
        for candidate in &choice.candidates {
            prop_assert!(seen.insert((&candidate.provider, &candidate.model)), "twice: {candidate:?}");
            let at = names_of.iter().position(|name| *name == candidate.provider).unwrap();
            prop_assert!(keys[at], "no key: {candidate:?}");
            let is_listed = unique.iter().any(|(id, _)| *id == candidate.model);
            prop_assert!(fails[at] || is_listed, "not listed: {candidate:?}");
            prop_assert!(!candidate.model.contains("audio"));
        }
        prop_assert!(choice.needs.is_empty());
        let mut reversed = unique.clone();
        reversed.reverse();
        prop_assert_eq!(choose(&table, ModelRole::Filter, &found, &known(&reversed)).candidates, choice.candidates.clone());
        let picks = choice.picks(2);
        let providers: std::collections::BTreeSet<_> = choice.candidates.iter().map(|it| &it.provider).collect();
        prop_assert!(picks.len() < 2 || providers.len() == 1 || picks[0].provider != picks[1].provider);
    }
}
