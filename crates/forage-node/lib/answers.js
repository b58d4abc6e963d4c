// Answers. Their records are parsed on first access.
"use strict";

const { inCamelCase } = require("./names.js");
const native = require("./native.js");

/** The methods of a workspace. */
const METHODS = JSON.parse(native.methods());

/** Renames the fields of records. */
const inCamel = inCamelCase(METHODS.flatMap(({ answer, each }) => [answer, each?.piece]));

/** Returns the records of an answer with the names that the command line prints. */
let printed;

/** An answer: `text` for a model or a person, and the records of the tool as properties. */
class Answer {
  #raw;
  #records;

  static {
    printed = (answer) => JSON.parse(answer.#raw.records());
  }

  constructor(raw) {
    this.#raw = raw;
  }

  get text() {
    return this.#raw.text;
  }

  get found() {
    return this.#raw.found;
  }

  toJSON() {
    this.#records ??= inCamel(printed(this));
    return this.#records;
  }

  toString() {
    return this.text;
  }
}

/** The answer to a question. */
class Asked {
  #records;

  constructor(raw) {
    this.text = raw.text;
    this.#records = JSON.parse(raw.records);
  }

  get answer() {
    return this.#records.answer;
  }

  toJSON() {
    return this.#records;
  }

  toString() {
    return this.text;
  }
}

module.exports = { Answer, Asked, METHODS, inCamel, printed };
