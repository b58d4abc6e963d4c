"use strict";

/** Returns the definitions of a workspace's tools, or of those that are named. */
function chosen(workspace, only) {
  const definitions = workspace.tools("mcp");
  const unknown = only?.find((name) => !definitions.some((tool) => tool.name === name));
  if (unknown !== undefined) {
    throw new TypeError(`\`only\` names ${unknown}, which is none of ${definitions.map((tool) => tool.name).join(", ")}`);
  }
  return definitions.filter(({ name }) => !only || only.includes(name));
}

module.exports = chosen;
