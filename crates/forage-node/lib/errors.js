// Errors: one class for each code, so that each can be told by itself, or all of them as `ForageError`.
"use strict";

const native = require("./native.js");

class ForageError extends Error {
  constructor(message, { code = "failed", hint, text, transcript } = {}) {
    super(hint ? `${message} (${hint})` : message);
    this.code = code;
    this.hint = hint;
    this.text = text ?? this.message;
    this.transcript = transcript;
  }
}
const NAMED = { writable: true, configurable: true };
Object.defineProperty(ForageError.prototype, "name", { ...NAMED, value: "ForageError" });

const classes = {};
const byCode = new Map();
for (const { code, name } of JSON.parse(native.errorClasses())) {
  classes[name] = {
    [name]: class extends ForageError {
      constructor(message, options) {
        super(message, { code, ...options });
      }
    },
  }[name];
  Object.defineProperty(classes[name].prototype, "name", { ...NAMED, value: name });
  byCode.set(code, classes[name]);
}

/** Returns what the native part tells, or throws the error that it tells. */
function unwrapped(told) {
  // Of objects that are made for it, only an error has a code.
  if (told === null || typeof told !== "object" || !Object.hasOwn(told, "code")) {
    return told;
  }
  const { code, message, hint, text, transcript } = told;
  const OfCode = byCode.get(code) ?? ForageError;
  throw new OfCode(message, { code, hint, text, transcript: transcript && JSON.parse(transcript) });
}

module.exports = { ForageError, classes, unwrapped };
