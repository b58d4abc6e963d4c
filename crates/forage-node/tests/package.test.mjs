// Tests the package as a program would use it. `FORAGE` names the command line program whose answers must be equal.
import assert from "node:assert/strict";
import { execFileSync, fork, spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import vm from "node:vm";
import { Worker } from "node:worker_threads";

import * as forage from "forage-search";

import { READS_MAIN, SLOW, command, largeTree, model, scratch, tree } from "./tree.mjs";

const { Workspace } = forage;
const require = createRequire(import.meta.url);

const CALLS = [
  ["grep", "grep_search", { pattern: "retry" }],
  ["grep", "grep_search", { pattern: "again", output: "uses" }],
  ["search", "Search", { pattern: "def", max_results: 2 }],
  ["list", "list_directory", { path: "src" }],
  ["read", "read_file", { path: "src/main.py", start_line: 2 }],
  ["rank", "search_index", { query: "where is it tried again" }],
];

function open(directory = tree, settings = {}) {
  return new Workspace(directory, { index: false, ...settings });
}

/** Removes the elapsed time, which differs between calls, and renames fields to the names of the package. */
function comparable(records) {
  const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  const renamed = (name, value) => {
    const isMap = ["skipped", "unread", "redacted", "lineBytes"].includes(name);
    if (isMap || !value || typeof value !== "object" || Array.isArray(value)) {
      return value;
    }
    const fields = Object.entries(value).map(([name, field]) => [camel(name), field]);
    return Object.fromEntries(fields.filter(([name]) => name !== "elapsedMs"));
  };
  return JSON.parse(JSON.stringify(records), (name, value) => renamed(camel(name), value));
}

async function collect(each) {
  const pieces = [];
  for await (const piece of each) {
    pieces.push(piece);
  }
  return pieces;
}

/** Waits until this process uses no processor time. */
async function waitUntilIdle() {
  for (let tries = 0; tries < 25; tries++) {
    const before = process.cpuUsage();
    await sleep(200);
    const { user, system } = process.cpuUsage(before);
    if (user + system < 100_000) {
      return;
    }
  }
  assert.fail("the process is still busy");
}

for (const [method, tool, given] of CALLS) {
  test(`answer of ${method} equals the command line: ${JSON.stringify(given)}`, async () => {
    const workspace = open();
    const text = command("call", tool, JSON.stringify(given)).trimEnd();
    const printed = JSON.parse(command("call", tool, JSON.stringify(given), "--json"));
    for (const answer of [await workspace.call(tool, given), await workspace.call(tool, JSON.stringify(given))]) {
      assert.equal(answer.text.trimEnd(), text);
      assert.deepEqual(comparable(answer), comparable(printed));
    }
    // The text of a method's answer names methods, not tools, so we can't compare it.
    const parameters = Object.fromEntries(
      Object.entries(given).map(([name, value]) => [name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()), value]),
    );
    const answer = await workspace[method](parameters);
    assert.deepEqual(comparable(answer), comparable(printed));
  });
}

test("fields are properties", async () => {
  const workspace = open();
  const answer = await workspace.grep({ pattern: "def ", filePattern: "*.py" });
  assert.equal(answer.found, true);
  assert.equal(answer.matchCount, 2);
  assert.deepEqual(answer.files.map((file) => file.path), ["src/main.py", "src/retry.py"]);
  assert.equal(answer.nextCursor, null);
  assert.equal(answer.definitions, undefined);
  assert.equal(answer.constructor.name, "GrepAnswer");
  assert(answer instanceof forage.Answer);
  assert.equal(`${answer}`, answer.text);
  const several = await new Workspace([path.join(tree, "src"), pathToFileURL(path.join(tree, "notes"))], { index: false }).grep({
    pattern: "needle 7$|def main",
  });
  assert.equal(several.matchCount, 1);
  assert.equal(several.otherRoots[0].matchCount, 1);
});

/** Returns the names of fields, except for the keys of maps. */
function names(value) {
  if (Array.isArray(value)) {
    return value.flatMap(names);
  }
  if (!value || typeof value !== "object") {
    return [];
  }
  return Object.entries(value).flatMap(([name, field]) => (["skipped", "unread"].includes(name) ? [name] : [name, ...names(field)]));
}

test("all field names are in camel case", async () => {
  const workspace = open();
  const answers = await Promise.all([
    workspace.grep({ pattern: "again", output: "uses", contextLines: 0 }),
    workspace.search({ pattern: "agian", fuzzy: 2, filePattern: ["*.py", "!main.py"], contextLines: 1, maxResults: 2 }),
    workspace.rank({ query: "where is it tried again", maxResults: 1, codeTokens: 500, explain: true }),
    workspace.list({ path: "src", maxDepth: 1, symbols: true }),
    workspace.read({ path: "src/main.py", startLine: 2, endLine: 4 }),
    workspace.read({ path: "src/main.py", outline: true }),
  ]);
  const pieces = await collect(workspace.grepEach({ pattern: "again", contextLines: 0 }));
  const all = names([...answers.map((answer) => answer.toJSON()), pieces]);
  assert(all.length > 200, `${all.length}`);
  assert.deepEqual([...new Set(all.filter((name) => name.includes("_")))], []);
  for (const answer of answers) {
    for (const name of Object.keys(answer.toJSON())) {
      assert.deepEqual(answer[name], answer.toJSON()[name]);
    }
  }
  assert.deepEqual(answers[4].startLine, 2);
  assert.equal(answers[2].files.length, 1);
  // Messages name the parameters and the methods.
  await assert.rejects(workspace.search({ pattern: "x", filePattern: "a[" }), /`filePattern`/);
  fs.writeFileSync(path.join(scratch, "long.txt"), "line\n".repeat(100_000));
  const long = await open(scratch).read({ path: "long.txt" });
  assert.match(long.text, /read\(\{ path: "long.txt", startLine: /);
});

test("keys of maps are not renamed", async () => {
  const directory = path.join(scratch, "maps");
  fs.mkdirSync(directory);
  fs.writeFileSync(path.join(directory, "binary.dat"), Buffer.from([0, 1, 2, 3]));
  fs.writeFileSync(path.join(directory, ".env"), "needle=1\n");
  const answer = await open(directory).grep({ pattern: "needle" });
  const printed = JSON.parse(command("call", "grep_search", JSON.stringify({ pattern: "needle", path: "." }), "--json"));
  assert(Object.keys(answer.skipped).length > 0, answer.text);
  assert.equal(typeof printed.skipped, "object");
  assert(Object.keys(answer.skipped).every((reason) => !/[A-Z]/.test(reason)), JSON.stringify(answer.skipped));
});

test("answers are iterable", async () => {
  const workspace = open();
  const answer = await workspace.grep({ pattern: "def " });
  assert.deepEqual([...answer], answer.files);
  assert.deepEqual([...(await workspace.list({ path: "src" }))].map((entry) => entry.path), ["src/main.py", "src/retry.py"]);
  assert.deepEqual([...(await workspace.grep({ pattern: "nothing has this" }))], []);
});

test("npm launcher starts the program", () => {
  const launcher = path.join(import.meta.dirname, "../node_modules/.bin/forage");
  const result = spawnSync(launcher, ["grep", "--count", "retry", "src/main.py"], { cwd: tree, encoding: "utf8", timeout: 20_000 });
  assert.deepEqual([result.stdout, result.status], ["2\n", 0], result.stderr);
  assert.equal(spawnSync(launcher, ["grep", "nothing has this"], { cwd: tree, timeout: 20_000 }).status, 1);
});

test("exports shadow no global", () => {
  assert.deepEqual(Object.keys(forage).filter((name) => name in globalThis), []);
});

test("CommonJS has the same exports", () => {
  const required = require("forage-search");
  assert.equal(required.Workspace, Workspace);
  assert.deepEqual(Object.keys(required).sort(), Object.keys(forage).sort());
});

test("error classes and hints", async () => {
  const workspace = open();
  const cases = [
    [() => workspace.grep({ pattern: "(?P<unclosed" }), forage.PatternError],
    [() => workspace.read({ path: "src/mian.py" }), forage.PathError],
    [() => workspace.call("no_such_tool"), forage.UnknownToolError],
    [() => workspace.grep({ pattern: "x", filePattern: "a[" }), forage.ArgumentError],
    [() => workspace.grep({}), forage.RequestError],
    [() => workspace.grep(), forage.RequestError],
    [() => workspace.grep("x"), forage.RequestError],
    [() => workspace.grep(["x"]), TypeError],
    [() => workspace.call("grep_search", '{"pattern": '), forage.RequestError],
    [() => workspace.keywordSearch({ query: "retries", searchTerms: ["retry"] }), forage.NoModelError],
    [() => workspace.ask("where is it?"), forage.NoModelError],
    [() => workspace.tools("nonsense"), forage.ArgumentError],
    [() => open(path.join(tree, "nowhere")), forage.PathError],
    [() => open(tree, { models: [{ model: "x" }] }), forage.NoModelError],
    [() => open(tree, { nonsense: 1 }), forage.RequestError],
    [() => open(tree, { timeoutMs: 0 }), forage.ArgumentError],
  ];
  for (const [call, kind] of cases) {
    await assert.rejects(async () => call(), (error) => {
      assert(error instanceof kind, `${call}: ${error.stack}`);
      assert(error instanceof forage.ForageError || kind === TypeError);
      assert(error.message);
      return true;
    });
  }
  await assert.rejects(workspace.read({ path: "src/mian.py" }), /main\.py/);
  await assert.rejects(workspace.keywordSearch({ query: "retries", searchTerms: ["retry"] }), (error) => {
    assert.equal(error.code, "no_model");
    assert.equal(error.name, "NoModelError");
    assert(error.message.includes(error.hint));
    return true;
  });
  for (const models of [["sk-secret"], [{ model: "x", apiKey: 1234567 }]]) {
    assert.throws(() => open(tree, { models }), (error) => !/secret|1234567/.test(error.message));
  }
  const error = new forage.PathError("nowhere");
  assert.deepEqual([error.code, error.name, new forage.ForageError("x").code], ["path", "PathError", "failed"]);
  class CustomError extends forage.ForageError {
    name = "CustomError";
  }
  assert.equal(String(Object.assign(new CustomError("x"), { name: "Other" })), "Other: x");
  // The text for a model says how to correct the call.
  await assert.rejects(workspace.call("grep_search", {}), (error) => /Call it like this/.test(error.text));
});

test("unreachable collection fails on lookup, not on opening", async () => {
  const collection = { url: "http://127.0.0.1:1", name: "own", apiKey: "secret", timeoutMs: 500, topK: 3, textField: "text" };
  for (const paths of [tree, []]) {
    const answer = await open(paths, { collection }).lookup({ query: "again" });
    assert.deepEqual([answer.found, answer.status, answer.hits], [false, "store_unavailable", []]);
    assert.match(answer.reason, /can't reach Qdrant at http:\/\/127\.0\.0\.1:1/);
  }
  await assert.rejects(open([], { collection }).grep({ pattern: "again" }), forage.PathError);
  assert.throws(() => open([]), forage.PathError);
  assert.throws(() => open(tree, { collection: { ...collection, directory: "here" } }), forage.ArgumentError);
  const embedded = open([], { collection: { directory: path.join(tree, "none") } });
  await assert.rejects(embedded.lookup({ query: "again" }), forage.CollectionError);
  assert.throws(() => open(tree, { collection: { url: "nonsense" } }), forage.ArgumentError);
});

test("streams return all results", async () => {
  const workspace = open();
  const each = workspace.grepEach({ pattern: "needle" });
  const pieces = await collect(each);
  assert.equal(pieces.reduce((sum, piece) => sum + piece.matchCount, 0), 5000);
  assert.equal(each.answer.matchCount, 5000);
  const records = await collect(workspace.searchEach({ pattern: "def " }));
  assert.equal(records.filter((record) => record.type === "match").length, 2);
  for (const given of [{ maxResults: 3 }, { cursor: "x" }, { fuzzy: 1, bestFirst: true }]) {
    await assert.rejects(collect(workspace.searchEach({ pattern: "needle", ...given })), forage.ArgumentError);
  }
  await assert.rejects(collect(workspace.grepEach({ pattern: "needle", maxResults: 3 })), forage.ArgumentError);
});

test("leaving a loop ends the search", async () => {
  const workspace = open(largeTree);
  for await (const piece of workspace.grepEach({ pattern: "a" })) {
    assert(piece.matchCount);
    break;
  }
  await waitUntilIdle();
  const each = workspace.grepEach({ pattern: "a" });
  await each.next();
  each.close();
  await waitUntilIdle();
  await assert.rejects(each.next(), forage.CancelledError);
});

test("closing a stream cancels its search and pending reads", async () => {
  const workspace = open(largeTree, { timeoutMs: 60000 });
  const each = workspace.searchEach(SLOW);
  const next = each.next();
  await sleep(50);
  each.close();
  await assert.rejects(next, forage.CancelledError);
  await assert.rejects(each.next(), forage.CancelledError);
  const failed = workspace.searchEach({ pattern: "(" });
  await assert.rejects(failed.next(), forage.PatternError);
  failed.close();
  assert.deepEqual(await failed.next(), { done: true, value: undefined });
  for (let tries = 0; tries < 20; tries++) {
    const each = workspace.grepEach({ pattern: "a" });
    const next = each.next().catch(() => undefined);
    await sleep(tries);
    each.close();
    await next;
    await assert.rejects(each.next(), forage.CancelledError);
  }
  await waitUntilIdle();
});

test("pending streams do not block calls", async () => {
  const workspace = open(largeTree, { timeoutMs: 60000 });
  const streams = Array.from({ length: 70 }, () => workspace.searchEach(SLOW));
  let doneReads = 0;
  const reads = streams.map((each) => each.next().finally(() => doneReads++));
  const settled = Promise.allSettled(reads);
  const answer = await workspace.list({}, { signal: AbortSignal.timeout(20_000) });
  assert.deepEqual([answer.found, doneReads], [true, 0]);
  streams.forEach((each) => each.close());
  await settled;
});

test("live signal does not keep an abandoned stream in memory", () => {
  const program = `
    const { Workspace } = require("forage-search");
    const { setTimeout: sleep } = require("node:timers/promises");
    const controller = new AbortController();
    (async () => {
      const workspace = new Workspace(${JSON.stringify(largeTree)}, { index: false });
      let kept = 0;
      const registry = new FinalizationRegistry(() => kept--);
      for (let n = 0; n < 8; n++) {
        const each = workspace.grepEach({ pattern: "999$" }, { signal: controller.signal });
        await each.next();
        registry.register(each, n);
        kept++;
      }
      for (let tries = 0; tries < 50 && kept > 1; tries++) {
        gc();
        await sleep(20);
      }
      console.log(kept <= 1);
    })();
  `;
  const output = execFileSync(process.execPath, ["--expose-gc", "-e", program], { cwd: import.meta.dirname, encoding: "utf8" });
  assert.equal(output, "true\n");
});

test("slow and concurrent readers get all results", async () => {
  for (let file = 0; file < 300; file++) {
    fs.writeFileSync(path.join(tree, "notes", `${file}.pin`), "pin\n");
  }
  let lines = 0;
  for await (const piece of open().grepEach({ pattern: "pin$" })) {
    lines += piece.matchCount;
    await sleep(2);
  }
  assert.equal(lines, 300);
  const each = open().grepEach({ pattern: "pin$" });
  const read = await Promise.all([collect(each), collect(each), collect(each)]);
  assert.equal(read.flat().length, 300);
  fs.readdirSync(path.join(tree, "notes")).filter((name) => name.endsWith(".pin")).forEach((name) => fs.rmSync(path.join(tree, "notes", name)));
});

test("stream reports its timeout", async () => {
  const each = open(largeTree, { timeoutMs: 300 }).grepEach({ pattern: "a" });
  await assert.rejects(async () => {
    for await (const _ of each) {
      await sleep(20);
    }
  }, forage.UnfinishedError);
});

test("abort signal ends a call and its work", async () => {
  const workspace = open(largeTree, { timeoutMs: 60000 });
  const controller = new AbortController();
  const call = workspace.search(SLOW, { signal: controller.signal });
  // The event loop must run meanwhile.
  let ticks = 0;
  for (; ticks < 20; ticks++) {
    await sleep(10);
  }
  controller.abort();
  await assert.rejects(call, { name: "AbortError" });
  await waitUntilIdle();
  assert.equal(ticks, 20);
  await assert.rejects(workspace.grep({ pattern: "x" }, { signal: AbortSignal.abort() }), { name: "AbortError" });
  await assert.rejects(workspace.search(SLOW, { signal: AbortSignal.timeout(100) }), { name: "TimeoutError" });
  const streamController = new AbortController();
  const each = workspace.grepEach({ pattern: "a" }, { signal: streamController.signal });
  await each.next();
  streamController.abort(new Error("enough"));
  await assert.rejects(collect(each), /enough/);
  // All results arrive with the first read.
  const lateController = new AbortController();
  const small = open().searchEach({ pattern: "e" }, { signal: lateController.signal });
  await small.next();
  await sleep(200);
  await small.next();
  lateController.abort(new Error("enough"));
  await assert.rejects(collect(small), /enough/);
  const left = workspace.searchEach(SLOW);
  const next = left.next();
  await left.return();
  assert.deepEqual(await next, { done: true, value: undefined });
  await waitUntilIdle();
});

test("long search does not block the event loop", async () => {
  const workspace = open(largeTree);
  const start = performance.now();
  const pauses = [];
  let last = start;
  const timer = setInterval(() => {
    pauses.push(performance.now() - last);
    last = performance.now();
  }, 5);
  await assert.rejects(workspace.search({ ...SLOW, timeoutMs: 1000 }), forage.UnfinishedError);
  clearInterval(timer);
  const elapsed = performance.now() - start;
  assert(elapsed > 300, `${elapsed}`);
  assert(Math.max(...pauses) < elapsed / 2, `${Math.max(...pauses)} of ${elapsed} ms`);
});

test("loop of small calls does not starve the event loop", async () => {
  const workspace = open();
  const signal = AbortSignal.timeout(200);
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  await assert.rejects(
    async () => {
      for (let calls = 0; calls < 100_000; calls++) {
        await workspace.read({ path: "src/main.py" }, { signal });
      }
    },
    { name: "TimeoutError" },
  );
  clearInterval(timer);
  assert(ticks > 10, `${ticks}`);
});

test("error classes work in another realm", async () => {
  const context = vm.createContext({ process, console, Buffer, URL, setImmediate });
  const modules = new Map();
  const library = path.dirname(require.resolve("forage-search"));
  const load = (name) => {
    if (!name.startsWith("./") || name.endsWith("native.js")) {
      return require(name.startsWith("./") ? path.join(library, name) : name);
    }
    if (!modules.has(name)) {
      const module = { exports: {} };
      modules.set(name, module);
      const source = fs.readFileSync(path.join(library, name), "utf8");
      vm.runInContext(`(function (require, module) {${source}\n})`, context)(load, module);
    }
    return modules.get(name).exports;
  };
  const { Workspace, PatternError } = load("./index.js");
  const workspace = new Workspace(largeTree, { index: false });
  await assert.rejects(workspace.grep({ pattern: "(?P<x" }), (error) => error instanceof PatternError);
  const slow = workspace.search({ ...SLOW, timeoutMs: 500 });
  await assert.rejects(slow, (error) => error.code === "unfinished");
});

test("concurrent calls", async () => {
  const workspace = open();
  const answers = await Promise.all(Array.from({ length: 200 }, () => workspace.grep({ pattern: "retry" })));
  assert(answers.every((answer) => answer.matchCount === 2));
});

test("memory is constant over ten thousand calls", { timeout: 120_000 }, () => {
  const program = `
    const { Workspace } = require("forage-search");
    const workspace = new Workspace(${JSON.stringify(tree)}, { index: false });
    const calls = async (count) => {
      for (let n = 0; n < count; n++) {
        (await workspace.read({ path: "src/main.py" })).toJSON();
      }
      gc();
      return process.memoryUsage().rss;
    };
    (async () => {
      await calls(2000);
      const before = await calls(1000);
      console.log((await calls(10000)) - before);
    })();
  `;
  const growth = execFileSync(process.execPath, ["--expose-gc", "-e", program], { cwd: import.meta.dirname, encoding: "utf8" });
  assert(Number(growth) < 4 << 20, growth);
});

test("closed workspace refuses calls", async () => {
  const workspace = open();
  const closed = workspace.close();
  await assert.rejects(workspace.grep({ pattern: "x" }), /closed/);
  await closed;
  await workspace.close();
});

test("unfinished index is saved on close and at exit", async () => {
  const [directory, saved] = [path.join(scratch, "many"), path.join(scratch, "kept")];
  fs.mkdirSync(directory);
  for (let file = 0; file < 6000; file++) {
    fs.writeFileSync(path.join(directory, `${file}.txt`), `needle ${file}\n`.repeat(20));
  }
  const completeIndexes = (index) => fs.readdirSync(index, { recursive: true }).filter((name) => path.basename(name) === "base");
  const workspace = open(directory, { index: path.join(saved, "closed"), watch: true });
  await workspace.grep({ pattern: "needle 7$" });
  const closed = workspace.close();
  await workspace.close();
  assert.equal(completeIndexes(path.join(saved, "closed")).length, 1);
  await closed;
  const endings = {
    returns: "",
    exits: "process.exit(0);",
    throws: "throw new Error('x');",
    closes: "workspace.close(); process.exit(0);",
    "exits outside": "setImmediate(() => process.stdout.write('x'));",
  };
  for (const [name, end] of Object.entries(endings)) {
    for (const isWorker of [false, true]) {
      const index = path.join(saved, `${name}-${isWorker}`);
      const program = `
        const { Workspace } = require("forage-search");
        let workspace = new Workspace(${JSON.stringify(directory)}, { index: ${JSON.stringify(index)}, watch: true });
        workspace.grep({ pattern: "needle 7$" }).then(() => { ${end} });
      `;
      const inWorker = `
        const { Worker } = require("node:worker_threads");
        const worker = new Worker(${JSON.stringify(program)}, { eval: true, stdout: true }).on("error", () => {});
        require("forage-search");
        worker.stdout.on("data", () => process.exit(0));
      `;
      const began = Date.now();
      spawnSync(process.execPath, ["-e", isWorker ? inWorker : program], { cwd: import.meta.dirname });
      // The exit waits for 1.5 s at most, which is not enough on a busy machine.
      if (Date.now() - began < 1500) assert.equal(completeIndexes(index).length, 1, index);
    }
  }
});

test("index in a given directory", async () => {
  const workspace = open(tree, { index: path.join(scratch, "indexes"), watch: true });
  await workspace.buildIndex();
  assert.equal((await workspace.grep({ pattern: "needle 4999" })).matchCount, 1);
  await workspace.close();
  assert(fs.readdirSync(path.join(scratch, "indexes")).length > 0);
});

test("tool definitions for each provider", () => {
  for (const format of ["openai", "openai-strict", "anthropic", "gemini", "mcp"]) {
    const names = open().tools(format).map((tool) => tool.name ?? tool.function.name);
    assert(names.includes("grep_search") && names.includes("read_file"), `${names}`);
  }
});

test("workers use workspaces and can be terminated during a call", async () => {
  const program = (body) => `
    const { parentPort } = require("node:worker_threads");
    const { PathError, Workspace } = require(${JSON.stringify(require.resolve("forage-search"))});
    (async () => { ${body} })();
  `;
  const answers = program(`
    const workspace = new Workspace(${JSON.stringify(tree)}, { index: false });
    const error = await workspace.read({ path: "nowhere" }).catch((error) => error);
    parentPort.postMessage([(await workspace.grep({ pattern: "retry" })).matchCount, error instanceof PathError]);
  `);
  const workers = Array.from({ length: 4 }, () => new Worker(answers, { eval: true }));
  const messages = await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once("message", resolve))));
  assert.deepEqual(messages, Array(4).fill([2, true]));
  const hangs = program(`
    parentPort.postMessage("begun");
    await new Workspace(${JSON.stringify(largeTree)}, { index: false }).search(${JSON.stringify({ ...SLOW, timeoutMs: 2000 })});
  `);
  for (let round = 0; round < 3; round++) {
    const worker = new Worker(hangs, { eval: true });
    await new Promise((resolve) => worker.once("message", resolve));
    await sleep(100);
    await worker.terminate();
  }
  // Their calls end later, and must not crash the process.
  await sleep(2500);
  assert.equal((await open().grep({ pattern: "retry" })).matchCount, 2);
});

test("child process can open workspaces", async () => {
  const script = path.join(scratch, "child.cjs");
  fs.writeFileSync(
    script,
    `const { Workspace } = require(${JSON.stringify(require.resolve("forage-search"))});
     new Workspace(${JSON.stringify(tree)}, { index: false }).grep({ pattern: "retry" }).then((answer) => process.send(answer.matchCount));`,
  );
  const workspace = open();
  await workspace.grep({ pattern: "retry" });
  const child = fork(script);
  assert.equal(await new Promise((resolve) => child.once("message", resolve)), 2);
});

test("program exits when its calls have ended", () => {
  const program = `
    const { Workspace } = require("forage-search");
    new Workspace(${JSON.stringify(tree)}, { watch: true, index: ${JSON.stringify(path.join(scratch, "ends"))} })
      .grep({ pattern: "retry" }).then((answer) => console.log(answer.matchCount));
  `;
  const done = spawnSync(process.execPath, ["-e", program], { cwd: import.meta.dirname, encoding: "utf8", timeout: 20_000 });
  assert.equal(done.stdout, "2\n", done.stderr);
  assert.equal(done.status, 0);
});

test("question is answered", async () => {
  const models = [{ provider: "scripted", model: "scripted", baseUrl: await model(READS_MAIN) }];
  const events = [];
  const answer = await open(tree, { models }).ask("Where is it retried?", { watch: (event) => events.push(event) });
  assert.equal(answer.answer, "In `src/main.py:5`.");
  assert(answer.text.includes(answer.answer));
  assert.equal(answer.toJSON().turns[0].calls[0].tool, "read_file");
  const types = events.map((event) => event.type);
  assert(["asking", "call_started", "call_ended"].every((type) => types.includes(type)), `${types}`);
});

test("exception in a watch callback ends the question", async () => {
  const models = [{ provider: "scripted", model: "scripted", baseUrl: await model(READS_MAIN) }];
  const thrown = new Error("enough");
  const throws = [() => { throw thrown; }, async () => { throw thrown; }];
  for (const fail of throws) {
    let calls = 0;
    const watch = () => (calls++, fail());
    await assert.rejects(open(tree, { models }).ask("Where is it retried?", { watch }), thrown);
    await sleep(200);
    assert.equal(calls, 1);
  }
  // A rejection after the end of the question is an unhandled rejection.
  const program = `
    const { Workspace } = require("forage-search");
    const workspace = new Workspace(${JSON.stringify(tree)}, { index: false, models: ${JSON.stringify(models)} });
    const watch = () => new Promise((_, reject) => setTimeout(reject, 1000, new Error("late")));
    workspace.ask("Where is it retried?", { watch }).then((asked) => console.log(asked.answer));
  `;
  const done = spawnSync(process.execPath, ["-e", program], { cwd: import.meta.dirname, encoding: "utf8" });
  assert.deepEqual([done.stdout, done.status], ["In `src/main.py:5`.\n", 1]);
  assert.match(done.stderr, /late/);
});

test("unanswered question has a transcript", async () => {
  const models = [{ provider: "nobody", model: "x", baseUrl: "http://127.0.0.1:9/v1" }];
  await assert.rejects(open(tree, { models }).ask("Where?"), (error) => {
    assert(error instanceof forage.ModelsFailedError);
    assert.equal(error.transcript.question, "Where?");
    return true;
  });
});
