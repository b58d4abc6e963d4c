"""Whether documents keep to their schemas, with the validator that most of Python uses.

Standard input is one JSON object: `schemas` by name, and `documents`, a list of [name, command, document]. A field that the
schema does not name is a fault here, though it is none for JSON Schema.
"""

import copy
import json
import sys

from jsonschema import Draft202012Validator


def strict(schema):
    if isinstance(schema, dict):
        for part in schema.values():
            strict(part)
        # What stands beside a `$ref` in `anyOf` is never an object with fields of its own here.
        if "properties" in schema and "additionalProperties" not in schema:
            schema["additionalProperties"] = False
    elif isinstance(schema, list):
        for part in schema:
            strict(part)
    return schema


def spoilt(document):
    """What no schema knows, and a field of another type."""
    if isinstance(document, list):
        return [*document, {"no_such_field": 1}], [*document, [[]]]
    return {**document, "no_such_field": 1}, {**document, **{key: [[]] for key in document}}


given = json.load(sys.stdin)
validators = {}
for name, schema in given["schemas"].items():
    Draft202012Validator.check_schema(schema)
    validators[name] = Draft202012Validator(strict(copy.deepcopy(schema)))

faults = []
seen = dict.fromkeys(validators, 0)
for name, command, document in given["documents"]:
    is_error = isinstance(document, dict) and document.get("type") == "error"
    seen["error" if is_error else name] += 1
    for error in validators[name].iter_errors(document):
        causes = error.context or [error]
        shown = "; ".join(f"{list(cause.absolute_path)}: {cause.message}" for cause in causes)
        faults.append(f"{name}: {command}: {shown[:2000]}")
    # The controls.
    for changed in spoilt(document):
        if validators[name].is_valid(changed) and name != "config":
            faults.append(f"{name}: {command}: anything is taken")

for fault in faults:
    print(fault)
for name, count in seen.items():
    if count == 0:
        print(f"{name}: nothing was seen of it")
print("all documents keep to their schemas" if not faults and all(seen.values()) else "there are faults")
