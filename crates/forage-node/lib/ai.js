// Tools for Vercel's AI SDK.
"use strict";

const { jsonSchema, tool } = require("ai");

/** The tools of a workspace, by their names. An error is told to the model, as it is what can be mended. */
function forageTools(workspace, { only } = {}) {
  const definitions = workspace.tools("mcp", { only });
  const made = ({ name, title, description, inputSchema }) => {
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
  return Object.fromEntries(definitions.map(made));
}

module.exports = { forageTools };
