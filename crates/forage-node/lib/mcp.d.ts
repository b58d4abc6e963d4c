import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Workspace } from "./index.js";

/**
 * Adds the tools of a workspace to a server. An `McpServer` keeps its other tools, but a `Server` has only these. `only` names the
 * tools to add. With `records`, answers contain their records too. Many clients then pass the records to the model instead of the text.
 */
export declare function addForageTools(
  server: McpServer | Server,
  workspace: Workspace,
  options?: { only?: readonly string[]; records?: boolean },
): void;
