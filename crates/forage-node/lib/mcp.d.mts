// Written by `cargo xtask generate`; don't edit.
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Workspace } from "./index.js";

/**
 * Adds the tools of a workspace to a server: to an `McpServer` beside others, to a `Server` as all that it has. `only` those that are
 * named; with `records`, answers have these beside the text, in whose place many clients hand them to a model.
 */
export declare function addForageTools(
  server: McpServer | Server,
  workspace: Workspace,
  options?: { only?: readonly string[]; records?: boolean },
): void;
