// Written by `cargo xtask generate`; don't edit.
import type { Tool } from "ai";
import type { Workspace } from "./index.js";

/** Returns the tools of a workspace by name, for functions such as `generateText`. `only` names the tools to return. */
export declare function forageTools(
  workspace: Workspace,
  options?: { only?: readonly string[] },
): Record<string, Tool<Record<string, unknown>, string>>;
