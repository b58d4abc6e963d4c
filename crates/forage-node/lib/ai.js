// Tools for Vercel's AI SDK.
"use strict";

const { jsonSchema, tool } = require("ai");

/** Returns the tools of a workspace by name. An error is returned as text, because the model can correct its call. */
function forageTools(workspace, { only } = {}) {
  const definitions = workspace.tools("mcp", { only });
  const create = ({ name, title, description, inputSchema }) => {
    const execute = async (given, { abortSignal } = {}) => {
      try {
        return (await workspace.call(name, given, { signal: abortSignal })).text;
      } catch (error) {
        abortSignal?.throwIfAborted();
        return `Error: ${error.text ?? error.message}`;
      }
    };
    return [name, tool({ title, description, inputSchema: jsonSchema(inputSchema), execute })];
  };
  return Object.fromEntries(definitions.map(create));
}

module.exports = { forageTools };
