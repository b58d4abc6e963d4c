// The native part: one that was built here, or that of this machine's package.
"use strict";

const platform = `${process.platform}-${process.arch}`;

function load() {
  const places = ["./forage.node", `@forage-search/${platform}/forage.node`];
  for (const place of places) {
    let found;
    try {
      found = require.resolve(place);
    } catch {
      continue;
    }
    return require(found);
  }
  const advice = "install again without --omit=optional, or build it from source as docs/typescript.md says";
  throw new Error(`forage-search has no native part for ${platform} (Linux needs glibc): ${advice}`);
}

module.exports = load();
