"""Checks that OpenTelemetry's own packages can read files of spans, and would write the same.

Each line of a file is one `TracesData` in OTLP's JSON encoding. The official protobuf messages parse it, and refuse unknown fields
and types. The spans are converted to spans of the SDK, encoded by the SDK's exporter, and compared with the input. Attributes must
be in the semantic conventions, except for our own.
"""

import base64
import importlib
import json
import sys
from pathlib import Path

from google.protobuf.json_format import MessageToJson, ParseDict
from opentelemetry import semconv
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode

OURS = "forage."


def conventions():
    """Returns the names of all attributes, and the allowed values of enumerations by name."""
    names, values = set(), {}
    # Most modules are in a folder that is no package, which `pkgutil` ignores.
    top = Path(semconv.__path__[0])
    for module in top.rglob("*_attributes.py"):
        parts = module.relative_to(top).with_suffix("").parts
        module_constants = importlib.import_module(".".join([semconv.__name__, *parts]))
        for constant, name in vars(module_constants).items():
            if not constant.isupper() or not isinstance(name, str):
                continue
            names.add(name)
            # `GEN_AI_OPERATION_NAME` has its values in `GenAiOperationNameValues`.
            listed = getattr(module_constants, "".join(part.capitalize() for part in constant.split("_")) + "Values", None)
            if listed:
                values.setdefault(name, set()).update(value.value for value in listed)
    return names, values


NAMES, VALUES = conventions()


def to_protobuf_json(document):
    """Converts ids from hexadecimal, as in OTLP's JSON, to base64, as in protobuf's JSON."""
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    return document


def plain(attributes):
    return {attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value")) for attribute in attributes}


def sdk_spans(traces):
    for resource_spans in traces.resource_spans:
        resource = Resource(plain(resource_spans.resource.attributes), resource_spans.schema_url)
        for scope_spans in resource_spans.scope_spans:
            scope = InstrumentationScope(scope_spans.scope.name, scope_spans.scope.version, scope_spans.schema_url)
            for span in scope_spans.spans:
                trace = int.from_bytes(span.trace_id, "big")
                context = SpanContext(trace, int.from_bytes(span.span_id, "big"), is_remote=False)
                assert context.is_valid, span
                parent = None
                if span.parent_span_id:
                    parent = SpanContext(trace, int.from_bytes(span.parent_span_id, "big"), is_remote=True)
                    assert parent.is_valid, span
                assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span
                yield ReadableSpan(
                    name=span.name,
                    context=context,
                    parent=parent,
                    resource=resource,
                    attributes=plain(span.attributes),
                    # In protobuf, 0 means unspecified.
                    kind=SpanKind(span.kind - 1),
                    instrumentation_scope=scope,
                    status=Status(StatusCode(span.status.code), span.status.message or None),
                    start_time=span.start_time_unix_nano,
                    end_time=span.end_time_unix_nano,
                )


def attribute_errors(attributes):
    for name, value in attributes.items():
        if name.startswith(OURS):
            continue
        if name not in NAMES:
            yield f"{name} is not in the semantic conventions"
        elif name in VALUES and name != "error.type" and value not in VALUES[name]:
            yield f"{name} is {value}, which is not one of {sorted(VALUES[name])}"


count, errors = 0, []
for path in sys.argv[1:]:
    for line in open(path):
        traces = ParseDict(to_protobuf_json(json.loads(line)), TracesData(), ignore_unknown_fields=False)
        spans = list(sdk_spans(traces))
        count += len(spans)
        encoded = encode_spans(spans)
        # The order of attributes is not significant.
        ours, theirs = (MessageToJson(message, sort_keys=True) for message in (traces, encoded))
        if ours != theirs:
            errors.append(f"{path}: the SDK writes\n{theirs}\nbut we wrote\n{ours}")
        for span in spans:
            errors += attribute_errors({**span.attributes, **span.resource.attributes})
        # Negative controls: the parser must refuse input without these fields.
        for field in ("resourceSpans", "scopeSpans", "spans", "traceId", "kind", "startTimeUnixNano"):
            try:
                document = to_protobuf_json(json.loads(line))
                ParseDict(json.loads(json.dumps(document).replace(f'"{field}"', '"noSuchField"')), TracesData())
            except Exception:
                continue
            errors.append(f"{path}: accepted without {field}")

assert list(attribute_errors({"gen_ai.no_such_name": "x"})) and list(attribute_errors({"gen_ai.operation.name": "x"}))
print("\n".join(dict.fromkeys(errors)) or f"{count} spans: all match OpenTelemetry's encoding")
