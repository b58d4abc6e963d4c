//! The table of secrets that are recognized by a pattern alone.
//!
//! Each row is a rule. It has a name, literals, a pattern, the minimum entropy, an exception, and the source
//! of the pattern. Every match must contain one of the literals, in any case: we search for all of them at
//! once. The secret is the last group of the pattern that took part in the match, or the whole match if there
//! are no groups. Most patterns have no maximum length, so that no tail of a secret survives. Most have no
//! boundary at the start, so that we also find a token that is joined to other text.
//!
//! A pattern that matches only secrets has no exception for texts that look like words. Unless it says
//! otherwise, `source` names the rules of gitleaks (MIT) that have the same pattern.

/// Matches of a pattern that are not secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exception {
    /// None: the pattern is sufficient.
    Never,
    /// Words, paths, and names in source code.
    Name,
    /// Texts that are filled in at run time, and placeholders such as `changeme`.
    Placeholder,
    /// Words in lower case, which are prose, for example after `Authorization: Basic`.
    LowerWord,
    /// Texts in which no piece looks random, for example settings in a cookie.
    NothingRandom,
    /// Base64 of anything other than a private key.
    NoKey,
    /// Texts that are filled in at run time, and sentences such as «login and password that belong to it».
    Sentence,
    /// Texts that are filled in at run time, and ports.
    Port,
    /// Everything other than a password that may be the argument of a call: words, names and expressions.
    NoPassword,
}

/// The rule for values of sensitive names, which is implemented in `assignment`.
pub(crate) const ASSIGNMENT: &str = "secret-assignment";

/// The rule for manifests, which is implemented in `kubernetes`.
pub(crate) const KUBERNETES: &str = "kubernetes-secret";

/// The rule for key blocks, which is implemented in `private_key`.
pub(crate) const PRIVATE_KEY: &str = "private-key";

/// The rule for the user information of addresses.
pub(crate) const URL_CREDENTIALS: &str = "url-credentials";

/// A rule of the table.
pub(crate) struct RedactionRule {
    pub(crate) name: &'static str,
    pub(crate) keywords: &'static [&'static str],
    /// Maximum number of bytes of a match before its literal.
    pub(crate) before: usize,
    pub(crate) form: &'static str,
    /// Minimum Shannon entropy of the secret, in bits per byte. This excludes little more than `xxxx…`.
    pub(crate) entropy: f64,
    pub(crate) exception: Exception,
    #[cfg_attr(not(test), expect(dead_code, reason = "for people, and for the test that each row has one"))]
    pub(crate) source: &'static str,
}

macro_rules! rules {
    ($($name:literal [$($keyword:literal),+] $(before $before:literal)? $form:literal, $entropy:literal, $exception:ident, $source:literal;)*) => {
        &[$(RedactionRule {
            name: $name,
            keywords: &[$($keyword),+],
            before: 0 $(+ $before)?,
            form: $form,
            entropy: $entropy,
            exception: Exception::$exception,
            source: $source,
        }),*]
    };
}

#[rustfmt::skip]
pub(crate) const RULES: &[RedactionRule] = rules! {
    // Source code hosts and package registries.
    "github-token" ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"] r"gh[pousr]_[A-Za-z0-9]{20,}", 2.5, Never, "github-pat, github-oauth, github-app-token, github-refresh-token";
    "github-token" ["github_pat_"] r"github_pat_[A-Za-z0-9_]{20,}", 2.5, Never, "github-fine-grained-pat";
    "gitlab-token" ["glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glft-", "glsoat-", "glagent-", "gloas-", "glimt-", "glffct-"] r"gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|oas|imt|ffct)-[A-Za-z0-9_.-]{16,}", 2.5, Never, "gitlab-pat and its kin";
    "gitlab-token" ["GR1348941"] r"GR1348941[A-Za-z0-9_-]{20,}", 2.5, Never, "gitlab-rrt";
    "gitlab-token" ["_gitlab_session="] r"_gitlab_session=([0-9a-zA-Z]{32,})", 2.5, Never, "gitlab-session-cookie";
    "bitbucket-token" ["ATBB"] before 1 r"(?:^|[^A-Za-z0-9+/])(ATBB[A-Za-z0-9_=.-]{28,})", 3.0, Never, "Atlassian: app passwords";
    "atlassian-token" ["ATATT3"] r"ATATT3[A-Za-z0-9_=-]{60,}", 3.0, Never, "atlassian-api-token";
    "npm-token" ["npm_"] r"npm_[A-Za-z0-9]{30,}", 2.5, Never, "npm-access-token";
    "pypi-token" ["pypi-"] r"pypi-[A-Za-z0-9_-]{40,}", 2.5, Never, "pypi-upload-token";
    "rubygems-token" ["rubygems_"] r"rubygems_[a-f0-9]{40,}", 2.5, Never, "rubygems-api-token";
    "clojars-token" ["clojars_"] r"(?i)CLOJARS_[a-z0-9]{50,}", 2.5, Never, "clojars-api-token";
    "crates-io-token" ["cio"] r"\bcio[A-Za-z0-9]{32}\b", 3.2, Never, "crates.io: API tokens";
    "docker-token" ["dckr_pat_", "dckr_oat_"] r"dckr_[po]at_[A-Za-z0-9_-]{20,}", 2.5, Never, "Docker: access tokens";
    "artifactory-token" ["AKCp"] before 1 r"(?:^|[^A-Za-z0-9+/])(AKCp[A-Za-z0-9]{60,})", 3.0, Never, "artifactory-api-key";
    "artifactory-token" ["cmVmd"] before 1 r"(?:^|[^A-Za-z0-9+/])(cmVmd[A-Za-z0-9]{59,})", 3.0, Never, "artifactory-reference-token";
    "sourcegraph-token" ["sgp_"] r"sgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40,}", 2.5, Never, "sourcegraph-access-token";
    "circleci-token" ["CCIPAT_", "CCIPRJ_"] r"CCIP(?:AT|RJ)_[A-Za-z0-9]{20,}_[a-f0-9]{40,}", 2.5, Never, "CircleCI: API tokens";

    // Clouds.
    "aws-access-key-id" ["AKIA", "ASIA", "ABIA"] r"(?:AKIA|ASIA|ABIA)[A-Z0-9]{16,}", 2.5, Never, "aws-access-token";
    "aws-access-key-id" ["A3T", "ACCA"] r"\b(?:A3T[A-Z0-9]|ACCA)[A-Z2-7]{16}\b", 3.0, Never, "aws-access-token";
    "aws-secret-access-key" ["secret"] r#"(?i)secret[_. -]?(?:access[_. -]?)?key[A-Za-z0-9_."'`\])\\]{0,8}[ \t]*(?::=|=>|[:=,])[ \t]*\\?["'`]?([A-Za-z0-9/+=]{40})(?:[^A-Za-z0-9/+=]|$)"#, 3.0, Name, "AWS: access keys";
    "aws-bedrock-key" ["ABSK"] before 1 r"(?:^|[^A-Za-z0-9+/])(ABSK[A-Za-z0-9+/]{100,}={0,2})", 3.0, Never, "aws-amazon-bedrock-api-key-long-lived";
    "aws-bedrock-key" ["bedrock-api-key-"] r"bedrock-api-key-[A-Za-z0-9+/=_-]{20,}", 3.0, Never, "aws-amazon-bedrock-api-key-short-lived";
    "google-api-key" ["AIza"] r"\bAIza[A-Za-z0-9_-]{30,38}\b", 2.5, Never, "gcp-api-key";
    "google-oauth-secret" ["GOCSPX-"] r"GOCSPX-[A-Za-z0-9_-]{20,}", 2.5, Never, "Google: OAuth clients";
    "google-oauth-token" ["ya29."] r"ya29\.[A-Za-z0-9_-]{30,}", 3.0, Never, "Google: OAuth access tokens";
    "google-oauth-token" ["1//0"] r"\b1//0[A-Za-z0-9_-]{30,}", 3.0, Never, "Google: OAuth refresh tokens";
    "firebase-key" ["APA91b"] before 170 r"\bAAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{100,}", 3.0, Never, "Firebase: server keys";
    "azure-client-secret" ["Q~"] before 5 r#"(?:^|[\\'"`\s>=:(,)|])([a-zA-Z0-9_~.]{3}[0-9]Q~[a-zA-Z0-9_~.-]{31,34})(?:[^a-zA-Z0-9_~.-]|$)"#, 3.0, Never, "azure-ad-client-secret";
    "azure-sas" ["sig="] r"(?i)\bsig=([A-Za-z0-9+/%]{30,}(?:%3d|=)?)", 3.0, Never, "Azure: shared access signatures";
    "alibaba-key-id" ["LTAI"] before 1 r"(?:^|[^A-Za-z0-9+/])(LTAI[A-Za-z0-9]{16,})", 3.0, Never, "alibaba-access-key-id";
    "tencent-key-id" ["AKID"] before 1 r"(?:^|[^A-Za-z0-9+/])(AKID[A-Za-z0-9]{32,})", 3.0, Never, "Tencent Cloud: API keys";
    "yandex-token" ["AQVN", "t1.9eu"] r"(?:AQVN[A-Za-z0-9_-]{35,}|t1\.9eu[A-Za-z0-9_=.-]{50,})", 3.0, Never, "yandex-api-key, yandex-access-token";
    "digitalocean-token" ["dop_v1_", "doo_v1_", "dor_v1_"] r"(?i)do[opr]_v1_[a-f0-9]{40,}", 2.5, Never, "digitalocean-pat and its kin";
    "heroku-key" ["HRKU-"] r"HRKU-[A-Za-z0-9_-]{36,}", 3.0, Never, "heroku-api-key-v2";
    "plaid-token" ["access-sandbox-", "access-development-", "access-production-"] r"access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", 2.5, Never, "plaid-api-token";
    "flyio-token" ["fo1_", "fm1a_", "fm1r_", "fm2_"] r"\b(?:fo1_[A-Za-z0-9_-]{43,}|fm[12][ar]?_[A-Za-z0-9+/]{90,}={0,3})", 3.0, Never, "flyio-access-token";
    "scalingo-token" ["tk-us-"] r"\btk-us-[A-Za-z0-9_-]{48,}", 3.0, Never, "scalingo-api-token";
    "netlify-token" ["nfp_"] r"nfp_[A-Za-z0-9]{36,}", 3.0, Never, "Netlify: access tokens";
    "supabase-token" ["sbp_", "sb_secret_"] r"(?:sbp_[a-f0-9]{40,}|sb_secret_[A-Za-z0-9_-]{20,})", 2.5, Never, "Supabase: API keys";
    "vercel-token" ["vercel_blob_rw_", "vcp_"] r"(?:vercel_blob_rw_[A-Za-z0-9_]{20,}|\bvcp_[A-Za-z0-9]{24,})", 3.0, Never, "Vercel: tokens";
    "planetscale-token" ["pscale_"] r"(?i)pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_=.-]{30,}", 3.0, Never, "planetscale-api-token and its kin";
    "cloudflare-key" ["v1.0-"] r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}", 2.5, Never, "cloudflare-origin-ca-key";
    "databricks-token" ["dapi"] r"dapi[a-f0-9]{32,}(?:-[0-9])?", 2.5, Never, "databricks-api-token";
    "clickhouse-key" ["4b1d"] r"\b4b1d[A-Za-z0-9]{38}\b", 3.3, Never, "clickhouse-cloud-api-secret-key";
    "openshift-token" ["sha256~"] r"sha256~[A-Za-z0-9_-]{43,}", 3.0, Never, "openshift-user-token";
    "kubernetes-bootstrap-token" ["--token"] r"--token[ =]([a-z0-9]{6}\.[a-z0-9]{16})\b", 2.5, Never, "Kubernetes: bootstrap tokens";

    // Stores and delivery of secrets and infrastructure.
    "vault-token" ["hvs.", "hvb.", "hvr."] r"hv[sbr]\.[A-Za-z0-9_-]{24,}", 3.0, Never, "vault-service-token, vault-batch-token";
    "vault-token" ["s."] r"\bs\.[A-Za-z0-9]{24}\b", 3.5, Name, "vault-service-token (before 1.10)";
    "terraform-token" [".atlasv1."] before 20 r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", 3.0, Never, "hashicorp-tf-api-token";
    "pulumi-token" ["pul-"] r"\bpul-[a-f0-9]{40,}", 2.5, Never, "pulumi-api-token";
    "doppler-token" ["dp."] r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}", 2.5, Never, "doppler-api-token";
    "infracost-token" ["ico-"] before 1 r"(?:^|[^.\w-])(ico-[A-Za-z0-9]{32,})", 3.0, Never, "infracost-api-token";
    "harness-token" ["pat.", "sat."] r"\b[ps]at\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20,}", 3.0, Never, "harness-api-key";
    "prefect-token" ["pnu_", "pnb_"] r"\bpn[ub]_[A-Za-z0-9]{36,}", 3.0, Never, "prefect-api-token";
    "octopus-key" ["API-"] before 1 r"(?:^|[^/\w-])(API-[A-Z0-9]{26,})", 3.0, Never, "octopus-deploy-api-key";
    "1password-key" ["A3-"] r"\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5,}", 3.0, Never, "1password-secret-key";
    "1password-token" ["ops_eyJ"] r"ops_eyJ[A-Za-z0-9+/_-]{60,}={0,3}", 3.0, Never, "1password-service-account-token";
    "age-secret-key" ["age-secret-key-"] r"(?i)AGE-SECRET-KEY-(?:PQ-)?1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{40,}", 0.0, Never, "age-secret-key";
    "settlemint-token" ["sm_aat_", "sm_pat_", "sm_sat_"] r"sm_[aps]at_[A-Za-z0-9]{16,}", 2.5, Never, "settlemint-application-access-token and its kin";
    "bcrypt-hash" ["$2a$", "$2b$", "$2y$"] r"\$2[aby]\$[0-9]{2}\$[./A-Za-z0-9]{53}", 3.0, Never, "bcrypt: modular crypt format";
    "crypt-hash" ["$argon2", "$6$", "$5$", "$1$", "$apr1$", "$y$"] r"(?:\$argon2i?d?\$v=[0-9]+\$[a-z0-9=,]+\$[A-Za-z0-9+/]{10,}\$[A-Za-z0-9+/]{20,}|\$(?:[156]|apr1|y)\$(?:[^\s$:]{1,30}\$){1,2}[./A-Za-z0-9]{22,})", 3.0, Never, "crypt(5)";

    // Language models.
    "llm-api-key" ["sk-"] r"sk-(?:proj|svcacct|admin|ant|or|lf|None)-[A-Za-z0-9_-]{16,}", 2.5, Never, "openai-api-key, anthropic-api-key, anthropic-admin-api-key";
    "llm-api-key" ["T3BlbkFJ"] before 170 r"sk-[A-Za-z0-9_-]{8,}T3BlbkFJ[A-Za-z0-9_-]{8,}", 2.5, Never, "openai-api-key";
    // Note that words such as «task-» also end with `sk-`.
    "llm-api-key" ["sk-"] before 1 r"(?:^|[^A-Za-z0-9])(sk-[A-Za-z0-9_-]{20,})", 2.5, Name, "OpenAI, DeepSeek: API keys";
    "llm-api-key" ["gsk_", "xai-", "fw_", "r8_", "pplx-", "csk-", "nvapi-", "jina_"] r"\b(?:gsk_|xai-|fw_|r8_|pplx-|csk-|nvapi-|jina_)[A-Za-z0-9_-]{20,}", 2.5, Name, "perplexity-api-key; Groq, xAI, Fireworks, Replicate, Cerebras, NVIDIA, Jina: API keys";
    "huggingface-token" ["hf_", "api_org_"] r"\b(?:hf|api_org)_[A-Za-z]{34}\b", 2.5, Never, "huggingface-access-token, huggingface-organization-api-token";
    "huggingface-token" ["hf_"] r"\bhf_[A-Za-z0-9]{20,}", 2.5, Name, "huggingface-access-token";

    // Messages and mail.
    "slack-token" ["xox"] r"xox[ar]-(?:[0-9]-)?[A-Za-z0-9]{8,}[A-Za-z0-9-]*|xox[a-z]-(?:[0-9]{5,}-[A-Za-z0-9-]{10,}|(?:[0-9]-)?[0-9]*[A-Za-z]+[0-9][A-Za-z0-9]{6,}[A-Za-z0-9-]*)", 2.0, Never, "slack-bot-token and its kin";
    "slack-token" ["xoxe.xox"] r"(?i)xoxe\.xox[bp]-[0-9]-[A-Z0-9]{50,}", 2.5, Never, "slack-config-access-token";
    "slack-token" ["xapp-"] r"(?i)xapp-[A-Za-z0-9-]{10,}", 2.0, Never, "slack-app-token";
    "slack-webhook" ["hooks.slack.com/"] r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}", 2.5, Never, "slack-webhook-url";
    "teams-webhook" ["webhook.office.com/"] r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{60,})", 2.5, Never, "microsoft-teams-webhook";
    "discord-webhook" ["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"] r"discord(?:app)?\.com/api/webhooks/([0-9]{15,}/[A-Za-z0-9_-]{40,})", 3.0, Never, "Discord: webhooks";
    "telegram-token" ["0:A", "1:A", "2:A", "3:A", "4:A", "5:A", "6:A", "7:A", "8:A", "9:A"] before 16 r"\b[0-9]{5,16}:A[A-Za-z0-9_-]{34}\b", 3.0, Never, "telegram-bot-api-token";
    "telegram-token" ["/bot"] r"/bot([0-9]{6,10}:[A-Za-z0-9_-]{30,})", 3.0, Never, "telegram-bot-api-token";
    "sendgrid-token" ["SG."] r"\bSG\.[A-Za-z0-9_=-]{16,}[.][A-Za-z0-9_=.-]{32,}|\bSG\.(?i:[a-z0-9=_.-]{66,})", 3.0, Never, "sendgrid-api-token";
    "sendinblue-token" ["xkeysib-", "xsmtpsib-"] r"x(?:key|smtp)sib-[a-f0-9]{60,}(?:-[A-Za-z0-9]{16,})?", 2.5, Never, "sendinblue-api-token";
    "mailgun-key" ["key-"] r"\bkey-[a-f0-9]{32}\b", 2.5, Never, "mailgun-private-api-token";
    "mailchimp-key" ["-us"] before 33 r"\b[a-f0-9]{32}-us[0-9]{1,2}\b", 2.5, Never, "mailchimp-api-key";
    "twilio-key" ["SK"] r"\bSK[0-9a-fA-F]{32}\b", 2.8, Never, "twilio-api-key";

    // Payments and shops.
    "stripe-key" ["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"] r"\b[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}", 2.0, Never, "stripe-access-token";
    "stripe-key" ["whsec_"] r"whsec_[A-Za-z0-9+/=]{20,}", 2.5, Never, "Stripe: webhooks";
    "square-token" ["EAAA"] r"\bEAAA[A-Za-z0-9_-]{22,}", 3.5, Never, "square-access-token";
    "square-token" ["sq0"] r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}", 2.5, Never, "square-access-token";
    "paypal-token" ["access_token$"] r"access_token\$(?:production|sandbox)\$[a-z0-9]{10,}\$[a-f0-9]{32,}", 2.5, Never, "PayPal: Braintree access tokens";
    "shopify-token" ["shpat_", "shpca_", "shppa_", "shpss_", "shptka_"] r"shp(?:at|ca|pa|ss|tka)_[a-fA-F0-9]{30,}", 2.5, Never, "shopify-access-token and its kin";
    "shippo-token" ["shippo_"] r"shippo_(?:live|test)_[a-fA-F0-9]{40,}", 2.0, Never, "shippo-api-token";
    "duffel-token" ["duffel_"] r"duffel_(?:test|live)_[A-Za-z0-9_=-]{40,}", 2.5, Never, "duffel-api-token";
    "easypost-token" ["EZAK", "EZTK"] r"\bEZ[AT]K[A-Za-z0-9]{54}\b", 3.0, Never, "easypost-api-token, easypost-test-api-token";
    "flutterwave-key" ["FLWSECK", "FLWPUBK"] r"FLW(?:SEC|PUB)K(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?", 2.0, Never, "flutterwave-secret-key and its kin";
    "freemius-key" ["secret_key"] r#"secret_key["']\s*=>\s*["'](sk_\S{20,40})["']"#, 2.0, Never, "freemius-secret-key";
    "maxmind-key" ["_mmk"] before 40 r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", 3.0, Never, "maxmind-license-key";

    // Monitoring and documentation.
    "grafana-token" ["glsa_", "glc_"] r"(?:glsa_[A-Za-z0-9]{30,}(?:_[A-Fa-f0-9]{8})?|\bglc_[A-Za-z0-9+/]{32,}={0,3})", 3.0, Never, "grafana-service-account-token, grafana-cloud-api-token";
    "grafana-token" ["eyJrIjoi"] r"eyJrIjoi[A-Za-z0-9+/_-]{50,}={0,3}", 3.0, Never, "grafana-api-key";
    "sentry-token" ["sntrys_", "sntryu_"] r"sntry[su]_[A-Za-z0-9+/=_]{40,}", 2.5, Never, "sentry-org-token, sentry-user-token";
    "newrelic-key" ["NRAK-", "NRJS-", "NRII-", "NRIQ-"] r"NR(?:AK|JS|II|IQ)-[A-Za-z0-9_-]{19,}", 2.5, Never, "new-relic-user-api-key and its kin";
    "dynatrace-token" ["dt0c01.", "dt0s01."] r"(?i)dt0[cs]0[0-9]\.[a-z0-9]{20,}\.[a-z0-9]{60,}", 3.0, Never, "dynatrace-api-token";
    "posthog-key" ["phx_"] r"phx_[A-Za-z0-9]{40,}", 3.0, Never, "PostHog: personal API keys";
    "launchdarkly-key" ["sdk-", "api-", "mob-"] r"\b(?:sdk|api|mob)-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}", 2.5, Never, "LaunchDarkly: SDK keys";
    "postman-token" ["PMAK-"] r"PMAK-[A-Fa-f0-9]{24}-[A-Fa-f0-9]{30,}", 2.5, Never, "postman-api-token";
    "readme-token" ["rdme_"] r"rdme_[a-z0-9]{60,}", 2.5, Never, "readme-api-token";
    "linear-token" ["lin_api_", "lin_oauth_"] r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}", 2.5, Never, "linear-api-key";
    "notion-token" ["ntn_"] r"\bntn_[0-9]{9,}[A-Za-z0-9]{30,}", 3.0, Never, "notion-api-token";
    "notion-token" ["secret_"] r"\bsecret_[A-Za-z0-9]{43}\b", 3.5, Name, "Notion: integrations";
    "airtable-token" ["pat"] r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{60,}", 3.0, Never, "airtable-personnal-access-token";
    "hubspot-token" ["pat-na", "pat-eu"] r"\bpat-(?:na|eu)[0-9]-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}", 2.5, Never, "HubSpot: private apps";
    "figma-token" ["figd_"] r"figd_[A-Za-z0-9_-]{36,}", 3.0, Never, "Figma: access tokens";
    "frameio-token" ["fio-u-"] r"fio-u-[A-Za-z0-9_=-]{60,}", 3.0, Never, "frameio-api-token";
    "adobe-secret" ["p8e-", "p8-"] r"\bp8e?-[A-Za-z0-9]{32,}", 3.0, Never, "adobe-client-secret";
    "authress-key" [".acc_", ".acc-"] before 50 r"\b(?:sc|ext|scauth|authress)_(?i)[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[a-z0-9+/_=-]{30,}", 3.0, Never, "authress-service-client-access-key";
    "facebook-token" ["EAA"] before 1 r"(?:^|[^A-Za-z0-9+/])(EAA[A-Z][A-Za-z0-9]{80,})", 3.5, Never, "facebook-page-access-token";
    "facebook-token" ["0|", "1|", "2|", "3|", "4|", "5|", "6|", "7|", "8|", "9|", "0%7c", "1%7c", "2%7c", "3%7c", "4%7c", "5%7c", "6%7c", "7%7c", "8%7c", "9%7c"] before 16 r"(?i)\b[0-9]{15,16}(?:\||%7c)[0-9a-z_-]{27,40}\b", 3.2, Never, "facebook-access-token";
    "intra42-secret" ["s-s4t2"] r"s-s4t2(?:ud|af)-[A-Fa-f0-9]{60,}", 2.5, Never, "intra42-client-secret";

    // Formats that many issuers use.
    "jwt" ["eyJ"] r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*\.?[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_/\\=-]*)*", 0.0, Never, "RFC 7519";
    "jwt" [".ey"] before 800 r"\bey[A-Za-z0-9]{17,}\.ey[A-Za-z0-9/\\_-]{17,}\.(?:[A-Za-z0-9/\\_-]{10,}={0,2})?", 3.0, Never, "jwt";
    "jwt" ["ZXlK"] r"\bZXlK[A-Za-z0-9+/_-]{40,}={0,2}", 3.0, Never, "jwt-base64";
    "private-key" ["LS0tLS1CRUdJTi", "0tLS0tQkVHSU4", "tLS0tLUJFR0lO"] r"(?:LS0tLS1CRUdJTi|0tLS0tQkVHSU4|tLS0tLUJFR0lO)[A-Za-z0-9+/=_-]{20,}", 0.0, NoKey, "RFC 7468 in base64";
    "private-key" ["MII", "MHcCAQEE", "MC4CAQAw", "MIGHAgEA", "b3BlbnNzaC1rZXkt"] r"\b(?:MI[IGH]|MHcC|MC4C|b3Bl)[A-Za-z0-9+/]{40,}={0,2}", 0.0, NoKey, "RFC 5208, RFC 8017, RFC 5915 in base64";
    "authorization-header" ["authorization"] r#"(?i)authorization[ \t"'`\\:=,(\[\])>]{1,12}(?:bearer|basic|token|apikey|negotiate)[ \t]+(?:["']([A-Za-z0-9][A-Za-z0-9._~+/=:-]{5,})|([A-Za-z0-9._~+/=:-]{6,}))"#, 0.0, LowerWord, "RFC 9110";
    "authorization-header" ["authorization"] r#"(?i)authorization["'`\\]{0,2}[ \t]*[:=,][ \t]*\\?["'`]?(?:[a-z-]{1,20}[ \t]+)?([A-Za-z0-9._~+/=-]{16,})"#, 2.5, Name, "RFC 9110, other schemes and none";
    "authorization-header" ["bearer"] r"(?i)bearer[ \t]+([A-Za-z0-9._~+/=-]{16,})", 2.5, Name, "RFC 6750";
    "cookie" ["cookie"] r#"(?i)cookie["']?[ \t]*[:=][ \t]*["'`]?([A-Za-z0-9_.%-]{1,64}=[^\r\n"'`]{12,2000})"#, 0.0, NothingRandom, "RFC 6265";
    // The group is greedy, so that it takes all of a password with an unescaped `@`.
    "url-credentials" ["://"] r#"://[^\s/:@"'`<>]*:([^\s/"'`<>]+)@"#, 0.0, Port, "RFC 3986";
    // Hosts of repositories accept a token as the user name, with or without a password.
    "url-credentials" ["://"] r#"://([^\s/:@"'`<>]{16,})(?::[^\s/"'`<>]*)?@"#, 2.5, NothingRandom, "RFC 3986";

    // Passwords as arguments of commands.
    "command-password" ["curl"] r#"\bcurl\b(?:[^\r\n|;\\]|\\\r?\n|\\.){0,600}?\s(?:-u|--user|--proxy-user|-U)[ \t=]{0,5}(?:"[^":\r\n]{0,60}:([^"\r\n]+)"|'[^':\r\n]{0,60}:([^'\r\n]+)'|[^\s"':]{0,60}:([^\s"']+))"#, 0.0, Placeholder, "curl-auth-user";
    "command-password" ["wget", "http"] r#"\b(?:https?|wget|httpie)[ \t][^\r\n|;]{0,300}?[ \t](?:-a|--auth|--(?:http-)?password=)[ \t=]{0,5}["']?([^\s"']{4,})"#, 0.0, Placeholder, "HTTPie, wget: manuals";
    "command-password" ["mysql", "mariadb"] r#"\b(?:mysql|mariadb)[a-z-]*[ \t][^\r\n|;]{0,300}?-p(?:"([^"\r\n]{4,})"|'([^'\r\n]{4,})'|([^\s"'-][^\s"']{3,}))"#, 0.0, Placeholder, "mysql: manual";
    "command-password" ["sshpass", "docker login", "podman login", "helm registry login", "oc login", "az login", "sqlcmd"] r#"\b(?:sshpass|docker login|podman login|helm registry login|oc login|az login|sqlcmd)\b[^\r\n|;]{0,300}?[ \t](?:(?:-p|-P|-a)[ \t=]*|--pass(?:word)?[ \t=]+)(?:"([^"\r\n]{4,})"|'([^'\r\n]{4,})'|([^\s"'-][^\s"']{3,}))"#, 0.0, Placeholder, "manuals of the commands";
    "command-password" ["redis-cli"] r#"\bredis-cli\b[^\r\n|;]{0,300}?[ \t](?:-a[ \t=]*|--pass[ \t=]+)(?:"([^"\r\n]{4,})"|'([^'\r\n]{4,})'|([^\s"'-][^\s"']{3,}))"#, 0.0, Placeholder, "redis-cli: manual";
    "command-password" ["htpasswd"] r#"\bhtpasswd[ \t]+-[a-zA-Z]*b[a-zA-Z]*[ \t]+\S+[ \t]+\S+[ \t]+(?:"([^"\r\n]{4,})"|'([^'\r\n]{4,})'|([^\s"']{4,}))"#, 0.0, Placeholder, "htpasswd: manual";
    "command-password" ["net user"] r#"(?i)\bnet user[ \t]+\S+[ \t]+([^\s/"']{6,})[ \t]+/add"#, 0.0, Placeholder, "net user: manual";
    "command-password" ["smbclient", "rpcclient", "net rpc"] r#"\b(?:smbclient|rpcclient|net rpc)\b[^\r\n|;]{0,300}?[ \t](?:-U|--user)[ \t=]*["']?[^\s%"']{1,60}%([^\s"']{4,})"#, 0.0, Placeholder, "smbclient: manual";
    "command-password" ["ldap"] r#"\bldap(?:search|add|modify|delete|passwd|whoami|compare|modrdn)\b[^\r\n|;]{0,300}?[ \t]-w[ \t]*(?:"([^"\r\n]{4,})"|'([^'\r\n]{4,})'|([^\s"'-][^\s"']{3,}))"#, 0.0, Placeholder, "ldapsearch: manual";
    "command-password" ["plink", "pscp", "psftp", "putty"] r#"(?i)\b(?:plink|pscp|psftp|putty)(?:\.exe)?\b[^\r\n|;]{0,300}?[ \t]-pw[ \t]+["']?([^\s"']{4,})"#, 0.0, Placeholder, "PuTTY: manual";
    "command-password" ["zip", "7z"] r#"\b(?:(?:un)?zip\b[^\r\n|;]{0,300}?[ \t]-P[ \t]*|7z[ar]?\b[^\r\n|;]{0,300}?[ \t]-p)["']?([^\s"'-][^\s"']{3,})"#, 0.0, Placeholder, "zip, 7z: manuals";
    "command-password" ["sqlplus", "oracle:thin:", "oracle:oci:"] r#"(?i)(?:\bsqlplus[ \t]+(?:-[a-z]+[ \t]+)*|oracle:(?:thin|oci):)["']?[a-z][a-z0-9_$#]{0,30}/([^\s/@"']{4,})@"#, 0.0, Placeholder, "SQL*Plus: manual";
    "redis-password" ["requirepass", "masterauth"] r#"\b(?:requirepass|masterauth)[ \t]+["']?([^\s"'}\]]{5,}[^\s"'}\],.;])(?:[\s"'}\]]|$)"#, 0.0, Placeholder, "Redis: redis.conf";
    "snmp-community" ["snmp-server community"] r"snmp-server community[ \t]+(\S{4,})", 0.0, Placeholder, "cisco: IOS command reference";
    "sql-password" ["identified"] r#"\bIDENTIFIED[ \t]+(?:WITH[ \t]+\S+[ \t]+)?(?:BY|AS)[ \t]+(?:PASSWORD[ \t]+)?(?:'([^'\r\n]+)'|"([^"\r\n]+)")"#, 0.0, Placeholder, "MySQL, Oracle: CREATE USER";
    // In lower case this may also be a phrase, for example «commits identified by "fixup"».
    "sql-password" ["identified"] r#"(?i)\bidentified[ \t]+(?:with[ \t]+\S+[ \t]+)?by[ \t]+(?:password[ \t]+)?(?:'([^'\r\n]+)'|"([^"\r\n]+)")"#, 0.0, LowerWord, "MySQL, Oracle: CREATE USER";
    "netrc" ["machine"] r#"\bmachine[ \t]+\S+\s+(?:(?:login|account)[ \t]+\S+\s+){0,2}password[ \t]+("[^"\r\n]+"|\S+)"#, 0.0, Sentence, "netrc(5)";
    "netrc" ["login"] r#"\blogin[ \t]+\S+\s+password[ \t]+("[^"\r\n]+"|\S+)"#, 0.0, Sentence, "netrc(5)";
    "call-password" ["auth=(", "auth = (", "auth=[", "basicauth(", "basic_auth(", "digestauth(", ".login(", "mysqli(", "mysqli_connect(", "mysql_connect(", "networkcredential(", "passwordcredentials("] r#"(?i)(?:auth ?= ?[(\[]|(?:basic|digest)_?auth\(|\.login\(|networkcredential\(|passwordcredentials\(|mysqli?(?:_connect)?\([^,\r\n()]{1,80},)[ \t]*[^,\r\n()]{1,80},[ \t]*(?:"([^"\r\n]{6,})"|'([^'\r\n]{6,})')"#, 0.0, NoPassword, "Requests, Go's net/http, PHP, .NET, Apache HttpClient: manuals";
    "command-password" ["securestring"] r#"(?i)securestring[ \t]+(?:-string[ \t]+)?(?:"([^"\r\n]{4,})"|'([^'\r\n]{4,})')"#, 0.0, Placeholder, "PowerShell: ConvertTo-SecureString";
    "private-key" ["\"d\"", "\"p\"", "\"q\"", "\"dp\"", "\"dq\"", "\"qi\"", "\"k\""] r#"\\?"(?:d|p|q|dp|dq|qi|k)\\?"[ \t]*:[ \t]*\\?"([A-Za-z0-9_-]{40,})\\?""#, 3.5, Name, "RFC 7517";
    "docker-auth" ["dockerconfigjson", "dockercfg"] r#"docker(?:configjson|cfg)["']?[ \t]*[:=][ \t]*["']?([A-Za-z0-9+/]{20,}={0,2})"#, 2.5, Never, "Kubernetes: secrets of registries";
    "aws-signature" ["x-amz-signature=", "x-goog-signature="] r"(?i)x-(?:amz|goog)-signature=([a-f0-9]{64,})", 2.5, Never, "AWS, Google Cloud: signed addresses";
    "seed-phrase" ["mnemonic", "seed", "recovery"] r#"(?i)\b(?:mnemonic|(?:seed|recovery)[ _-]?(?:phrase|words))(?:_[a-z]{1,12})?["'`]?[ \t]*(?:[:=]|=>|:=)[ \t]*["'`]?((?-i:(?:[a-z]{3,8}[ \t]){11,23}[a-z]{3,8}))\b"#, 0.0, Never, "BIP 39";
    "secret-assignment" ["contraseña", "contrasenya", "密码", "密碼", "口令", "пароль", "Пароль", "lösenord", "hasło", "パスワード", "비밀번호"] r#"(?i)(?:contraseña|contrasenya|密码|密碼|口令|пароль|lösenord|hasło|パスワード|비밀번호)["'`\]]{0,2}[ \t]*(?::=|=>|[:=：])[ \t]*["'`]?([^\s"'`,;]{6,})"#, 0.0, NoPassword, "names of passwords in other scripts";
    "bundler-credential" ["BUNDLE_"] r#"BUNDLE_[A-Z0-9_]{2,60}__[A-Z]{2,10}["']?[ \t]*[:=][ \t]*["']?([^\s"':\\]{2,60}:[^\s"'\\]{4,60})"#, 0.0, Placeholder, "sidekiq-secret";
    "pgpass" ["5432:"] before 80 r"(?m)^[^\s:]+:5432:[^\s:]+:[^\s:]+:(\S+)$", 0.0, Placeholder, "PostgreSQL: the password file";
};

/// Keys that their issuer has published, from the samples of firebase-android-sdk. Source: gcp-api-key.
pub(crate) const PUBLISHED: &[&str] = &[
    "AIzaSyabcdefghijklmnopqrstuvwxyz1234567",
    "AIzaSyAnLA7NfeLquW1tJFpx_eQCxoX-oo6YyIs",
    "AIzaSyCkEhVjf3pduRDt6d1yKOMitrUEke8agEM",
    "AIzaSyDMAScliyLx7F0NPDEJi1QmyCgHIAODrlU",
    "AIzaSyD3asb-2pEZVqMkmL6M9N6nHZRR_znhrh0",
    "AIzayDNSXIbFmlXbIE6mCzDLQAqITYefhixbX4A",
    "AIzaSyAdOS2zB6NCsk1pCdZ4-P6GBdi_UUPwX7c",
    "AIzaSyASWm6HmTMdYWpgMnjRBjxcQ9CKctWmLd4",
    "AIzaSyANUvH9H9BsUccjsu2pCmEkOPjjaXeDQgY",
    "AIzaSyA5_iVawFQ8ABuTZNUdcwERLJv_a_p4wtM",
    "AIzaSyA4UrcGxgwQFTfaI3no3t7Lt1sjmdnP5sQ",
    "AIzaSyDSb51JiIcB6OJpwwMicseKRhhrOq1cS7g",
    "AIzaSyBF2RrAIm4a0mO64EShQfqfd2AFnzAvvuU",
    "AIzaSyBcE-OOIbhjyR83gm4r2MFCu4MJmprNXsw",
    "AIzaSyB8qGxt4ec15vitgn44duC5ucxaOi4FmqE",
    "AIzaSyA8vmApnrHNFE0bApF4hoZ11srVL_n0nvY",
];
