// Workspaces: directories, and the tools that search them. The methods are created from the tools of the native part; their types
// are in `index.d.ts`.
"use strict";

const { fileURLToPath } = require("node:url");
const { isPromise } = require("node:util").types;
const { isMainThread } = require("node:worker_threads");

const { Answer, Asked, METHODS, inCamel } = require("./answers.js");
const { ForageError, classes, unwrapped } = require("./errors.js");
const { camel, inSnakeCase } = require("./names.js");
const native = require("./native.js");

// Workspaces that are not closed by then keep what was read for their indexes.
const owner = native.owner();
process.once("exit", () => native.endAll(isMainThread ? undefined : owner));

/** Calls that are answered at once before the event loop has a turn: a loop of small ones would leave it none. */
const AT_ONCE = 16;
let answeredAtOnce = 0;

/** Returns what the native part tells, at once or by a promise. */
async function answered(told) {
  // One of another realm is no instance of this one's class.
  if (isPromise(told)) {
    return unwrapped(await told);
  }
  if (answeredAtOnce++ === 0) {
    setImmediate(() => (answeredAtOnce = 0));
  }
  if (answeredAtOnce > AT_ONCE) {
    await new Promise(setImmediate);
  }
  return unwrapped(told);
}

/** What is found, while it is found. */
class Each {
  #pieces;
  #OfAnswer;
  #signal;
  #ready = [];
  #reading = Promise.resolve();
  #isOver = false;
  #isLeft = false;
  #isCut = false;
  #abort;

  constructor(pieces, OfAnswer, signal) {
    this.#pieces = pieces;
    this.#OfAnswer = OfAnswer;
    this.#signal = signal;
    this.answer = undefined;
    if (signal) {
      // A signal that goes on does not keep what nobody reads any more.
      const each = new WeakRef(this);
      this.#abort = () => each.deref()?.close();
      signal.addEventListener("abort", this.#abort, { once: true });
    }
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /** Readers take turns, as the pieces that one is given are those that the next waits for. */
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
      batch = await answered(this.#pieces.next());
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
      this.answer = new this.#OfAnswer(batch.answer);
      this.#release();
    }
  }

  #release() {
    this.#signal?.removeEventListener("abort", this.#abort);
  }

  /** Whoever leaves a loop ends the search. */
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
 * Waits for a promise of the native part, and for what comes `behind` its answer. A signal, or what `begin` fails with, ends its work,
 * and the wait for it at once.
 */
async function waited(signal, begin, behind) {
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
    const answer = answered(begin(stop, fail));
    if (behind) {
      const settled = Promise.allSettled([answer, behind]);
      await Promise.race([settled, failed]);
    }
    return await Promise.race([answer, failed]);
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

/** Tells a function of events. `end` is fulfilled when it was told of all of them. */
class Watched {
  isOver = false;
  #watch;
  #ended;

  constructor(watch) {
    this.#watch = watch;
    this.end = new Promise((resolve) => (this.#ended = resolve));
  }

  /** Returns what the native part tells: events in JSON, and `null` behind the last. */
  teller(fail) {
    const refuse = (reason) => {
      fail(reason);
      // Nobody waits any more: it is one that nobody handles.
      return this.isOver ? Promise.reject(reason) : undefined;
    };
    return (event) => {
      if (event === null) {
        this.#ended();
      } else if (!this.isOver) {
        try {
          const told = this.#watch(inCamel(JSON.parse(event)));
          if (typeof told?.then === "function") {
            Promise.resolve(told).then(undefined, refuse);
          }
        } catch (error) {
          fail(error);
        }
      }
    };
  }
}

/** Arguments as JSON; a model's are that already. */
function json(given) {
  if (typeof given === "string") {
    return given || "{}";
  }
  if (given === null || typeof given !== "object" || Array.isArray(given)) {
    throw new TypeError("the arguments are an object with their names");
  }
  return JSON.stringify(given);
}

/** Parameters of a method as JSON, with the names that the library has. */
function parameters(given) {
  const isObject = given !== null && typeof given === "object" && !Array.isArray(given);
  return json(isObject ? inSnakeCase(given) : given);
}

function directory(path) {
  return path instanceof URL ? fileURLToPath(path) : String(path);
}

/** Settings as JSON, with the names that the library has. */
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
    this.#raw = unwrapped(native.NodeToolbox.open(owner, directories, settings(given)));
  }

  get roots() {
    return this.#raw.roots;
  }

  tools(format = "openai", { only } = {}) {
    return JSON.parse(unwrapped(this.#raw.definitions(format, only)));
  }

  async call(name, given = {}, { signal } = {}) {
    const raw = await waited(signal, (stop) => this.#raw.call(name, json(given), stop));
    return new (answers.get(name) ?? Answer)(raw);
  }

  async ask(question, { signal, watch } = {}) {
    if (!watch) {
      return new Asked(await waited(signal, (stop) => this.#raw.ask(question, stop)));
    }
    const watched = new Watched(watch);
    try {
      const ask = (stop, fail) => this.#raw.ask(question, stop, watched.teller(fail));
      return new Asked(await waited(signal, ask, watched.end));
    } finally {
      watched.isOver = true;
    }
  }

  async buildIndex({ signal } = {}) {
    await waited(signal, (stop) => this.#raw.buildIndex(stop));
  }

  close() {
    this.#closed ??= answered(this.#raw.close());
    return this.#closed;
  }

  static _add(method) {
    const { name, tool, items } = method;
    const OfAnswer = class extends Answer {};
    Object.defineProperty(OfAnswer, "name", { value: camel(`_${name}_answer`) });
    for (const field of Object.keys(method.answer.properties).map(camel)) {
      if (!(field in Answer.prototype)) {
        Object.defineProperty(OfAnswer.prototype, field, {
          get() {
            return this.toJSON()[field];
          },
        });
      }
    }
    if (items) {
      Object.defineProperty(OfAnswer.prototype, Symbol.iterator, {
        value() {
          return this.toJSON()[camel(items)][Symbol.iterator]();
        },
      });
    }
    answers.set(tool, OfAnswer);
    const called = camel(name);
    const functions = {
      async [called](given = {}, { signal } = {}) {
        return new OfAnswer(await waited(signal, (stop) => this.#raw.callMethod(name, parameters(given), stop)));
      },
    };
    if (method.each) {
      functions[`${called}Each`] = function (given = {}, { signal } = {}) {
        signal?.throwIfAborted();
        return new Each(unwrapped(this.#raw.each(name, parameters(given))), OfAnswer, signal);
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
