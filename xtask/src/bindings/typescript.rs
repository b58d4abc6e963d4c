//! Generates the declarations of the Node package, and its ES module, which must list its names explicitly.

use serde_json::Value;

use super::{Surface, SurfaceMethod, TypeNames, fields, pascal, type_of};

/// The exported names other than those of errors.
const NAMES: [&str; 5] = ["Workspace", "Answer", "Asked", "Each", "ForageError"];

pub(super) fn module(surface: &Surface<'_>) -> String {
    let errors = surface.errors.iter().map(|(code, _)| format!("  {}Error,\n", pascal(code)));
    let names = NAMES.iter().map(|name| format!("  {name},\n")).chain(errors).collect::<String>();
    format!("import forage from \"./index.js\";\n\nexport const {{\n{names}}} = forage;\n")
}

pub(super) fn declarations(surface: &Surface<'_>) -> String {
    let mut text = HEAD.to_owned();
    for (code, description) in &surface.errors {
        let class = format!("{}Error", pascal(code));
        text += &format!(
            "\n{}export declare class {class} extends ForageError {{\n  readonly code: {code:?};\n}}\n",
            documentation(description, "")
        );
    }
    for (name, part) in surface.words() {
        text += &format!("\nexport type {name} = {};\n", type_of(&TypeScript, part, name));
    }
    for (name, part) in surface.records() {
        text += &interface(name, part);
    }
    for method in &surface.methods {
        let own = pascal(method.name);
        text += &interface(&format!("{own}Arguments"), method.arguments);
        text += &interface(&format!("{own}Records"), method.answer);
        text += &format!(
            "\nexport type {own}Answer = Answer<{own}Records> & Readonly<Omit<{own}Records, keyof Answer>>;\n"
        );
    }
    text += WORKSPACE;
    for method in &surface.methods {
        text += &of_workspace(method);
    }
    text + "}\n"
}

fn of_workspace(method: &SurfaceMethod<'_>) -> String {
    let own = pascal(method.name);
    let name = own[..1].to_lowercase() + &own[1..];
    let has_required = fields(method.arguments).any(|(_, _, is_required)| is_required);
    let given = format!("given{}: {own}Arguments", if has_required { "" } else { "?" });
    let mut text = documentation(method.description, "  ");
    text += &format!("  {name}({given}, options?: CallOptions): Promise<{own}Answer>;\n");
    if let Some((arguments, piece)) = method.each {
        let takes = |name: &str| fields(arguments).any(|(taken, ..)| taken == name);
        let without = fields(method.arguments).filter(|(name, ..)| !takes(name));
        let without: Vec<String> = without.map(|(name, ..)| format!("{name:?}")).collect();
        let given = match without.is_empty() {
            true => given,
            false => given.replace(
                &format!("{own}Arguments"),
                &format!("Omit<{own}Arguments, {}>", without.join(" | ")),
            ),
        };
        text += &documentation("The same for all there is, while it is found.", "  ");
        text += &format!("  {name}Each({given}, options?: CallOptions): Each<{piece}, {own}Answer>;\n");
    }
    text
}

fn interface(name: &str, schema: &Value) -> String {
    let mut text = "\n".to_owned();
    text += &documentation(schema["description"].as_str().unwrap_or_default(), "");
    text += &format!("export interface {name} {{\n");
    for (field, of, is_required) in fields(schema) {
        text += &documentation(of["description"].as_str().unwrap_or_default(), "  ");
        let optional = if is_required { "" } else { "?" };
        text += &format!("  {field}{optional}: {};\n", type_of(&TypeScript, of, name));
    }
    text + "}\n"
}

fn documentation(text: &str, indent: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("*/", "*\\/");
    if text.is_empty() { text } else { format!("{indent}/** {text} */\n") }
}

struct TypeScript;

impl TypeNames for TypeScript {
    fn plain(&self, name: &str) -> String {
        match name {
            "integer" => "number",
            "object" => "Record<string, unknown>",
            "any" => "unknown",
            same => same,
        }
        .to_owned()
    }

    fn list(&self, of: String) -> String {
        format!("Array<{of}>")
    }

    fn map(&self, of: String) -> String {
        format!("Record<string, {of}>")
    }

    fn union(&self, all: Vec<String>) -> String {
        all.join(" | ")
    }

    fn word(&self, word: &str) -> String {
        format!("{word:?}")
    }

    fn of_root(&self, own: &str) -> String {
        format!("Omit<{own}, \"other_roots\">")
    }
}

const HEAD: &str = r#"
/// <reference lib="esnext.disposable" />

/** A call has no answer. Each code has a class of its own, which is one of these. */
export declare class ForageError extends Error {
  constructor(message: string, told?: { code?: string; hint?: string; text?: string; transcript?: Record<string, unknown> });
  readonly code: string;
  /** What a model that wrote the call is told. */
  readonly text: string;
  /** What can be done about it. */
  readonly hint?: string;
  /** What a question without an answer came to. */
  readonly transcript?: Record<string, unknown>;
}

/** An answer: `text` for a model or a person, and the records of the tool as properties. */
export declare class Answer<Records extends object = object> {
  private constructor();
  /** The answer as a model or a person reads it. */
  readonly text: string;
  /** Whether anything was found. */
  readonly found: boolean;
  /** Returns the records: what `--json` prints. */
  toJSON(): Records;
  toString(): string;
}

/** The answer to a question. */
export declare class Asked {
  private constructor();
  /** What the model says. */
  readonly answer: string;
  /** That with what must be known of it. */
  readonly text: string;
  /** Returns the transcript. */
  toJSON(): Record<string, unknown>;
  toString(): string;
}

/** What is found, while it is found. Whoever leaves a loop over it ends the search. */
export declare class Each<Piece, Of extends Answer = Answer> implements AsyncIterableIterator<Piece> {
  private constructor();
  /** The counts, once all of it was read. */
  readonly answer: Of | undefined;
  [Symbol.asyncIterator](): this;
  next(): Promise<IteratorResult<Piece, undefined>>;
  return(value?: undefined): Promise<IteratorResult<Piece, undefined>>;
  /** Ends the search. */
  close(): void;
  [Symbol.asyncDispose](): Promise<void>;
}
"#;

const WORKSPACE: &str = r#"
/** A model, and where it is asked. */
export interface ModelSettings {
  /** A provider that is known, such as `openai`; beside `baseUrl` a name for messages. */
  provider?: string;
  /** The id that the provider knows the model by. */
  model: string;
  baseUrl?: string;
  /** The key. Without one that of the provider's environment variable is used. */
  apiKey?: string;
  /** The protocol; that of the provider, else OpenAI's. */
  wire?: string;
  /** Permits plain `http` to another machine. */
  allowInsecure?: boolean;
}

/** A collection in a directory or on a Qdrant server. What is left out is as the command line has it under `[retrieval]`. */
export interface CollectionSettings {
  /** A directory of collections on this machine, in place of a server. */
  directory?: string;
  /** The address of a server, whose port is that of its REST interface, 6333 unless it is named. */
  url?: string;
  name?: string;
  apiKey?: string;
  /** Sends the key over plain `http` to another machine. */
  allowPlainKey?: boolean;
  shardKey?: string;
  timeoutMs?: number;
  vector?: string;
  /** Scores of a collection without the IDF modifier: weighed by Forage, or as they are stored. */
  idf?: "auto" | "stored";
  /** For a collection that does not say which. */
  encoder?: "auto" | "code-superset" | "fastembed-bm25" | "bm42";
  language?: string;
  disableStemmer?: boolean;
  topK?: number;
  /** Fields of the payload; `*` for all. */
  payload?: readonly string[];
  textField?: string;
}

/** How `keyword_search` filters, as `[filter]` of the configuration has it. */
export interface FilterSettings {
  candidates?: "terms" | "union";
  breadth?: "adaptive" | "requirement";
  termBytes?: number;
  evidenceBytes?: number;
  contextLines?: number;
  evidence?: "requirement" | "compact";
  answer?: "paths" | "ids";
  shards?: number;
  evidenceTokens?: number;
  promptFile?: string;
}

/** Settings of a workspace. What is left out is as the command line has it. */
export interface WorkspaceSettings {
  /** Whether indexes make calls fast, or where they are kept. */
  index?: boolean | string | URL;
  /** Whether the tree is watched and its index kept in memory, for a program that goes on. */
  watch?: boolean;
  /** What `keyword_search` and `ask` ask, in order of preference. */
  models?: readonly ModelSettings[];
  /** The collection that `lookup` looks words up in. */
  collection?: CollectionSettings;
  /** `keyword_search` asks nobody and ranks what it finds. */
  withoutModel?: boolean;
  /** How `keyword_search` filters. */
  filter?: FilterSettings;
  /** Secrets are taken out of answers otherwise. */
  showSecrets?: boolean;
  textBytes?: number;
  timeoutMs?: number;
  threads?: number;
  maxFileBytes?: number;
  /** Files that are left out of everything, as globs. */
  exclude?: readonly string[];
  /** Permits a root as broad as a home directory. */
  allowBroadRoot?: boolean;
}

export interface CallOptions {
  /** Ends the call, and the work that it is. */
  signal?: AbortSignal;
}

/** What happens while a question is answered. */
export interface AskEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** How definitions of tools are written for a provider. */
export type ToolFormat = "openai" | "openai-strict" | "anthropic" | "gemini" | "mcp";

/** Directories with the tools on what is below them. */
export declare class Workspace {
  constructor(paths: string | URL | ReadonlyArray<string | URL>, settings?: WorkspaceSettings);
  /** The directories, as answers name them. */
  readonly roots: string[];
  /** Returns the definitions of the tools for a model; with `only` those that it names. */
  tools(format?: ToolFormat, options?: { only?: readonly string[] }): Array<Record<string, unknown>>;
  /** Calls a tool by its name, as a model does: with an object, or in the JSON that it wrote. */
  call(name: string, given?: object | string, options?: CallOptions): Promise<Answer>;
  /** Answers a question with an agent over the tools. `watch` is told of what happens meanwhile; if it throws, or a promise of its is rejected meanwhile, the question
   * ends so. */
  ask(question: string, options?: CallOptions & { watch?: (event: AskEvent) => unknown }): Promise<Asked>;
  /** Makes the index of lines, or brings it up to date. */
  buildIndex(options?: CallOptions): Promise<void>;
  /** Refuses calls from now on, and ends what goes on in the background; fulfilled when that has ended. */
  close(): Promise<void>;
  /** The same, without waiting. */
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
"#;
