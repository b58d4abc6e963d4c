// Lists what the types permit and what they refuse. `tsc` compiles this file, and nothing runs it.
import { Answer, type Each, type GrepAnswer, type GrepFile, PathError, Workspace } from "forage-search";
import { forageTools } from "forage-search/ai";
import { addForageTools } from "forage-search/mcp";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { generateText, type LanguageModel } from "ai";

export async function permitted(workspace: Workspace, model: LanguageModel): Promise<number> {
  const answer: GrepAnswer = await workspace.grep({ pattern: "x", output: "uses" }, { signal: AbortSignal.timeout(1) });
  const lines: number[] = answer.files.flatMap((file) => file.lines ?? []).map((line) => line.lineNumber);
  const each: Each<GrepFile, GrepAnswer> = workspace.grepEach({ pattern: "x" });
  for await (const file of each) lines.push(file.matchCount);
  const records: { matchCount: number } = answer.toJSON();
  const called: Answer = await workspace.call("grep_search", '{"pattern": "x"}');
  await using left = workspace.grepEach({ pattern: "x" });
  await using closed = new Workspace(".");
  const events: unknown[] = [];
  await closed.ask("x", { watch: (event) => events.push(event) });
  await closed.ask("x", { watch: async (event) => void events.push(event) });
  const error = new PathError("x");
  const code: "path" = error.code;
  addForageTools(new McpServer({ name: "x", version: "0" }), workspace);
  await generateText({ model, tools: forageTools(workspace), prompt: code + called.text + (left.answer?.text ?? "") });
  return records.matchCount + (answer.otherRoots?.length ?? 0) + (each.answer?.matchCount ?? 0);
}

export async function refused(workspace: Workspace): Promise<void> {
  // @ts-expect-error: a pattern is required
  await workspace.grep({});
  // @ts-expect-error: no such argument
  await workspace.grep({ pattern: "x", pth: "src" });
  // @ts-expect-error: a stream has no pages
  workspace.grepEach({ pattern: "x", maxResults: 3 });
  // @ts-expect-error: no such output
  await workspace.grep({ pattern: "x", output: "tree" });
  // @ts-expect-error: no such setting
  new Workspace(".", { without_model: true });
  // @ts-expect-error: no such field
  (await workspace.grep({ pattern: "x" })).hits;
  // @ts-expect-error: no such format
  workspace.tools("other");
}
