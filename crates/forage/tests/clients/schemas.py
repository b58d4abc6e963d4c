"""Validates documents against their schemas with the most common validator for Python.

Standard input is a JSON object: `schemas` by name, and `documents`, a list of [name, command, document]. Fields that are not
in the schema are errors here, although JSON Schema allows them.
"""

import copy
import json
import sys

from jsonschema import Draft202012Validator


def strict(schema):
    if isinstance(schema, dict):
        for part in schema.values():
            strict(part)
        # Our schemas never have `properties` next to a `$ref` in `anyOf`, so this is safe.
        if "properties" in schema and "additionalProperties" not in schema:
            schema["additionalProperties"] = False
    elif isinstance(schema, list):
        for part in schema:
            strict(part)
    return schema


def invalid_variants(document):
    """Returns copies of a document with an unknown field, and with fields of another type."""
    if isinstance(document, list):
        return [*document, {"no_such_field": 1}], [*document, [[]]]
    return {**document, "no_such_field": 1}, {**document, **{key: [[]] for key in document}}


request = json.load(sys.stdin)
validators = {}
for name, schema in request["schemas"].items():
    Draft202012Validator.check_schema(schema)
    validators[name] = Draft202012Validator(strict(copy.deepcopy(schema)))

errors = []
seen = dict.fromkeys(validators, 0)
for name, command, document in request["documents"]:
    is_error = isinstance(document, dict) and document.get("type") == "error"
    seen["error" if is_error else name] += 1
    for error in validators[name].iter_errors(document):
        causes = error.context or [error]
        message = "; ".join(f"{list(cause.absolute_path)}: {cause.message}" for cause in causes)
        errors.append(f"{name}: {command}: {message[:2000]}")
    # Negative controls: the schema must refuse these.
    for invalid in invalid_variants(document):
        if validators[name].is_valid(invalid) and name != "config":
            errors.append(f"{name}: {command}: the schema accepts an invalid variant")

for fault in errors:
    print(fault)
for name, count in seen.items():
    if count == 0:
        print(f"{name}: no document was validated")
print("all documents conform to their schemas" if not errors and all(seen.values()) else "some documents are invalid")
