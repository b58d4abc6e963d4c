//! What a client takes beside the entry, each only where it is asked for: the table.
//!
//! Where clients were at hand, the forms were tried or read in them, in November 2026; else they are those of their
//! documentation. The sources stand beside the rows.

use super::clients::SetupScope;

/// What can be asked for beside the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum With {
    Permission,
    Variables,
    Instructions,
    Skill,
    Agent,
    Hooks,
}

impl With {
    /// In the order in which they are put in.
    pub(crate) const ALL: [Self; 6] =
        [Self::Permission, Self::Variables, Self::Instructions, Self::Skill, Self::Agent, Self::Hooks];

    /// Its name as an argument, its help, and words to be read after «The client takes no ».
    fn words(self) -> [&'static str; 3] {
        match self {
            Self::Permission => [
                "permission",
                "Permission to call Forage's tools without asking",
                "permission to call tools unasked",
            ],
            Self::Variables => [
                "variables",
                "The names, never the values, of the variables that are set and Forage needs: keys, base URLs",
                "names of variables that it hands on",
            ],
            Self::Instructions => [
                "instructions",
                "A block for AGENTS.md, CLAUDE.md, GEMINI.md or the like: when to take Forage's tools",
                "file of instructions",
            ],
            Self::Skill => ["skill", "The same as a skill", "skill"],
            Self::Agent => ["agent", "A sub-agent that searches", "sub-agent"],
            Self::Hooks => [
                "hooks",
                "Hooks that advise and never block: a sentence at the start, and what Forage ranks for the words of a grep",
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

/// Something that a client takes beside the entry.
#[derive(Debug)]
pub(crate) struct Extra {
    pub(crate) with: With,
    /// The files as people write them; `None` where the client has none of that scope. For a field of the entry they
    /// are that of the entry, and empty here.
    user: Option<&'static str>,
    project: Option<&'static str>,
    pub(super) how: How,
}

/// How it is put in.
#[derive(Debug)]
pub(super) enum How {
    Entry(ExtraField),
    Json(&'static [ExtraPiece]),
    /// A file of Forage's own.
    File(OwnFileText),
    /// Lines between marks. `AGENTS.md` is read by many clients, so that names are as the server has them there.
    Block,
}

/// A field of the entry.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExtraField {
    True(&'static str),
    /// A list with the names of the tools.
    Tools(&'static str),
    /// A list with the names of variables.
    Variables(&'static str),
    /// An object with variables, and how a value refers to one of the client by its `NAME`.
    References(&'static str, &'static str),
}

/// A value in a file of JSON, below these objects.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExtraPiece {
    /// An element of a list.
    Text(&'static [&'static str], &'static str),
    /// An element for each tool, and what stands in front of its name.
    Tools(&'static [&'static str], &'static str),
    /// An element of a list: fields with texts.
    Fields(&'static [&'static str], &'static [(&'static str, &'static str)]),
    /// A member with a text.
    Member(&'static [&'static str], &'static str, &'static str),
    /// A number that the client wants to find in its file. It comes last into one that is made, so that it is its first
    /// line and tells that file from a user's, and goes with the file alone.
    Version(&'static str, u64),
    /// An element that calls `forage hook`.
    Hook(Hook),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Hook {
    /// The lists below which it stands.
    pub(super) path: &'static [&'static str],
    pub(super) event: HookEvent,
    pub(super) matcher: Option<&'static str>,
    pub(super) form: HookForm,
}

/// When a hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookEvent {
    SessionStart,
    Search,
}

impl HookEvent {
    /// The argument of `forage hook`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::Search => "search",
        }
    }
}

/// How a client writes a hook.
#[derive(Clone, Copy, Debug)]
pub(super) enum HookForm {
    /// As Claude Code, with this time limit, for a shell that is POSIX's or cmd.
    Claude(u64),
    /// The same, with milliseconds, for a shell that is POSIX's or PowerShell.
    Gemini(u64),
    Copilot,
    Cursor,
}

/// What a file of Forage's own says.
#[derive(Clone, Copy, Debug)]
pub(super) enum OwnFileText {
    /// The instructions, with lines in front.
    Rule(&'static [&'static str]),
    Skill,
    Agent(AgentForm),
}

/// How a client writes a sub-agent.
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
    /// The file as people write it.
    pub(crate) fn place(&self, scope: SetupScope) -> Option<&'static str> {
        match scope {
            SetupScope::User => self.user,
            SetupScope::Project => self.project,
        }
    }

    /// Where in its file it stands, in a few words.
    pub(crate) fn about(&self) -> String {
        match &self.how {
            How::Entry(
                ExtraField::True(key)
                | ExtraField::Tools(key)
                | ExtraField::Variables(key)
                | ExtraField::References(key, _),
            ) => format!("`{key}` in the entry"),
            How::Json(pieces) => {
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
            How::File(_) => "a file of its own".to_owned(),
            How::Block => "lines between marks".to_owned(),
        }
    }
}

const fn extra(with: With, user: Option<&'static str>, project: Option<&'static str>, how: How) -> Extra {
    Extra { with, user, project, how }
}

const fn entry(with: With, field: ExtraField) -> Extra {
    extra(with, None, None, How::Entry(field))
}

const fn block(user: Option<&'static str>, project: Option<&'static str>) -> Extra {
    extra(Instructions, user, project, How::Block)
}

const fn rule(
    front: &'static [&'static str],
    user: Option<&'static str>,
    project: Option<&'static str>,
) -> Extra {
    extra(Instructions, user, project, How::File(OwnFileText::Rule(front)))
}

const fn skill(user: Option<&'static str>, project: Option<&'static str>) -> Extra {
    extra(Skill, user, project, How::File(OwnFileText::Skill))
}

const fn agent(form: AgentForm, user: Option<&'static str>, project: Option<&'static str>) -> Extra {
    extra(Agent, user, project, How::File(OwnFileText::Agent(form)))
}

use With::{Agent, Hooks, Instructions, Permission, Skill, Variables};

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

/// <https://code.claude.com/docs/en/settings>, /memory, /skills, /sub-agents, /hooks; the hooks' form in 2.1.330.
static CLAUDE_CODE: &[Extra] = &[
    extra(
        Permission,
        Some("~/.claude/settings.json"),
        Some(".claude/settings.json"),
        How::Json(&[ExtraPiece::Text(&["permissions", "allow"], "mcp__forage")]),
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
        How::Json(&[
            hook(BEGIN, HookEvent::SessionStart, None, CLAUDE),
            hook(BEFORE, HookEvent::Search, Some("Bash|Grep|Glob"), CLAUDE),
        ]),
    ),
];

/// <https://developers.openai.com/codex/config-reference>, /hooks, /skills, /subagents; 0.169.0. It asks for no permission:
/// the tools say that they only read.
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
        How::Json(&[
            hook(BEGIN, HookEvent::SessionStart, None, CLAUDE),
            hook(BEFORE, HookEvent::Search, Some("Bash"), CLAUDE),
        ]),
    ),
];

/// The documentation in its package, 0.61.0: tools/mcp-server.md, cli/gemini-md.md, cli/creating-skills.md,
/// core/subagents.md, hooks/reference.md. Only what a hook says after a tool reaches the model.
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
        How::Json(&[
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

/// The documentation in its package, 0.24.4: features/mcp.md, skills.md, sub-agents.md, hooks.md. A hook before a tool has
/// to decide whether it runs; one after it only adds.
static QWEN: &[Extra] = &[
    entry(Permission, ExtraField::True("trust")),
    block(Some("~/.qwen/QWEN.md"), Some("QWEN.md")),
    skill(Some("~/.qwen/skills/forage/SKILL.md"), Some(".qwen/skills/forage/SKILL.md")),
    agent(AgentForm::Qwen, Some("~/.qwen/agents/forage-search.md"), Some(".qwen/agents/forage-search.md")),
    extra(
        Hooks,
        Some("~/.qwen/settings.json"),
        Some(".qwen/settings.json"),
        How::Json(&[
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

/// <https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot> and /reference/hooks-configuration; 1.0.102. It
/// hands on no variable but `PATH` that the entry does not name.
static COPILOT: &[Extra] = &[
    entry(Variables, ExtraField::References("env", "${NAME}")),
    block(Some("~/.copilot/copilot-instructions.md"), None),
    skill(Some("~/.copilot/skills/forage/SKILL.md"), None),
    agent(AgentForm::Copilot, Some("~/.copilot/agents/forage-search.agent.md"), None),
    extra(
        Hooks,
        Some("~/.copilot/hooks/forage.json"),
        None,
        How::Json(&[
            ExtraPiece::Version("version", 1),
            hook(&["hooks", "sessionStart"], HookEvent::SessionStart, None, HookForm::Copilot),
            hook(&["hooks", "preToolUse"], HookEvent::Search, None, HookForm::Copilot),
        ]),
    ),
];

/// <https://opencode.ai/docs/permissions/>, /rules/, /skills/, /agents/; 1.18.33. What it has of hooks are programs in
/// JavaScript.
static OPENCODE: &[Extra] = &[
    extra(
        Permission,
        Some("~/.config/opencode/opencode.json"),
        Some("opencode.json"),
        How::Json(&[ExtraPiece::Member(&["permission"], "forage_*", "allow")]),
    ),
    block(Some("~/.config/opencode/AGENTS.md"), Some("AGENTS.md")),
    skill(Some("~/.config/opencode/skills/forage/SKILL.md"), Some(".opencode/skills/forage/SKILL.md")),
    agent(
        AgentForm::Opencode,
        Some("~/.config/opencode/agents/forage-search.md"),
        Some(".opencode/agents/forage-search.md"),
    ),
];

/// <https://cursor.com/docs/rules>, /skills, /subagents, /hooks. Permissions and the user's own rules are in its settings.
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
        How::Json(&[
            ExtraPiece::Version("version", 1),
            hook(&["hooks", "sessionStart"], HookEvent::SessionStart, None, HookForm::Cursor),
            hook(&["hooks", "postToolUse"], HookEvent::Search, Some("Shell|Grep|Glob"), HookForm::Cursor),
        ]),
    ),
];

/// <https://code.visualstudio.com/docs/copilot/customization/custom-instructions>, /agent-skills, /custom-agents.
static VSCODE: &[Extra] = &[
    rule(
        &["applyTo: \"**\""],
        Some("~/.config/Code/User/prompts/forage.instructions.md"),
        Some(".github/instructions/forage.instructions.md"),
    ),
    skill(None, Some(".github/skills/forage/SKILL.md")),
    agent(AgentForm::Copilot, None, Some(".github/agents/forage-search.agent.md")),
];

/// What each client takes beside the entry.
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
    // https://kilocode.ai/docs/features/mcp/using-mcp-in-kilo-code, /advanced-usage/custom-rules
    (
        "kilo",
        &[
            entry(Permission, ExtraField::Tools("alwaysAllow")),
            rule(&[], Some("~/.kilocode/rules/forage.md"), Some(".kilocode/rules/forage.md")),
        ],
    ),
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
                How::Json(&[ExtraPiece::Fields(
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
                How::Json(&[ExtraPiece::Tools(&["permissions", "allowed_tools"], "mcp_forage_")]),
            ),
            block(Some("~/.config/crush/CRUSH.md"), Some("AGENTS.md")),
        ],
    ),
];

/// What a client takes beside the entry.
pub(crate) fn of(client: &str) -> &'static [Extra] {
    EXTRAS.iter().find(|(name, _)| *name == client).map_or(&[], |(_, extras)| extras)
}

/// What somebody should know who has hooks put in.
pub(crate) fn hooks_remark(client: &str) -> Option<&'static str> {
    // 0.169.0: `codex exec` says nothing of those that it passes over.
    (client == "codex").then_some(
        "Codex runs no hook that you have not trusted: start `codex`, which asks for that when it finds new ones. Until then it \
         passes over them, and `codex exec` does so without a word.",
    )
}

/// The names of the clients that have a row.
#[cfg(test)]
pub(super) fn clients() -> impl Iterator<Item = &'static str> {
    EXTRAS.iter().map(|(name, _)| *name)
}
