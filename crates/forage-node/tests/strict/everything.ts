// Uses every type of the package. `tsc` compiles this file with all checks, including those of the declarations. Nothing runs it.
import {
  Answer,
  Asked,
  type AskEvent,
  type CollectionSettings,
  Each,
  type FilterSettings,
  ForageError,
  type GrepAnswer,
  type GrepFile,
  type KeywordFile,
  type ListEntry,
  type LookupHit,
  type LookupStatus,
  type ModelSettings,
  PathError,
  type RankedFile,
  SearchIndexError,
  type SearchRecord,
  type ToolFormat,
  Workspace,
  type WorkspaceSettings,
} from "forage-search";

export function formatted(event: AskEvent): string {
  switch (event.type) {
    case "asking":
      return `${event.model} ${event.turn}/${event.turns} ${event.last}`;
    case "text":
      return event.text;
    case "said":
      return `${event.calls} ${(event.inputTokens ?? 0) + (event.outputTokens ?? 0)} ${event.costUsd} ${event.elapsedMs}`;
    case "failed":
      return event.error + event.then;
    case "call_started":
      return `${event.number} ${event.tool} ${event.arguments}`;
    case "call_ended":
      return `${event.number} ${event.tool} ${event.bytes + event.elapsedMs} ${event.error}`;
    case "made_room":
      return `${event.results}`;
  }
}

const model: ModelSettings = { model: "m", baseUrl: "http://127.0.0.1:9/v1" };
const filter: FilterSettings = { answer: "ids", evidence: "compact", evidenceTokens: 8000 };
const collection: CollectionSettings = { url: "http://127.0.0.1:1", name: "docs", encoder: "bm42", topK: 3 };
export const settings: WorkspaceSettings = { index: false, models: [model], filter, collection, exclude: ["*.lock"], timeoutMs: 20_000 };

export async function collections(workspace: Workspace): Promise<number> {
  const grep: GrepAnswer = await workspace.grep({ pattern: "again", output: "uses", filePattern: ["*.ts", "!none.ts"], contextLines: 0 });
  const matching: GrepFile[] = [...grep];
  const lines: string[] = matching.flatMap((file) => file.lines ?? []).map((line) => `${line.lineNumber}: ${line.text}`);
  const ranked: RankedFile[] = [...(await workspace.rank({ query: "where is it tried again", maxResults: 3, codeTokens: 500 }))];
  const entries: ListEntry[] = [...(await workspace.list({ path: "src", maxDepth: 1 }))];
  const read: string[] = [...(await workspace.read({ path: "src/main.ts", startLine: 1, endLine: 3 }))];
  const matches: SearchRecord[] = [...(await workspace.search({ pattern: "agian", fuzzy: 2, filePattern: "*.ts", contextLines: 1 }))];
  const kept: KeywordFile[] = [...(await workspace.keywordSearch({ query: "where is it tried again", searchTerms: ["again"] }))];
  const found = await workspace.lookup({ query: "ORA-00942", maxResults: 1 });
  const hits: LookupHit[] = [...found];
  const status: LookupStatus = found.status;
  const skipped: number | undefined = grep.skipped["binary"];
  const plain: { matchCount: number; nextCursor: string | null } = grep.toJSON();
  return [lines, ranked, entries, read, matches, kept, hits].length + status.length + (skipped ?? 0) + plain.matchCount;
}

export async function everything(paths: readonly string[]): Promise<string> {
  const workspace = new Workspace(paths, settings);
  const formats: ToolFormat[] = ["openai", "openai-strict", "anthropic", "gemini", "mcp"];
  const tools: Array<Record<string, unknown>> = formats.flatMap((format) => workspace.tools(format, { only: ["grep_search"] }));
  const each: Each<GrepFile, GrepAnswer> = workspace.grepEach({ pattern: "again", filePattern: "*.ts" });
  let count = tools.length + (await collections(workspace));
  for await (const file of each) count += file.matchCount;
  for await (const record of workspace.searchEach({ pattern: "again", contextLines: 1 })) count += record.data.lineNumber;
  const called: Answer = await workspace.call("grep_search", { pattern: "again" }, { signal: AbortSignal.timeout(1000) });
  await workspace.buildIndex();
  try {
    const asked: Asked = await workspace.ask("Where?", { watch: formatted });
    return asked.answer + called.text + (each.answer?.matchCount ?? count);
  } catch (error) {
    if (error instanceof PathError || error instanceof SearchIndexError) return error.code;
    if (error instanceof ForageError) return error.text + (error.hint ?? "") + JSON.stringify(error.transcript);
    throw error;
  } finally {
    await workspace.close();
  }
}
