// Written by `cargo xtask generate`; don't edit.
import type { Tool } from "ai";
import type { Workspace } from "./index.js";

/** Returns the tools of a workspace for `generateText` and its like, by their names; `only` those that are named. */
export declare function forageTools(
  workspace: Workspace,
  options?: { only?: readonly string[] },
): Record<string, Tool<Record<string, unknown>, string>>;
