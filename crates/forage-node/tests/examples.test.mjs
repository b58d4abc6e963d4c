// The examples, compiled, as a user runs them. `EXAMPLES` is where they are.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { READS_MAIN, model, scratch, tree } from "./tree.mjs";

async function example(name, given, { input = "", ...variables } = {}) {
  const running = promisify(execFile)(process.execPath, [path.join(process.env.EXAMPLES, `${name}.js`), ...given], {
    env: { ...process.env, ...variables },
  });
  running.child.stdin.end(input);
  return (await running).stdout;
}

test("a search", async () => {
  const said = await example("search", [tree]);
  assert.match(said, /src\/main\.py/);
  assert.match(said, /path undefined/);
});

test("an agent", async () => {
  const BASE_URL = await model(READS_MAIN);
  assert.equal(await example("agent", [tree, "Where is it retried?"], { BASE_URL, MODEL: "scripted" }), "In `src/main.py:5`.\n");
});

test("a pull request's bot", async () => {
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
  const said = await example("pull_request_bot", [tree], { input });
  assert.equal(said, "- `again` is used elsewhere:\n  - `src/main.py:5` `retry.again(3)`\n");
  assert.equal(await example("pull_request_bot", [tree]), "Nothing that this changes is used elsewhere.\n");
});

test("the page in the documentation", async () => {
  const place = path.join(scratch, "page");
  fs.mkdirSync(path.join(place, "path/to"), { recursive: true });
  fs.cpSync(tree, path.join(place, "path/to/repository"), { recursive: true });
  fs.writeFileSync(path.join(place, "path/to/repository/one.ts"), "export const one = 1;\n");
  const page = path.join(process.env.EXAMPLES, "../tests/page.js");
  const { stdout } = await promisify(execFile)(process.execPath, [page], { cwd: place });
  assert.match(stdout, /one\.ts \[ 1 \]/);
});
