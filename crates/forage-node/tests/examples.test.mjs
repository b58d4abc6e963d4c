// Runs the compiled examples as a user would. `EXAMPLES` names their directory.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { READS_MAIN, model, scratch, tree } from "./tree.mjs";

async function runExample(name, given, { input = "", ...variables } = {}) {
  const running = promisify(execFile)(process.execPath, [path.join(process.env.EXAMPLES, `${name}.js`), ...given], {
    env: { ...process.env, ...variables },
  });
  running.child.stdin.end(input);
  return (await running).stdout;
}

test("search example prints files and errors", async () => {
  const output = await runExample("search", [tree]);
  assert.match(output, /src\/main\.py/);
  assert.match(output, /path undefined/);
});

test("agent example answers a question", async () => {
  const BASE_URL = await model(READS_MAIN);
  assert.equal(await runExample("agent", [tree, "Where is it retried?"], { BASE_URL, MODEL: "scripted" }), "In `src/main.py:5`.\n");
});

test("pull request bot lists uses in other files", async () => {
  const input = [
    "diff --git a/src/retry.py b/src/retry.py",
    "--- a/src/retry.py",
    "+++ b/src/retry.py",
    "@@ -2,4 +2,4 @@",
    "-def again(times):",
    "+def again(times, pause):",
    "     return times",
    "",
  ].join("\n");
  const output = await runExample("pull_request_bot", [tree], { input });
  assert.equal(output, "- `again` is used elsewhere:\n  - `src/main.py:5` `retry.again(3)`\n");
  assert.equal(await runExample("pull_request_bot", [tree]), "Nothing that this changes is used elsewhere.\n");
});

test("documentation page examples run", async () => {
  const directory = path.join(scratch, "page");
  fs.mkdirSync(path.join(directory, "path/to"), { recursive: true });
  fs.cpSync(tree, path.join(directory, "path/to/repository"), { recursive: true });
  fs.writeFileSync(path.join(directory, "path/to/repository/one.ts"), "export const one = 1;\n");
  const page = path.join(process.env.EXAMPLES, "../tests/page.js");
  const { stdout } = await promisify(execFile)(process.execPath, [page], { cwd: directory });
  assert.match(stdout, /one\.ts \[ 1 \]/);
});
