// Test fixtures: trees to search, the command line program to compare with, and a scripted model.
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";

const FILES = {
  "src/main.py": "import retry\n\n\ndef main():\n    retry.again(3)\n",
  "src/retry.py": '"""Tries again."""\n\n\ndef again(times):\n    return times\n',
  "README.md": "Retries what failed.\n",
  "notes/many.txt": Array.from({ length: 5000 }, (_, n) => `needle ${n}\n`).join(""),
};

export const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "forage-node-"));
after(() => fs.rmSync(scratch, { recursive: true, force: true }));

export const tree = path.join(scratch, "tree");
for (const [name, text] of Object.entries(FILES)) {
  fs.mkdirSync(path.dirname(path.join(tree, name)), { recursive: true });
  fs.writeFileSync(path.join(tree, name), text);
}

/** A tree that is large enough for a pattern to run for seconds. */
export const largeTree = path.join(scratch, "large");
fs.mkdirSync(largeTree);
const lines = Array.from({ length: 20000 }, (_, n) => `${"a".repeat(60)}${n}\n`).join("");
for (let n = 0; n < 40; n++) {
  fs.writeFileSync(path.join(largeTree, `${n}.txt`), lines);
}

/** Matches nothing, and is slow on each line. */
export const SLOW = { pattern: "(a?){3000}a{3000}[bc]?[de]", timeoutMs: 30000 };

/** Runs the command line program that `FORAGE` names. */
export function command(...given) {
  return execFileSync(process.env.FORAGE, given, {
    cwd: tree,
    env: { PATH: process.env.PATH, HOME: scratch },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
}

const children = [];
after(() => children.forEach((child) => child.kill("SIGKILL")));

/** Starts a scripted model whose responses are the given turns. Returns its address. */
export async function model(turns) {
  const given = [process.env.MODEL_SCRIPT, JSON.stringify(turns), path.join(scratch, "model.log")];
  const child = spawn("python3", given, { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  for await (const line of createInterface(child.stdout)) {
    return `${line.split(" ").at(-1)}/v1`;
  }
}

export const READS_MAIN = [
  { calls: [{ tool: "read_file", arguments: { path: "src/main.py" } }] },
  { text: "In `src/main.py:5`." },
];
