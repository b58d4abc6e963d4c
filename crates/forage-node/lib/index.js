// Workspaces: directories, and the tools that search them. The methods are created from the tools of the native module. Their types
// are in `index.d.ts`.
"use strict";

const { fileURLToPath } = require("node:url");
const { isPromise } = require("node:util").types;
const { isMainThread } = require("node:worker_threads");

const { Answer, Asked, METHODS, inCamel } = require("./answers.js");
const { ForageError, classes, unwrap } = require("./errors.js");
const { camel, inSnakeCase } = require("./names.js");
const native = require("./native.js");

// Saves the unfinished indexes of workspaces that are still open.
const owner = native.owner();
process.once("exit", () => native.endAll(isMainThread ? undefined : owner));

/** Maximum number of synchronous results between turns of the event loop, so that a loop of small calls can't starve it. */
const MAX_SYNC_RESULTS = 16;
let syncResults = 0;

/** Waits for a result of the native module, which is a value or a promise. */
async function awaitResult(result) {
  // A promise of another realm is no instance of this realm's `Promise`.
  if (isPromise(result)) {
    return unwrap(await result);
  }
  if (syncResults++ === 0) {
    setImmediate(() => (syncResults = 0));
  }
  if (syncResults > MAX_SYNC_RESULTS) {
    await new Promise(setImmediate);
  }
  return unwrap(result);
}

/** The results of a search that runs while they are read. */
class Each {
  #pieces;
  #AnswerClass;
  #signal;
  #ready = [];
  #reading = Promise.resolve();
  #isOver = false;
  #isLeft = false;
  #isCut = false;
  #abort;

  constructor(pieces, AnswerClass, signal) {
    this.#pieces = pieces;
    this.#AnswerClass = AnswerClass;
    this.#signal = signal;
    this.answer = undefined;
    if (signal) {
      // The weak reference allows an abandoned stream to be collected while its signal lives on.
      const each = new WeakRef(this);
      this.#abort = () => each.deref()?.close();
      signal.addEventListener("abort", this.#abort, { once: true });
    }
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /** Reads are queued, because a batch of one read can contain the results of the next. */
  next() {
    const next = this.#reading.then(() => this.#next());
    this.#reading = next.catch(() => {});
    return next;
  }

  async #next() {
    if (this.#ready.length === 0 && !this.#isCut) {
      await this.#read();
    }
    if (this.#isLeft) {
      return { done: true, value: undefined };
    }
    if (this.#ready.length > 0 || this.#isCut) {
      this.#signal?.throwIfAborted();
    }
    if (this.#isCut) {
      throw new classes.CancelledError("the search was cancelled before all results were returned");
    }
    const piece = this.#ready.pop();
    return piece === undefined ? { done: true, value: undefined } : { done: false, value: inCamel(JSON.parse(piece)) };
  }

  async #read() {
    let batch;
    try {
      batch = await awaitResult(this.#pieces.next());
    } catch (error) {
      this.#isOver = true;
      this.#release();
      if (this.#isLeft) {
        return;
      }
      this.#signal?.throwIfAborted();
      throw error;
    }
    this.#ready = batch?.pieces.reverse() ?? [];
    this.#isOver = !batch || Boolean(batch.answer);
    if (batch?.answer) {
      this.answer = new this.#AnswerClass(batch.answer);
      this.#release();
    }
  }

  #release() {
    this.#signal?.removeEventListener("abort", this.#abort);
  }

  /** Ends the search when a loop is left early. */
  async return(value) {
    this.#isLeft = true;
    this.close();
    return { done: true, value };
  }

  close() {
    this.#isCut ||= !this.#isOver || this.#ready.length > 0;
    this.#pieces.close();
    this.#release();
  }
}
if (Symbol.asyncDispose) {
  Each.prototype[Symbol.asyncDispose] = async function () {
    await this.return();
  };
}

/**
 * Waits for the result of a native call, and for `end`, which settles after it. An aborted signal or a failure that `begin` reports
 * cancels the call and ends the wait immediately.
 */
async function awaitCall(signal, begin, end) {
  const stop = new native.NodeStop();
  signal?.throwIfAborted();
  let fail;
  const failed = new Promise((_, reject) => {
    fail = (reason) => {
      stop.cancel();
      reject(reason);
    };
  });
  const abort = () => fail(signal.reason);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    const answer = awaitResult(begin(stop, fail));
    if (end) {
      const settled = Promise.allSettled([answer, end]);
      await Promise.race([settled, failed]);
    }
    return await Promise.race([answer, failed]);
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

/** Passes events to a function. `end` is fulfilled when it got all of them. */
class Watcher {
  isOver = false;
  #watch;
  #ended;

  constructor(watch) {
    this.#watch = watch;
    this.end = new Promise((resolve) => (this.#ended = resolve));
  }

  /** Returns the function that the native module calls with each event as JSON, and with `null` after the last. */
  callback(fail) {
    const refuse = (reason) => {
      fail(reason);
      // The question has ended, so the rejection must stay unhandled.
      return this.isOver ? Promise.reject(reason) : undefined;
    };
    return (event) => {
      if (event === null) {
        this.#ended();
      } else if (!this.isOver) {
        try {
          const result = this.#watch(inCamel(JSON.parse(event)));
          if (typeof result?.then === "function") {
            Promise.resolve(result).then(undefined, refuse);
          }
        } catch (error) {
          fail(error);
        }
      }
    };
  }
}

/** Returns arguments as JSON. A string is JSON that a model wrote. */
function json(given) {
  if (typeof given === "string") {
    return given || "{}";
  }
  if (given === null || typeof given !== "object" || Array.isArray(given)) {
    throw new TypeError("the arguments must be an object with their names");
  }
  return JSON.stringify(given);
}

/** Returns the parameters of a method as JSON, in snake case. */
function parameters(given) {
  const isObject = given !== null && typeof given === "object" && !Array.isArray(given);
  return json(isObject ? inSnakeCase(given) : given);
}

function directory(path) {
  return path instanceof URL ? fileURLToPath(path) : String(path);
}

/** Returns settings as JSON, in snake case. */
function settings(given) {
  const { index, ...others } = given;
  return JSON.stringify({ ...inSnakeCase(others), index: index instanceof URL ? fileURLToPath(index) : index });
}

/** The class of the answers of each tool, by its name. */
const answers = new Map();

class Workspace {
  #raw;
  #closed;

  constructor(paths, given = {}) {
    const directories = (Array.isArray(paths) ? paths : [paths]).map(directory);
    this.#raw = unwrap(native.NodeToolbox.open(owner, directories, settings(given)));
  }

  get roots() {
    return this.#raw.roots;
  }

  tools(format = "openai", { only } = {}) {
    return JSON.parse(unwrap(this.#raw.definitions(format, only)));
  }

  async call(name, given = {}, { signal } = {}) {
    const raw = await awaitCall(signal, (stop) => this.#raw.call(name, json(given), stop));
    return new (answers.get(name) ?? Answer)(raw);
  }

  async ask(question, { signal, watch } = {}) {
    if (!watch) {
      return new Asked(await awaitCall(signal, (stop) => this.#raw.ask(question, stop)));
    }
    const watcher = new Watcher(watch);
    try {
      const ask = (stop, fail) => this.#raw.ask(question, stop, watcher.callback(fail));
      return new Asked(await awaitCall(signal, ask, watcher.end));
    } finally {
      watcher.isOver = true;
    }
  }

  async buildIndex({ signal } = {}) {
    await awaitCall(signal, (stop) => this.#raw.buildIndex(stop));
  }

  close() {
    this.#closed ??= awaitResult(this.#raw.close());
    return this.#closed;
  }

  static _add(method) {
    const { name, tool, items } = method;
    const AnswerClass = class extends Answer {};
    Object.defineProperty(AnswerClass, "name", { value: camel(`_${name}_answer`) });
    for (const field of Object.keys(method.answer.properties).map(camel)) {
      if (!(field in Answer.prototype)) {
        Object.defineProperty(AnswerClass.prototype, field, {
          get() {
            return this.toJSON()[field];
          },
        });
      }
    }
    if (items) {
      Object.defineProperty(AnswerClass.prototype, Symbol.iterator, {
        value() {
          return this.toJSON()[camel(items)][Symbol.iterator]();
        },
      });
    }
    answers.set(tool, AnswerClass);
    const methodName = camel(name);
    const functions = {
      async [methodName](given = {}, { signal } = {}) {
        return new AnswerClass(await awaitCall(signal, (stop) => this.#raw.callMethod(name, parameters(given), stop)));
      },
    };
    if (method.each) {
      functions[`${methodName}Each`] = function (given = {}, { signal } = {}) {
        signal?.throwIfAborted();
        return new Each(unwrap(this.#raw.each(name, parameters(given))), AnswerClass, signal);
      };
    }
    for (const [name, value] of Object.entries(functions)) {
      Object.defineProperty(Workspace.prototype, name, { value, writable: true, configurable: true });
    }
  }
}
if (Symbol.dispose) {
  Workspace.prototype[Symbol.dispose] = function () {
    this.close();
  };
  Workspace.prototype[Symbol.asyncDispose] = Workspace.prototype.close;
}

METHODS.forEach(Workspace._add);
delete Workspace._add;

module.exports = { Workspace, Answer, Asked, Each, ForageError, ...classes };
