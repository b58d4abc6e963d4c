// Tools for servers of `@modelcontextprotocol/sdk`.
"use strict";

const { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } = require("@modelcontextprotocol/sdk/types.js");

const { printed } = require("./answers.js");

/**
 * Adds the tools of a workspace to a server: to an `McpServer` beside others, to a `Server` as all that it has. Records go with an
 * answer where they are wanted: many clients hand a model those in the text's place.
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
  for (const { name, inputSchema, ...told } of definitions) {
    // What is told is the tool's own schema. What a model writes goes to the tool as it is, which says what is wrong with it.
    const schema = z.looseObject({}).meta(inputSchema);
    server.registerTool(name, { ...told, inputSchema: schema }, (given, { signal }) => call(name, given, signal));
  }
}

module.exports = { addForageTools };
