// Errors: one class for each error code, and their base class `ForageError`.
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
const ATTRIBUTES = { writable: true, configurable: true };
Object.defineProperty(ForageError.prototype, "name", { ...ATTRIBUTES, value: "ForageError" });

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
  Object.defineProperty(classes[name].prototype, "name", { ...ATTRIBUTES, value: name });
  byCode.set(code, classes[name]);
}

/** Returns a result of the native module, or throws the error that it describes. */
function unwrap(result) {
  // The native module creates no other objects with a code.
  if (result === null || typeof result !== "object" || !Object.hasOwn(result, "code")) {
    return result;
  }
  const { code, message, hint, text, transcript } = result;
  const ErrorClass = byCode.get(code) ?? ForageError;
  throw new ErrorClass(message, { code, hint, text, transcript: transcript && JSON.parse(transcript) });
}

module.exports = { ForageError, classes, unwrap };
