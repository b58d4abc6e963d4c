//! The table of extras. An extra is an addition to a client's configuration other than the entry, made only
//! on request.
//!
//! The formats were tested with the clients or read in their sources in November 2026, where we had them. All
//! others follow the documentation. Each row cites its source.

use super::clients::SetupScope;

/// The kinds of extras.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExtraKind {
    Permission,
    Variables,
    Instructions,
    Skill,
    Agent,
    Hooks,
}

impl ExtraKind {
    /// All kinds, in the order in which they are added.
    pub(crate) const ALL: [Self; 6] =
        [Self::Permission, Self::Variables, Self::Instructions, Self::Skill, Self::Agent, Self::Hooks];

    /// Returns the name as an argument, the help text, and the words for "The client does not support …".
    fn words(self) -> [&'static str; 3] {
        match self {
            Self::Permission => [
                "permission",
                "Permission to call Forage's tools without asking",
                "permission to call tools without asking",
            ],
            Self::Variables => [
                "variables",
                "Names, not values, of Forage's variables that are set: keys, base URLs",
                "names of variables to pass on",
            ],
            Self::Instructions => [
                "instructions",
                "Lines for AGENTS.md, CLAUDE.md, GEMINI.md or the like on when to use Forage's tools",
                "instruction files",
            ],
            Self::Skill => ["skill", "The same as a skill", "skills"],
            Self::Agent => ["agent", "A sub-agent that searches", "sub-agents"],
            Self::Hooks => [
                "hooks",
                "Hooks that advise and never block: a sentence at the start, and the best files for the words of a grep",
                "hooks that can advise",
            ],
        }
    }

    pub(crate) fn name(self) -> &'static str {
        self.words()[0]
    }

    pub(crate) fn help(self) -> &'static str {
        self.words()[1]
    }

    pub(crate) fn about(self) -> &'static str {
        self.words()[2]
    }
}

/// One extra of one client.
#[derive(Debug)]
pub(crate) struct Extra {
    pub(crate) with: ExtraKind,
    /// The paths of the files in their displayed form, by scope. `None` means that the client has no file in
    /// that scope. A field of the entry has neither path, since it is in the entry's own file.
    user: Option<&'static str>,
    project: Option<&'static str>,
    pub(super) how: ExtraTarget,
}

/// How to add an extra.
#[derive(Debug)]
pub(super) enum ExtraTarget {
    Entry(ExtraField),
    Json(&'static [ExtraPiece]),
    /// A file that Forage owns as a whole.
    File(OwnFileText),
    /// Lines between marks. Many clients read a project's `AGENTS.md`, so we use tool names without a prefix
    /// there.
    Block,
}

/// A field of the entry.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExtraField {
    True(&'static str),
    /// A list of tool names.
    Tools(&'static str),
    /// A list of variable names.
    Variables(&'static str),
    /// An object of variables. The second string is the client's syntax for the value of a variable `NAME`,
    /// e.g. `${NAME}`.
    References(&'static str, &'static str),
}

/// A value in a JSON file, inside the objects of its path.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExtraPiece {
    /// A list element.
    Text(&'static [&'static str], &'static str),
    /// One list element per tool, with a prefix for its name.
    Tools(&'static [&'static str], &'static str),
    /// A list element that is an object of strings.
    Fields(&'static [&'static str], &'static [(&'static str, &'static str)]),
    /// A member with a string value.
    Member(&'static [&'static str], &'static str, &'static str),
    /// A version number that the client requires in its file. It is inserted last into a new file, so that it
    /// becomes the first line. This distinguishes our file from one that the user wrote. We only remove it
    /// together with the file.
    Version(&'static str, u64),
    /// A list element that runs `forage hook`.
    Hook(Hook),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Hook {
    /// The path of the list that contains the hook.
    pub(super) path: &'static [&'static str],
    pub(super) event: HookEvent,
    pub(super) matcher: Option<&'static str>,
    pub(super) form: HookForm,
}

/// The events at which a client runs a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookEvent {
    SessionStart,
    Search,
}

impl HookEvent {
    /// Returns the argument of `forage hook`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::Search => "search",
        }
    }
}

/// The formats in which clients write a hook.
#[derive(Clone, Copy, Debug)]
pub(super) enum HookForm {
    /// Claude Code's format, with this time limit in seconds. The shell is POSIX or cmd.
    Claude(u64),
    /// The same format, with a time limit in milliseconds. The shell is POSIX or PowerShell.
    Gemini(u64),
    Copilot,
    Cursor,
}

/// The content of a file that Forage owns.
#[derive(Clone, Copy, Debug)]
pub(super) enum OwnFileText {
    /// The instructions, with these lines of front matter.
    Rule(&'static [&'static str]),
    Skill,
    Agent(AgentForm),
}

/// The formats in which clients write a sub-agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentForm {
    Claude,
    Codex,
    Gemini,
    Qwen,
    Copilot,
    Opencode,
    Cursor,
}

impl Extra {
    /// Returns the path of the file in its displayed form.
    pub(crate) fn place(&self, scope: SetupScope) -> Option<&'static str> {
        match scope {
            SetupScope::User => self.user,
            SetupScope::Project => self.project,
        }
    }

    /// Describes the position in the file in a few words.
    pub(crate) fn about(&self) -> String {
        match &self.how {
            ExtraTarget::Entry(
                ExtraField::True(key)
                | ExtraField::Tools(key)
                | ExtraField::Variables(key)
                | ExtraField::References(key, _),
            ) => format!("`{key}` in the entry"),
            ExtraTarget::Json(pieces) => {
                let mut keys: Vec<String> = Vec::new();
                for piece in *pieces {
                    let key = match piece {
                        ExtraPiece::Text(path, _)
                        | ExtraPiece::Tools(path, _)
                        | ExtraPiece::Fields(path, _) => path.join("."),
                        ExtraPiece::Member(path, name, _) => format!("{}.{name}", path.join(".")),
                        ExtraPiece::Hook(hook) => hook.path.join("."),
                        ExtraPiece::Version(..) => continue,
                    };
                    if !keys.contains(&key) {
                        keys.push(key);
                    }
                }
                keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
            }
            ExtraTarget::File(_) => "a file of its own".to_owned(),
            ExtraTarget::Block => "lines between marks".to_owned(),
        }
    }
}

const fn extra(
    with: ExtraKind,
    user: Option<&'static str>,
    project: Option<&'static str>,
    how: ExtraTarget,
) -> Extra {
    Extra { with, user, project, how }
}

const fn entry(with: ExtraKind, field: ExtraField) -> Extra {
    extra(with, None, None, ExtraTarget::Entry(field))
}

const fn block(user: Option<&'static str>, project: Option<&'static str>) -> Extra {
    extra(Instructions, user, project, ExtraTarget::Block)
}

const fn rule(
    front: &'static [&'static str],
    user: Option<&'static str>,
    project: Option<&'static str>,
) -> Extra {
    extra(Instructions, user, project, ExtraTarget::File(OwnFileText::Rule(front)))
}

const fn skill(user: Option<&'static str>, project: Option<&'static str>) -> Extra {
    extra(Skill, user, project, ExtraTarget::File(OwnFileText::Skill))
}

const fn agent(form: AgentForm, user: Option<&'static str>, project: Option<&'static str>) -> Extra {
    extra(Agent, user, project, ExtraTarget::File(OwnFileText::Agent(form)))
}

use ExtraKind::{Agent, Hooks, Instructions, Permission, Skill, Variables};

const CLAUDE: HookForm = HookForm::Claude(5);
const BEGIN: &[&str] = &["hooks", "SessionStart"];
const BEFORE: &[&str] = &["hooks", "PreToolUse"];

const fn hook(
    path: &'static [&'static str],
    event: HookEvent,
    matcher: Option<&'static str>,
    form: HookForm,
) -> ExtraPiece {
    ExtraPiece::Hook(Hook { path, event, matcher, form })
}

/// <https://code.claude.com/docs/en/settings>, /memory, /skills, /sub-agents, /hooks; for the format of
/// hooks, 2.1.330.
static CLAUDE_CODE: &[Extra] = &[
    extra(
        Permission,
        Some("~/.claude/settings.json"),
        Some(".claude/settings.json"),
        ExtraTarget::Json(&[ExtraPiece::Text(&["permissions", "allow"], "mcp__forage")]),
    ),
    block(Some("~/.claude/CLAUDE.md"), Some("CLAUDE.md")),
    skill(Some("~/.claude/skills/forage/SKILL.md"), Some(".claude/skills/forage/SKILL.md")),
    agent(
        AgentForm::Claude,
        Some("~/.claude/agents/forage-search.md"),
        Some(".claude/agents/forage-search.md"),
    ),
    extra(
        Hooks,
        Some("~/.claude/settings.json"),
        Some(".claude/settings.json"),
        ExtraTarget::Json(&[
            hook(BEGIN, HookEvent::SessionStart, None, CLAUDE),
            hook(BEFORE, HookEvent::Search, Some("Bash|Grep|Glob"), CLAUDE),
        ]),
    ),
];

/// <https://developers.openai.com/codex/config-reference>, /hooks, /skills, /subagents; 0.169.0. Codex needs
/// no permission because our tools declare that they are read-only.
static CODEX: &[Extra] = &[
    entry(Variables, ExtraField::Variables("env_vars")),
    block(Some("~/.codex/AGENTS.md"), Some("AGENTS.md")),
    skill(Some("~/.codex/skills/forage/SKILL.md"), Some(".agents/skills/forage/SKILL.md")),
    agent(
        AgentForm::Codex,
        Some("~/.codex/agents/forage-search.toml"),
        Some(".codex/agents/forage-search.toml"),
    ),
    extra(
        Hooks,
        Some("~/.codex/hooks.json"),
        Some(".codex/hooks.json"),
        ExtraTarget::Json(&[
            hook(BEGIN, HookEvent::SessionStart, None, CLAUDE),
            hook(BEFORE, HookEvent::Search, Some("Bash"), CLAUDE),
        ]),
    ),
];

/// The documentation in its package, 0.61.0: tools/mcp-server.md, cli/gemini-md.md, cli/creating-skills.md,
/// core/subagents.md, hooks/reference.md. The hook must run after the tool, since the model sees the output
/// of no other.
static GEMINI_CLI: &[Extra] = &[
    entry(Permission, ExtraField::True("trust")),
    entry(Variables, ExtraField::References("env", "$NAME")),
    block(Some("~/.gemini/GEMINI.md"), Some("GEMINI.md")),
    skill(Some("~/.gemini/skills/forage/SKILL.md"), Some(".gemini/skills/forage/SKILL.md")),
    agent(
        AgentForm::Gemini,
        Some("~/.gemini/agents/forage-search.md"),
        Some(".gemini/agents/forage-search.md"),
    ),
    extra(
        Hooks,
        Some("~/.gemini/settings.json"),
        Some(".gemini/settings.json"),
        ExtraTarget::Json(&[
            hook(BEGIN, HookEvent::SessionStart, None, HookForm::Gemini(5_000)),
            hook(
                &["hooks", "AfterTool"],
                HookEvent::Search,
                Some("run_shell_command|grep_search|search_file_content|glob"),
                HookForm::Gemini(5_000),
            ),
        ]),
    ),
];

/// The documentation in its package, 0.24.4: features/mcp.md, skills.md, sub-agents.md, hooks.md. Our hook
/// runs after the tool and only adds text. A hook before the tool would also have to decide if the tool runs.
static QWEN: &[Extra] = &[
    entry(Permission, ExtraField::True("trust")),
    block(Some("~/.qwen/QWEN.md"), Some("QWEN.md")),
    skill(Some("~/.qwen/skills/forage/SKILL.md"), Some(".qwen/skills/forage/SKILL.md")),
    agent(AgentForm::Qwen, Some("~/.qwen/agents/forage-search.md"), Some(".qwen/agents/forage-search.md")),
    extra(
        Hooks,
        Some("~/.qwen/settings.json"),
        Some(".qwen/settings.json"),
        ExtraTarget::Json(&[
            hook(BEGIN, HookEvent::SessionStart, None, CLAUDE),
            hook(
                &["hooks", "PostToolUse"],
                HookEvent::Search,
                Some("run_shell_command|grep_search|glob"),
                CLAUDE,
            ),
        ]),
    ),
];

/// <https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot> and
/// /reference/hooks-configuration; 1.0.102. Copilot withholds some keys from servers, unless the entry names
/// them (see `launch::COPILOT`).
static COPILOT: &[Extra] = &[
    entry(Variables, ExtraField::References("env", "${NAME}")),
    block(Some("~/.copilot/copilot-instructions.md"), None),
    skill(Some("~/.copilot/skills/forage/SKILL.md"), None),
    agent(AgentForm::Copilot, Some("~/.copilot/agents/forage-search.agent.md"), None),
    extra(
        Hooks,
        Some("~/.copilot/hooks/forage.json"),
        None,
        ExtraTarget::Json(&[
            ExtraPiece::Version("version", 1),
            hook(&["hooks", "sessionStart"], HookEvent::SessionStart, None, HookForm::Copilot),
            hook(&["hooks", "preToolUse"], HookEvent::Search, None, HookForm::Copilot),
        ]),
    ),
];

/// <https://opencode.ai/docs/permissions/>, /rules/, /skills/, /agents/; 1.18.33. There are no hooks here
/// because they would have to be JavaScript programs.
static OPENCODE: &[Extra] = &[
    extra(
        Permission,
        Some("~/.config/opencode/opencode.json"),
        Some("opencode.json"),
        ExtraTarget::Json(&[ExtraPiece::Member(&["permission"], "forage_*", "allow")]),
    ),
    block(Some("~/.config/opencode/AGENTS.md"), Some("AGENTS.md")),
    skill(Some("~/.config/opencode/skills/forage/SKILL.md"), Some(".opencode/skills/forage/SKILL.md")),
    agent(
        AgentForm::Opencode,
        Some("~/.config/opencode/agents/forage-search.md"),
        Some(".opencode/agents/forage-search.md"),
    ),
];

/// <https://cursor.com/docs/rules>, /skills, /subagents, /hooks. Cursor keeps permissions and the user's own
/// rules in its settings, not in files.
static CURSOR: &[Extra] = &[
    rule(&["description: Searching code", "alwaysApply: true"], None, Some(".cursor/rules/forage.mdc")),
    skill(Some("~/.cursor/skills/forage/SKILL.md"), Some(".cursor/skills/forage/SKILL.md")),
    agent(
        AgentForm::Cursor,
        Some("~/.cursor/agents/forage-search.md"),
        Some(".cursor/agents/forage-search.md"),
    ),
    extra(
        Hooks,
        Some("~/.cursor/hooks.json"),
        Some(".cursor/hooks.json"),
        ExtraTarget::Json(&[
            ExtraPiece::Version("version", 1),
            hook(&["hooks", "sessionStart"], HookEvent::SessionStart, None, HookForm::Cursor),
            hook(&["hooks", "postToolUse"], HookEvent::Search, Some("Shell|Grep|Glob"), HookForm::Cursor),
        ]),
    ),
];

/// <https://code.visualstudio.com/docs/copilot/customization/custom-instructions>, /agent-skills,
/// /custom-agents.
static VSCODE: &[Extra] = &[
    rule(
        &["applyTo: \"**\""],
        Some("~/.config/Code/User/prompts/forage.instructions.md"),
        Some(".github/instructions/forage.instructions.md"),
    ),
    skill(None, Some(".github/skills/forage/SKILL.md")),
    agent(AgentForm::Copilot, None, Some(".github/agents/forage-search.agent.md")),
];

/// The extras of each client.
static EXTRAS: &[(&str, &[Extra])] = &[
    ("claude-code", CLAUDE_CODE),
    ("codex", CODEX),
    ("gemini-cli", GEMINI_CLI),
    ("qwen", QWEN),
    ("copilot", COPILOT),
    ("opencode", OPENCODE),
    ("cursor", CURSOR),
    ("vscode", VSCODE),
    // https://zed.dev/docs/ai/rules
    ("zed", &[block(None, Some("AGENTS.md"))]),
    // https://block.github.io/goose/docs/guides/context-engineering/using-goosehints
    ("goose", &[block(Some("~/.config/goose/.goosehints"), None)]),
    // https://docs.cline.bot/mcp/configuring-mcp-servers, /features/cline-rules
    (
        "cline",
        &[
            entry(Permission, ExtraField::Tools("autoApprove")),
            rule(&[], Some("~/Documents/Cline/Rules/forage.md"), None),
        ],
    ),
    // https://docs.continue.dev/customize/deep-dives/rules
    (
        "continue",
        &[rule(
            &["name: Searching code", "alwaysApply: true"],
            Some("~/.continue/rules/forage.md"),
            Some(".continue/rules/forage.md"),
        )],
    ),
    // https://docs.windsurf.com/windsurf/cascade/memories
    ("windsurf", &[block(Some("~/.codeium/windsurf/memories/global_rules.md"), None)]),
    // The configuration reference in the program, 7.7.7.
    (
        "kilo",
        &[
            extra(
                Permission,
                Some("~/.config/kilo/kilo.json"),
                Some("kilo.json"),
                ExtraTarget::Json(&[ExtraPiece::Member(&["permission"], "forage_*", "allow")]),
            ),
            rule(&[], Some("~/.kilo/rules/forage.md"), Some(".kilo/rules/forage.md")),
        ],
    ),
    // The instructions of the program, 2.1.0.
    ("kimi", &[block(None, Some("AGENTS.md"))]),
    // https://kiro.dev/docs/mcp/configuration/, /docs/steering/
    (
        "kiro",
        &[
            entry(Permission, ExtraField::Tools("autoApprove")),
            rule(
                &["inclusion: always"],
                Some("~/.kiro/steering/forage.md"),
                Some(".kiro/steering/forage.md"),
            ),
        ],
    ),
    // https://junie.jetbrains.com/docs/guidelines-and-memory.html
    ("junie", &[block(None, Some(".junie/AGENTS.md"))]),
    // https://ampcode.com/manual#permissions, #AGENTS.md
    (
        "amp",
        &[
            extra(
                Permission,
                Some("~/.config/amp/settings.json"),
                Some(".amp/settings.json"),
                ExtraTarget::Json(&[ExtraPiece::Fields(
                    &["amp.permissions"],
                    &[("tool", "mcp__forage__*"), ("action", "allow")],
                )]),
            ),
            block(Some("~/.config/amp/AGENTS.md"), Some("AGENTS.md")),
        ],
    ),
    // https://github.com/charmbracelet/crush#allowing-tools, #initialization
    (
        "crush",
        &[
            extra(
                Permission,
                Some("~/.config/crush/crush.json"),
                Some("crush.json"),
                ExtraTarget::Json(&[ExtraPiece::Tools(&["permissions", "allowed_tools"], "mcp_forage_")]),
            ),
            block(Some("~/.config/crush/CRUSH.md"), Some("AGENTS.md")),
        ],
    ),
];

/// Looks up the extras of a client.
pub(crate) fn extras_of(client: &str) -> &'static [Extra] {
    EXTRAS.iter().find(|(name, _)| *name == client).map_or(&[], |(_, extras)| extras)
}

/// Returns a note for users who install hooks.
pub(crate) fn hooks_remark(client: &str) -> Option<&'static str> {
    // As of 0.169.0, `codex exec` skips untrusted hooks silently.
    (client == "codex").then_some(
        "Codex only runs hooks that you have trusted: start `codex`, which asks you about new ones. Until then it skips them, \
         and `codex exec` does so silently.",
    )
}

/// Lists the clients in the table.
#[cfg(test)]
pub(super) fn clients() -> impl Iterator<Item = &'static str> {
    EXTRAS.iter().map(|(name, _)| *name)
}
