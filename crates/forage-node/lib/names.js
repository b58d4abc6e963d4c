// Names in camel case for programs, and in snake case for the library.
"use strict";

function camel(name) {
  return name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
}

function snake(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Finds the fields of schemas and their parts whose keys are data, such as the reasons of `skipped`. */
function maps(schemas, found = new Set()) {
  for (const schema of schemas) {
    for (const [name, field] of Object.entries(schema?.properties ?? {})) {
      // For example `{ "type": ["object", "null"] }`, or a reference to a record of any form.
      const isObject = [field.type].flat().includes("object") && !field.properties;
      if (isObject || field.$ref?.endsWith("/ShownRecord")) {
        found.add(name);
      }
    }
    if (schema?.$defs) {
      maps(Object.values(schema.$defs), found);
    }
  }
  return found;
}

/** Returns a function that renames the fields of records with these schemas. */
function inCamelCase(schemas) {
  const keysAreData = maps(schemas);
  const renamed = (value) => {
    if (Array.isArray(value)) {
      return value.map(renamed);
    }
    if (!value || typeof value !== "object") {
      return value;
    }
    const fields = {};
    for (const name in value) {
      fields[camel(name)] = keysAreData.has(name) ? value[name] : renamed(value[name]);
    }
    return fields;
  };
  return renamed;
}

/** Renames the fields of an object and of the objects in it. */
function inSnakeCase(value) {
  if (Array.isArray(value)) {
    return value.map(inSnakeCase);
  }
  if (!value || Object.getPrototypeOf(value) !== Object.prototype) {
    return value;
  }
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [snake(name), inSnakeCase(field)]));
}

module.exports = { camel, inCamelCase, inSnakeCase };
