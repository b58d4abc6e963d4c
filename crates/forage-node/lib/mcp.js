// Tools for servers of `@modelcontextprotocol/sdk`.
"use strict";

const { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } = require("@modelcontextprotocol/sdk/types.js");

const { printed } = require("./answers.js");

/**
 * Adds the tools of a workspace to a server. An `McpServer` keeps its other tools, but a `Server` has only these. With `records`,
 * answers contain their records too. Many clients then pass the records to the model instead of the text.
 */
function addForageTools(server, workspace, { only, records = false } = {}) {
  const definitions = workspace.tools("mcp", { only });
  const call = async (name, given, signal) => {
    try {
      const answer = await workspace.call(name, given ?? {}, { signal });
      const content = [{ type: "text", text: answer.text }];
      return records ? { content, structuredContent: printed(answer) } : { content };
    } catch (error) {
      signal?.throwIfAborted();
      return { content: [{ type: "text", text: error.text ?? error.message }], isError: true };
    }
  };
  if (typeof server.registerTool !== "function") {
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: definitions }));
    server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: given } }, { signal }) => {
      if (!definitions.some((tool) => tool.name === name)) {
        throw new McpError(ErrorCode.InvalidParams, `Tool ${name} not found`);
      }
      return call(name, given, signal);
    });
    return;
  }
  const z = require("zod/v4");
  for (const { name, inputSchema, ...metadata } of definitions) {
    // The server advertises the tool's own schema. It does not validate arguments, because the tool has better error messages.
    const schema = z.looseObject({}).meta(inputSchema);
    server.registerTool(name, { ...metadata, inputSchema: schema }, (given, { signal }) => call(name, given, signal));
  }
}

module.exports = { addForageTools };
