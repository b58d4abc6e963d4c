use proptest::prelude::*;

use super::*;

/// Removes the `¦` inside samples. It is there so that scanners of source code do not take them for live
/// secrets.
fn plain(sample: &str) -> String {
    sample.replace('¦', "")
}

/// The rule, the text around the secret with `@@` in its place, and the secret.
const SAMPLES: &[(&str, &str, &str)] = &[
    ("aws-access-key-id", "id: @@ end", "AKIA¦IOSFODNN7EXAMPLE"),
    ("aws-access-key-id", "x=@@;", "ASIA¦IOSFODNN7EXAMPLE"),
    ("aws-secret-access-key", "aws_secret_access_key = @@", "wJalrXUtnFEMI/K7MDENG¦/bPxRfiCYEXAMPLEKEY"),
    ("aws-secret-access-key", "\"SecretAccessKey\": \"@@\",", "wJalrXUtnFEMI/K7MDENG¦/bPxRfiCYEXAMPLEKEY"),
    ("plaid-token", "new Client(\"@@\")", "access-sandbox-¦0502243f-0c22-6299-936c-23b2867912fb"),
    ("github-token", "token @@.", "ghp_¦16C7e42F292c6912E7710c838347Ae178B4a"),
    ("github-token", "(@@)", "gho_¦16C7e42F292c6912E7710c838347Ae178B4a"),
    ("github-token", "<@@>", "ghs_¦16C7e42F292c6912E7710c838347Ae178B4a"),
    (
        "github-token",
        "git clone https://@@@github.com/a/b",
        "github_pat_¦11ABCDEFG0abcdefghijkl_mnopqrstuvwx",
    ),
    ("gitlab-token", "PRIVATE-TOKEN: @@", "glpat-¦x8Kz2mQ9vR4tB7nW1pLs"),
    ("slack-token", "slack(\"@@\")", "xoxb-¦2048315-8472019384-aBcDeFgHiJkLmNoPqRsT"),
    ("slack-token", "slack @@", "xoxp-¦2048315-8472019384-aBcDeF"),
    ("slack-webhook", "https://@@", "hooks.slack.com/services/¦T00AB12CD/B00EF34GH/x8Kz2mQ9vR4tB7nW1pLs"),
    ("stripe-key", "stripe.api = '@@'", "sk_¦live_4eC39HqLyjWDarjtT1zdp7dc"),
    ("stripe-key", "stripe @@", "rk_¦live_4eC39HqLyjWDarjtT1zdp7dc"),
    ("llm-api-key", "use @@ now", "sk-¦proj-Zx81kQ0pLm7vT2nRb5Yd9WcFh3Ju6Ge"),
    ("llm-api-key", "use @@ now", "sk-ant-¦api03-Zx81kQ0pLm7vT2nRb5Yd9WcFh3Ju6Ge-AA"),
    ("google-api-key", "maps?key=@@&x", "AIza¦SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"),
    ("npm-token", "//registry.npmjs.org/:_auth=@@", "npm_¦a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"),
    ("pypi-token", "upload @@", "pypi-¦AgEIcHlwaS5vcmcCJDEyMzQ1Njc4LTEyMzQtMTIzNC0xMjM0LTEyMzQ1Njc4OTBhYg"),
    (
        "jwt",
        "cookie=@@;",
        "eyJ¦hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    ),
    ("authorization-header", "Authorization: Bearer @@", "k9ZQ2¦mLp0ZrT7vBn4Ws"),
    ("authorization-header", ".header(\"Authorization\", \"Bearer @@\")", "k9ZQ2¦mLp0ZrT7vBn4Ws"),
    ("authorization-header", "-H 'authorization: Basic @@'", "dXNlcjpw¦YXNzd29yZA=="),
    ("authorization-header", "curl -H \"X: bearer @@\"", "k9ZQ2¦mLp0ZrT7vBn4Ws"),
    ("url-credentials", "postgres://app:@@@db:5432/x", "s3cr3t-¦pw"),
    ("url-credentials", "redis://:@@@cache", "pw¦1"),
    ("url-credentials", "url = \"amqp://u:@@@mq/\"", "p@s¦s#w?rd"),
    ("url-credentials", "url = https://@@@git.example.org/a/b.git", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("url-credentials", "git clone https://@@:@git.example.org/a", "a8f5f167f44f4964¦e6c998dee827110c"),
    ("secret-assignment", "\textraheader = X-Token: @@", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "password = \"@@\"", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "passwd: '@@'", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "API_KEY=@@", "a8f5f167f44f4964¦e6c998dee827110c"),
    ("secret-assignment", "export DB_PASSWORD=@@", "Tr0ub4&dor;3x(Yz|9qLm"),
    ("secret-assignment", "const TOKEN: &'static str = \"@@\";", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "let apiKey: string = `@@`;", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "{\\\"client_secret\\\": \\\"@@\\\"}", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "config[\"access-key\"] = '@@'", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "private_key := r#\"@@\"#", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "setToken(\"@@\")", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "env(\"API_TOKEN\", \"@@\")", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "token = Secret::from(\"@@\")", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "run --db-password @@ --now", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "<password>@@</password>", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "<add key=\"Password\" value=\"@@\"/>", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "https://h/?access_token=@@&x=1", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "password =\r\n  12:   \"@@\"", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "password = \"@@", "x8Kz2mQ9¦vR4tB7nW1pLs"),
    ("secret-assignment", "password = \"@@\"", "Correct horse, battery & staple"),
];

#[test]
fn each_rule_finds_its_secrets_and_only_those() {
    for (rule, around, secret) in SAMPLES {
        let (around, secret) = (plain(around), plain(secret));
        let redacted = Redactor::standard().redact(&around.replacen("@@", &secret, 1));
        // If several rules match parts of the text, each may replace a part. The secret itself must have one
        // name.
        assert!(!redacted.as_str().contains(&secret), "{rule}: {}", redacted.as_str());
        assert_eq!(redacted.as_str(), around.replacen("@@", &format!("[redacted:{rule}]"), 1));
        assert_eq!(redacted.counts().by_rule().get(rule), Some(&1), "{around}");
        assert_eq!(redacted.counts().total(), 1, "{around}");
    }
}

/// Reads the texts of `tests/data/secrets.txt`, each with its secrets.
fn recorded() -> Vec<(String, Vec<String>)> {
    let text = include_str!("../tests/data/secrets.txt");
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with("# ")).collect();
    let case = |case: &[&str]| {
        let text = plain(&case.join("\n"));
        let secrets =
            text.split('«').skip(1).filter_map(|rest| Some(rest.split_once('»')?.0.to_owned())).collect();
        (text.replace(['«', '»'], ""), secrets)
    };
    lines.split(|line| *line == "---").map(case).collect()
}

#[test]
fn every_secret_kind_is_redacted_and_its_context_kept() {
    let cases = recorded();
    assert!(cases.len() > 70);
    for (text, secrets) in cases {
        assert!(!secrets.is_empty() && secrets.iter().all(|secret| text.contains(secret)), "{text}");
        let redacted = Redactor::standard().redact(&text);
        assert!(!secrets.iter().any(|secret| redacted.as_str().contains(secret)), "{}", redacted.as_str());
        assert_eq!(redacted.as_str().lines().count(), text.lines().count());
        // The control: without rules, all of them should stay.
        assert_eq!(Redactor::off().redact(&text).as_str(), text);
    }
}

#[test]
fn every_rule_says_where_its_form_is_known_from() {
    for rule in rules::RULES {
        assert!(!rule.source.is_empty() && !rule.keywords.is_empty(), "{}", rule.name);
        assert!(mark::NAMES.contains(&rule.name));
    }
}

/// Random values of a pattern must be found no matter what their letters look like.
#[test]
fn no_judgement_on_words_lets_a_known_form_pass() {
    let mut seed = 20_261_124_u64;
    let mut draw = |alphabet: &[u8], length: usize| -> String {
        (0..length)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                char::from(alphabet[(seed >> 33) as usize % alphabet.len()])
            })
            .collect()
    };
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let alphanumeric = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let hex = b"0123456789abcdef";
    for _ in 0..300 {
        for (text, secret) in [
            ("x(@@)", format!("hf_{}", draw(letters, 34))),
            ("x(@@)", format!("glpat-{}", draw(alphanumeric, 20))),
            ("api_key: \"@@\"", draw(hex, 32)),
            ("api_key = \"@@\"", draw(alphanumeric, 20)),
            ("H: Bearer @@", draw(alphanumeric, 24)),
        ] {
            let redacted = Redactor::standard().redact(&text.replace("@@", &secret));
            assert!(!redacted.as_str().contains(&secret), "{secret}");
        }
    }
}

#[test]
fn random_looking_text_is_not_redacted() {
    let text = include_str!("../tests/data/no_secrets.txt");
    for (line, redacted) in text.lines().zip(Redactor::standard().redact(text).as_str().lines()) {
        assert_eq!(redacted, line);
    }
}

#[test]
fn code_is_left_alone() {
    for code in [
        "token = parser.next_token()",
        "let token = self.current_token_value;",
        "api_key = os.environ[\"API_KEY\"]",
        "api_key = os.environ.get(\"OPENAI_API_KEY_V2\")",
        "password = os.environ.get(\"DATABASE_PASSWORD_PROD\")",
        "const apiKey = process.env.OPENAI_API_KEY_V2;",
        "token: tokio_util::sync::CancellationToken,",
        "\"tokenizer_class\": \"LlamaTokenizerFast\",",
        "password: ${{ secrets.DATABASE_PASSWORD }}",
        "password = \"${DATABASE_PASSWORD_9x8Y7z6W}\"",
        "PASSWORD=$DATABASE_PASSWORD_9X8Y",
        "url = f\"postgres://{user}:{password}@{host}/db\"",
        "postgres://$USER:$PASSWORD@host/db",
        "token_url = \"https://example.com/oauth2/v1/token\"",
        "private_key_path = \"/etc/ssl/private/server.key\"",
        "password_prompt = \"Please enter your password\"",
        "max_tokens = 4096, total_tokens = 1234567890123456",
        "http://localhost:8080/path@x and a@b.example",
        "git clone git@git.example.org:continuous-integration/shop.git",
        "ssh://git@git.example.org/a/b and ssh://a1b2c3d4e5f6@git.example.org/a",
        "https://continuous-integration-bot@git.example.org/shop.git",
        "https://internationalization@git.example.org and https://administrator2024@h",
        "https://firstname.lastname%40example.com@dev.example.org/shop",
        "https://first.middle.lastname@dev.example.org/shop",
        "https://${GITHUB_DEPLOYMENT_TOKEN}@git.example.org/a/b",
        "https://$GITHUB_DEPLOYMENT_TOKEN@git.example.org/a/b",
        "postgres://application_readonly_user@db.internal/shop",
        "https://registry.example.org/@acme/package-with-a-long-name@1.2.3",
        "Bearer authentication is described below",
        "Authorization: Basic authentication",
        "\"Authorization\": \"Bearer \" + token",
        ".mask-image-with-a-long-class-name { task-runner-configuration-file: 1 }",
        "secret = b64decode_v2utf8(input)",
        "TOKEN=read_setting_v2(lines[3])",
        "TOKEN=$(read_setting --name=foo3)",
        "fn password_is_at_least(minimum_length: usize) -> bool",
        "if (!token || token.kind !== SyntaxKind.OpenBraceToken) return;",
        "see the PRIVATE KEY section, BEGIN there",
    ] {
        assert_eq!(Redactor::standard().redact(code).as_str(), code);
    }
}

fn pem(kind: &str) -> String {
    let body = "MIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9Oi8Z6mQ1xW5cVn0bLr8UeKfPdHs\n";
    format!("-----BEGIN {kind}PRIVATE KEY-----\n{body}{body}AbC=\n-----END {kind}PRIVATE KEY-----\n")
}

fn leaks(redacted: &Redacted) -> bool {
    ["MIIE", "PdHs", "AbC=", "BEGIN", "END"].iter().any(|part| redacted.as_str().contains(part))
}

#[test]
fn private_keys_are_redacted_line_by_line() {
    for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
        let text = format!("before\n{}after\n", pem(kind));
        for text in [text.clone(), text.replace('\n', "\r\n")] {
            let redacted = Redactor::standard().redact(&text);
            assert!(!leaks(&redacted), "{}", redacted.as_str());
            assert_eq!(redacted.as_str().lines().count(), text.lines().count());
            assert_eq!(redacted.counts().by_rule().get("private-key"), Some(&1));
            let lines: Vec<_> = redacted.as_str().lines().collect();
            assert_eq!((lines[0], lines[6]), ("before", "after"));
            assert!(lines[1..6].iter().all(|line| line.trim_end() == "[redacted:private-key]"), "{lines:?}");
        }
    }
}

#[test]
fn parts_of_private_keys_are_redacted() {
    let whole = pem("RSA ");
    let lines: Vec<&str> = whole.lines().collect();
    for (from, to) in [(0, 2), (0, 3), (0, 4), (1, 5), (2, 5), (3, 5)] {
        for end in ["\n", "\r\n"] {
            let text = lines[from..to].join(end);
            let redacted = Redactor::standard().redact(&text);
            assert!(!leaks(&redacted), "{from}..{to}: {}", redacted.as_str());
        }
    }
}

/// A mark without a key, as in programs that read and write keys, should stay.
#[test]
fn marks_of_keys_in_code_stay() {
    for code in [
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END RSA PRIVATE KEY-----",
        "return \"-----BEGIN EC PRIVATE KEY-----\\n\" + wrap(data) + \"\\n-----END EC PRIVATE KEY-----\\n\"",
        "pem.startswith(\"-----BEGIN PRIVATE KEY-----\")\nnext_line_of_it()",
        "const pem = `-----BEGIN PRIVATE KEY-----\\n${encodeBase64(exported)}\\n-----END PRIVATE KEY-----`",
        "key := []byte(\"-----BEGIN PRIVATE KEY-----\\nexisting\\n-----END PRIVATE KEY-----\")",
        "BEGIN = \"-----BEGIN PRIVATE KEY-----\\n\".getBytes(US_ASCII);\nEND = \"\\n-----END PRIVATE KEY-----\\n\";",
        "  \"-----BEGIN PRIVATE KEY-----\",\n  privateKeyContents,\n  \"-----END PRIVATE KEY-----\"",
    ] {
        assert_eq!(Redactor::standard().redact(code).as_str(), code);
    }
}

#[test]
fn private_keys_are_found_after_line_prefixes() {
    let prefixes: [fn(usize) -> String; 8] = [
        |at| format!("  {at}: "),
        |at| format!("{at}-"),
        |at| format!("{at}:"),
        |at| format!("> {at} | "),
        |at| format!("deploy/key-2.pem:{at}:"),
        |at| format!("deploy/key-2.pem-{at}-"),
        |_| "    # ".to_owned(),
        |_| "+".to_owned(),
    ];
    let whole = pem("");
    for prefix in prefixes {
        for (from, to) in [(0, 5), (0, 3), (1, 5)] {
            let numbered = whole.lines().enumerate().map(|(at, line)| format!("{}{line}\n", prefix(at + 9)));
            let text: String = numbered.skip(from).take(to - from).collect();
            let redacted = Redactor::standard().redact(&text);
            assert!(!leaks(&redacted), "{}", redacted.as_str());
            for (at, line) in redacted.as_str().lines().enumerate() {
                assert_eq!(
                    line.trim_start_matches('+'),
                    (prefix(at + from + 9) + "[redacted:private-key]").trim_start_matches('+')
                );
            }
        }
    }
}

#[test]
fn a_private_key_written_in_one_line_is_redacted() {
    let one_line = format!("{{\"private_key\": \"{}\", \"id\": 1}}", pem("").replace('\n', "\\n"));
    let redacted = Redactor::standard().redact(&one_line);
    assert_eq!(redacted.as_str(), "{\"private_key\": \"[redacted:private-key]\", \"id\": 1}");
    let cut = &one_line[..120];
    assert!(!leaks(&Redactor::standard().redact(cut)));
    let quoted: String = pem("").lines().map(|line| format!("    \"{line}\\n\" +\n")).collect();
    let redacted = Redactor::standard().redact(&quoted);
    assert!(!leaks(&redacted), "{}", redacted.as_str());
}

#[test]
fn headers_of_an_encrypted_key_do_not_end_it() {
    let text = pem("RSA ").replacen(
        "KEY-----\n",
        "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,AB12\n\n",
        1,
    );
    let redacted = Redactor::standard().redact(&text);
    assert!(!leaks(&redacted) && !redacted.as_str().contains("AB12"), "{}", redacted.as_str());
}

#[test]
fn code_behind_a_mere_mark_stays() {
    let text = "  if line == '-----BEGIN RSA PRIVATE KEY-----'\n    break\n  end\nend\nlet x = 1;\n";
    let redacted = Redactor::standard().redact(text);
    assert!(redacted.as_str().ends_with("'\n    break\n  end\nend\nlet x = 1;\n"), "{}", redacted.as_str());
}

#[test]
fn a_secret_before_the_value_of_an_earlier_name_is_found() {
    let text = plain("--token API_KEY=a8f5f167f44f4964¦e6c998dee827110csetToken(\"x8Kz2mQ9¦vR4tB7nW1pLs\")");
    let redacted = Redactor::standard().redact(&text);
    assert!(
        !redacted.as_str().contains("a8f5f167") && !redacted.as_str().contains("x8Kz2mQ9"),
        "{}",
        redacted.as_str()
    );
}

#[test]
fn a_run_of_literals_is_read_once_and_its_last_is_looked_at() {
    let secret = "x8Kz2mQ9vR4tB7nW1pLsY5cD3fG6hJ0kE8uT2aS6wX1zC4vN";
    for literal in ["csk-", "sk-", "pypi-", "password=", "_gitlab_session=", "token:a1b2c3d4"] {
        let run = literal.repeat(256 * 1024 / literal.len());
        let started = std::time::Instant::now();
        let redacted = Redactor::standard().redact(&format!("{run}{secret}"));
        // This should take a fraction of a second. Reading to the end of the run for each literal would take
        // minutes.
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{literal}: {:?}", started.elapsed());
        assert!(!redacted.as_str().contains(secret), "{literal}");
    }
}

#[test]
fn a_value_that_is_too_long_is_cut_between_characters() {
    for name in ["PASSWORD=", "password: ", "db.password = ", "--password "] {
        for bytes in 0..4 {
            let text = format!("{name}{}{}", "a".repeat(bytes), "\u{10fffd}".repeat(4000));
            assert_eq!(Redactor::standard().redact(&text).as_str().lines().count(), 1);
        }
    }
}

#[test]
fn of_a_line_without_end_the_names_are_still_read() {
    let value = plain("Xk9¦vQ2mT7pLw4ZrB");
    let pair = format!("password: \"{value}\" ");
    let line = format!("{}{pair}", "some text ".repeat(2_000));
    for text in [line.clone(), format!("first\n{line}"), pair] {
        let redacted = Redactor::standard().redact(&text);
        assert_eq!((redacted.counts().total(), redacted.as_str().contains(&value)), (1, false));
    }
}

#[test]
fn off_changes_nothing() {
    let text = pem("");
    assert_eq!(Redactor::off().redact(&text).as_str(), text);
}

#[test]
fn joined_texts_add_their_counts_up() {
    let redact = |text: &str| Redactor::standard().redact(text);
    let key = plain("AKIA¦IOSFODNN7EXAMPLE");
    let whole = Redacted::concat([Redacted::trusted("a\n"), redact(&key), redact(&format!("\n{key}"))]);
    assert_eq!(whole.as_str(), "a\n[redacted:aws-access-key-id]\n[redacted:aws-access-key-id]");
    assert_eq!(whole.counts().total(), 2);
    assert!(!format!("{whole:?}").contains("[redacted"));
}

/// Generates text that contains what the rules look for, much more often than random text does.
fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[ -~äß\u{202e}\t]{0,12}",
        2 => prop::sample::select(vec!["\n", "\r\n", "\r", " ", "\"", "'", "\\", "`", "=", ":", "(", "{", "}", "@", "://", "$"])
            .prop_map(str::to_owned),
        2 => prop::sample::select(vec![
            "token", "password", "secret=", "api_key: ", "Authorization: Bearer ", "https://u:", "[redacted:jwt]",
            "[redacted:", "PRIVATE KEY", "--token ", "12: ", "\"\"\"", "value=",
        ]).prop_map(str::to_owned),
        1 => prop::sample::select(SAMPLES.to_vec()).prop_map(|(_, around, secret)| plain(&around.replacen("@@", secret, 1))),
        1 => (0..6_usize, 0..6_usize).prop_map(|(from, to)| pem("").split_inclusive('\n').skip(from).take(to).collect()),
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_stay(text in hostile_text()) {
        let redacted = Redactor::standard().redact(&text);
        prop_assert_eq!(redacted.as_str().matches('\n').count(), text.matches('\n').count());
        prop_assert_eq!(redacted.as_str().matches("\r\n").count(), text.matches("\r\n").count());
    }

    #[test]
    fn redacting_twice_is_redacting_once(text in hostile_text()) {
        let once = Redactor::standard().redact(&text);
        let twice = Redactor::standard().redact(once.as_str());
        prop_assert_eq!(twice.as_str(), once.as_str());
    }

    #[test]
    fn a_seeded_secret_never_survives(
        before in "[ -~\n]{0,60}", after in "[ -~\n]{0,60}",
        sample in prop::sample::select(SAMPLES.to_vec()), crlf: bool,
    ) {
        let (_, around, secret) = sample;
        let secret = plain(secret);
        // The sample is on lines of its own. If other text were joined to an assignment, it could become
        // something else, such as a comparison or another name.
        let mut text = format!("{before}\n{}\n{after}", plain(around).replacen("@@", &secret, 1));
        if crlf {
            text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        let redacted = Redactor::standard().redact(&text);
        prop_assert!(!redacted.as_str().contains(&secret), "{}", redacted.as_str());
    }

    #[test]
    fn a_token_glued_to_other_text_never_survives(
        before in "[ -~]{0,30}", after in "[ -~]{0,30}",
        sample in prop::sample::select(
            SAMPLES.iter().filter(|(rule, ..)| rule.ends_with("-token") || rule.ends_with("key-id") || *rule == "jwt")
                .copied().collect::<Vec<_>>()),
    ) {
        let secret = plain(sample.2);
        let redacted = Redactor::standard().redact(&format!("{before}{secret}{after}"));
        prop_assert!(!redacted.as_str().contains(&secret), "{}", redacted.as_str());
    }
}
