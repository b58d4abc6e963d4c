// Tests the tools with the real packages of other projects.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";

import { Workspace } from "forage-search";
import { forageTools } from "forage-search/ai";
import { addForageTools } from "forage-search/mcp";

import { SLOW, largeTree, tree } from "./tree.mjs";

const require = createRequire(import.meta.url);
const workspace = new Workspace(tree, { index: false });

/** Creates a model that makes calls and then responds with text. */
function scripted(calls, seen) {
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  let turn = 0;
  return new MockLanguageModelV3({
    doGenerate: async (given) => {
      given.abortSignal?.throwIfAborted();
      seen.push(given);
      const content =
        turn++ === 0
          ? calls.map(([toolName, input], n) => ({ type: "tool-call", toolCallId: `${n}`, toolName, input: JSON.stringify(input) }))
          : [{ type: "text", text: "done" }];
      const reason = turn === 1 ? "tool-calls" : "stop";
      return { content, finishReason: { unified: reason, raw: reason }, usage, warnings: [] };
    },
  });
}

test("the AI SDK calls the tools", async () => {
  const seen = [];
  const calls = [
    ["grep_search", { pattern: "def again" }],
    ["read_file", { path: "src/mian.py" }],
  ];
  const { text, steps } = await generateText({
    model: scripted(calls, seen),
    tools: forageTools(workspace),
    stopWhen: stepCountIs(3),
    prompt: "Where is it?",
  });
  assert.equal(text, "done");
  const results = steps[0].toolResults.map((result) => result.output);
  assert.equal(results[0], (await workspace.grep({ pattern: "def again" })).text);
  assert.match(results[1], /^Error: .*src\/main\.py/s);
  const sent = seen[0].tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const definitions = workspace.tools("mcp").map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  assert.deepEqual(sent, definitions);
  assert.deepEqual(Object.keys(require("forage-search/ai").forageTools(workspace, { only: ["read_file"] })), ["read_file"]);
  assert.throws(() => forageTools(workspace, { only: ["readfile"] }), /names readfile, which is not one of search_index/);
});

test("abort signal of the AI SDK ends a call", async () => {
  const large = new Workspace(largeTree, { index: false });
  const model = scripted([["grep_search", { pattern: SLOW.pattern }]], []);
  const abortSignal = AbortSignal.timeout(300);
  await assert.rejects(generateText({ model, tools: forageTools(large), stopWhen: stepCountIs(3), prompt: "?", abortSignal }), {
    name: "TimeoutError",
  });
});

async function connected(server) {
  const [serverSide, clientSide] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "test", version: "0" });
  await Promise.all([server.connect(serverSide), client.connect(clientSide)]);
  return client;
}

const info = { name: "host", version: "0" };

for (const [kind, server] of [
  ["McpServer", () => new McpServer(info)],
  ["Server", () => new Server(info, { capabilities: { tools: {} } })],
]) {
  test(`${kind} lists and calls the tools`, async () => {
    const host = server();
    if (kind === "McpServer") {
      host.registerTool("own", { description: "a tool of the host" }, () => ({ content: [] }));
    }
    addForageTools(host, workspace);
    const client = await connected(host);
    const { tools } = await client.listTools();
    const listed = tools.filter((tool) => tool.name !== "own");
    assert.equal(tools.length - listed.length, kind === "McpServer" ? 1 : 0);
    const definitions = workspace.tools("mcp");
    assert.deepEqual(listed.map((tool) => tool.name), definitions.map((tool) => tool.name));
    for (const [n, tool] of listed.entries()) {
      // Zod adds `{}`, which allows everything, if a definition has no `additionalProperties`.
      const { $schema, additionalProperties, ...inputSchema } = tool.inputSchema;
      assert.deepEqual(additionalProperties ?? {}, {});
      assert.deepEqual(inputSchema, definitions[n].inputSchema);
      assert.equal(tool.description, definitions[n].description);
      assert.deepEqual(tool.annotations, definitions[n].annotations);
    }
    const found = await client.callTool({ name: "grep_search", arguments: { pattern: "def again" } });
    assert.deepEqual(found, { content: [{ type: "text", text: (await workspace.grep({ pattern: "def again" })).text }] });
    const refused = await client.callTool({ name: "grep_search", arguments: {} });
    assert.equal(refused.isError, true);
    assert.match(refused.content[0].text, /Call it like this/);
    await client.close();
  });
}

test("tools outside of `only` can't be called", async () => {
  for (const host of [new McpServer(info), new Server(info, { capabilities: { tools: {} } })]) {
    addForageTools(host, workspace, { only: ["grep_search"] });
    const client = await connected(host);
    for (const name of ["read_file", "Search", "read"]) {
      const refused = await client.callTool({ name, arguments: { path: "README.md" } }).catch((error) => error);
      assert.match(refused.message ?? refused.content[0].text, /not found/);
    }
    await client.close();
  }
});

test("records are returned on request", async () => {
  const host = new McpServer(info);
  addForageTools(host, workspace, { only: ["grep_search"], records: true });
  const client = await connected(host);
  assert.deepEqual((await client.listTools()).tools.map((tool) => tool.name), ["grep_search"]);
  const found = await client.callTool({ name: "grep_search", arguments: { pattern: "def again" } });
  assert.equal(found.structuredContent.match_count, 1);
  await client.close();
});

test("cancellation by the client ends a call", async () => {
  const host = new McpServer(info);
  addForageTools(host, new Workspace(largeTree, { index: false }));
  const client = await connected(host);
  const controller = new AbortController();
  const call = client.callTool({ name: "grep_search", arguments: { pattern: SLOW.pattern } }, undefined, { signal: controller.signal });
  setTimeout(() => controller.abort(), 200);
  await assert.rejects(call);
  await client.close();
});
