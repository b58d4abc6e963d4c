// Measures the overhead of a call in Node compared to Rust.
//
//   node bench/node.mjs RUST LIB [ROUNDS] [RUNS]
//
// RUST is `target/release/examples/timed_calls` (`cargo build --release --package forage-bindings --example timed_calls`). LIB is the
// `lib` directory of the package, which must contain a release build of the module as `forage.node`. Both programs make the same
// calls, including text and records, in alternating runs. Prints the medians. Calls are sequential.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";

const [rust, lib, rounds = "2000", runs = "5"] = process.argv.slice(2);
const { Workspace } = createRequire(import.meta.url)(path.resolve(lib, "index.js"));

const tree = fs.mkdtempSync(path.join(os.tmpdir(), "forage-bench-"));
const functions = Array.from({ length: 5 }, (_, n) => `def function_${n}():\n    return ${n}\n\n\n`);
fs.writeFileSync(path.join(tree, "small.py"), functions.join(""));
const workspace = new Workspace(tree, { index: false });

function median(values) {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)];
}

async function timed(method, given) {
  const times = [];
  for (let round = 0; round < Number(rounds); round++) {
    const start = process.hrtime.bigint();
    const answer = await workspace[method](given);
    void (answer.text.length + Object.keys(answer.toJSON()).length);
    times.push(Number(process.hrtime.bigint() - start) / 1000);
  }
  return median(times);
}

for (const [tool, method, given] of [
  ["read_file", "read", { path: "small.py" }],
  ["grep_search", "grep", { pattern: "function_3" }],
  ["list_directory", "list", { path: "." }],
]) {
  const both = [];
  for (let run = 0; run < Number(runs); run++) {
    const rustTime = Number(execFileSync(rust, [tree, tool, JSON.stringify(given), rounds], { encoding: "utf8" }));
    both.push([rustTime, await timed(method, given)]);
  }
  const [rustMedian, node] = [0, 1].map((side) => median(both.map((run) => run[side])));
  const overheads = both.map(([rustTime, nodeTime]) => nodeTime - rustTime).sort((one, other) => one - other);
  console.log(`${tool}: Rust ${rustMedian.toFixed(0)} µs, Node ${node.toFixed(0)} µs; ${overheads[0].toFixed(0)} to ${overheads.at(-1).toFixed(0)} µs more`);
}
fs.rmSync(tree, { recursive: true });
