//! Generates the declarations of the Node package, and its ES module, which must list its names explicitly.

use serde_json::Value;

use super::{Surface, SurfaceMethod, TypeNames, fields, pascal, type_of};

/// The exported names, except for the subclasses of `ForageError`.
const NAMES: [&str; 5] = ["Workspace", "Answer", "Asked", "Each", "ForageError"];

pub(super) fn module(surface: &Surface<'_>) -> String {
    let errors = surface.errors.iter().map(|error| format!("  {},\n", error.name));
    let names = NAMES.iter().map(|name| format!("  {name},\n")).chain(errors).collect::<String>();
    format!("import forage from \"./index.js\";\n\nexport const {{\n{names}}} = forage;\n")
}

pub(super) fn declarations(surface: &Surface<'_>) -> String {
    let mut text = HEAD.to_owned();
    for error in &surface.errors {
        text += &format!(
            "\n{}export declare class {} extends ForageError {{\n  readonly code: {:?};\n}}\n",
            documentation(error.description, ""),
            error.name,
            error.code,
        );
    }
    for (name, part) in surface.words() {
        text += &format!("\nexport type {name} = {};\n", type_of(&TypeScript::RECORDS, part, name));
    }
    for (name, part) in surface.records() {
        text += &interface(name, part, &TypeScript::RECORDS);
    }
    for method in &surface.methods {
        let own = pascal(method.name);
        text += &interface(&format!("{own}Arguments"), method.arguments, &TypeScript::ARGUMENTS);
        text += &interface(&format!("{own}Records"), method.answer, &TypeScript::RECORDS);
        let items = method.items.map_or_else(String::new, |(_, items)| {
            format!(" & Iterable<{}>", type_of(&TypeScript::RECORDS, &items["items"], &own))
        });
        text += &format!(
            "\nexport type {own}Answer = Answer<{own}Records> & Readonly<Omit<{own}Records, keyof Answer>>{items};\n"
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
    let name = camel(method.name);
    let has_required = fields(method.arguments).any(|(_, _, is_required)| is_required);
    let given = format!("given{}: {own}Arguments", if has_required { "" } else { "?" });
    let mut text = of_method(method);
    text += &format!("  {name}({given}, options?: CallOptions): Promise<{own}Answer>;\n");
    if let Some(each) = &method.each {
        let takes = |name: &str| fields(each.arguments).any(|(taken, ..)| taken == name);
        let without = fields(method.arguments).filter(|(name, ..)| !takes(name));
        let without: Vec<String> = without.map(|(name, ..)| format!("{:?}", camel(name))).collect();
        let given = match without.is_empty() {
            true => given,
            false => given.replace(
                &format!("{own}Arguments"),
                &format!("Omit<{own}Arguments, {}>", without.join(" | ")),
            ),
        };
        let summary = format!("Like `{name}`, but iterates over all results as they are found.");
        text += &documentation(&summary, "  ");
        text +=
            &format!("  {name}Each({given}, options?: CallOptions): Each<{}, {own}Answer>;\n", each.piece);
    }
    text
}

/// Formats the comment of a method: its purpose, further details, and an example.
fn of_method(method: &SurfaceMethod<'_>) -> String {
    let mut lines = vec![in_camel(method.summary)];
    if !method.details.is_empty() {
        lines.extend([String::new(), in_camel(method.details)]);
    }
    if !method.typescript.is_empty() {
        lines.extend(["@example".to_owned(), "```ts".to_owned()]);
        lines.extend(method.typescript.lines().map(str::to_owned));
        lines.push("```".to_owned());
    }
    let lines =
        lines.iter().map(|line| format!("   * {}", line.replace("*/", "*\\/")).trim_end().to_owned() + "\n");
    format!("  /**\n{}   */\n", lines.collect::<String>())
}

fn interface(name: &str, schema: &Value, types: &TypeScript) -> String {
    let mut text = "\n".to_owned();
    text += &documentation(schema["description"].as_str().unwrap_or_default(), "");
    text += &format!("export interface {name} {{\n");
    for (field, of, is_required) in fields(schema) {
        text += &documentation(of["description"].as_str().unwrap_or_default(), "  ");
        let optional = if is_required { "" } else { "?" };
        text += &format!("  {}{optional}: {};\n", camel(field), type_of(types, of, name));
    }
    text + "}\n"
}

fn documentation(text: &str, indent: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("*/", "*\\/");
    if text.is_empty() { text } else { format!("{indent}/** {} */\n", in_camel(&text)) }
}

/// Converts a name such as `file_pattern` to lower camel case.
fn camel(name: &str) -> String {
    let pascal = pascal(name);
    let (initial, rest) = pascal.split_at(pascal.len().min(1));
    initial.to_lowercase() + rest
}

/// Converts the names in backquotes to camel case, except for those of tools.
fn in_camel(text: &str) -> String {
    let tools =
        ["keyword_search", "grep_search", "search_index", "list_directory", "read_file", "keyword_lookup"];
    let is_name = |part: &str| {
        part.contains('_')
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            && !tools.contains(&part)
    };
    let parts = text.split('`').enumerate();
    let parts =
        parts.map(|(at, part)| if at % 2 == 1 && is_name(part) { camel(part) } else { part.to_owned() });
    parts.collect::<Vec<_>>().join("`")
}

struct TypeScript {
    /// The name of the type of lists.
    list: &'static str,
}

impl TypeScript {
    const RECORDS: Self = Self { list: "Array" };
    const ARGUMENTS: Self = Self { list: "ReadonlyArray" };
}

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
        format!("{}<{of}>", self.list)
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
        format!("Omit<{own}, \"otherRoots\">")
    }
}

const HEAD: &str = r#"
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
"#;

const WORKSPACE: &str = r#"
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
"#;
