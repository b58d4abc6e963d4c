"""Whether a file of spans is what OpenTelemetry's own packages read and would write themselves.

Each line of the file that is named is one `TracesData` in OTLP's JSON. It is read by the official messages, which refuse a field
or a type that they don't know; its spans are made spans of the SDK, written by the SDK's exporter, and compared. Their
attributes are looked up in the semantic conventions, those of our own apart.
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
    """The names of attributes, and by name what it may be, where that is a list."""
    names, values = set(), {}
    # Most of them are below a folder that is no package, which `pkgutil` passes by.
    top = Path(semconv.__path__[0])
    for module in top.rglob("*_attributes.py"):
        parts = module.relative_to(top).with_suffix("").parts
        of = importlib.import_module(".".join([semconv.__name__, *parts]))
        for constant, name in vars(of).items():
            if not constant.isupper() or not isinstance(name, str):
                continue
            names.add(name)
            # `GEN_AI_OPERATION_NAME` has its values in `GenAiOperationNameValues`.
            listed = getattr(of, "".join(part.capitalize() for part in constant.split("_")) + "Values", None)
            if listed:
                values.setdefault(name, set()).update(value.value for value in listed)
    return names, values


NAMES, VALUES = conventions()


def as_protobuf_has_it(document):
    """OTLP's JSON has identifiers in hexadecimal, where protobuf's has base64."""
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    return document


def plain(attributes):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


def spans_of_the_sdk(traces):
    for of_resource in traces.resource_spans:
        resource = Resource(plain(of_resource.resource.attributes), of_resource.schema_url)
        for of_scope in of_resource.scope_spans:
            scope = InstrumentationScope(of_scope.scope.name, of_scope.scope.version, of_scope.schema_url)
            for span in of_scope.spans:
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
                    # The messages count from 0 for what isn't said.
                    kind=SpanKind(span.kind - 1),
                    instrumentation_scope=scope,
                    status=Status(StatusCode(span.status.code), span.status.message or None),
                    start_time=span.start_time_unix_nano,
                    end_time=span.end_time_unix_nano,
                )


def faults_of_names(attributes):
    for name, value in attributes.items():
        if name.startswith(OURS):
            continue
        if name not in NAMES:
            yield f"{name} is no attribute of the conventions"
        elif name in VALUES and name != "error.type" and value not in VALUES[name]:
            yield f"{name} is {value}, which is none of {sorted(VALUES[name])}"


counted, faults = 0, []
for path in sys.argv[1:]:
    for line in open(path):
        traces = ParseDict(as_protobuf_has_it(json.loads(line)), TracesData(), ignore_unknown_fields=False)
        read = list(spans_of_the_sdk(traces))
        counted += len(read)
        written = encode_spans(read)
        # The order of attributes says nothing.
        one, other = (MessageToJson(message, sort_keys=True) for message in (traces, written))
        if one != other:
            faults.append(f"{path}: the SDK writes\n{other}\nwhere we wrote\n{one}")
        for span in read:
            faults += faults_of_names({**span.attributes, **span.resource.attributes})
        # What is refused here must be refused, or the rest says nothing.
        for spoilt in ("resourceSpans", "scopeSpans", "spans", "traceId", "kind", "startTimeUnixNano"):
            try:
                document = as_protobuf_has_it(json.loads(line))
                ParseDict(json.loads(json.dumps(document).replace(f'"{spoilt}"', '"noSuchField"')), TracesData())
            except Exception:
                continue
            faults.append(f"{path}: without {spoilt} it is read, too")

assert list(faults_of_names({"gen_ai.no_such_name": "x"})) and list(faults_of_names({"gen_ai.operation.name": "x"}))
print("\n".join(dict.fromkeys(faults)) or f"{counted} spans: all are as OpenTelemetry has them")
