"""Reads recorded HTTP responses with botocore's service models.

Standard input: one JSON object a line with service (an AWS service id),
operation, status, headers and body (base64). Standard output: one JSON object
a line for each finding, with record (the number of its line), service,
operation, where and what, once for what several responses share; then one with
the counts of responses and of operations read.

A finding is a member, element or error code that the model does not know, a
value of another type, a value outside the model's enumeration or bounds, or a
required member that is missing; or that botocore cannot read the response.
"""

import base64
import binascii
import json
import re
import sys

from botocore.awsrequest import HeadersDict
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.parsers import create_parser
from botocore.utils import parse_timestamp

# botocore's name of the services whose id differs from it.
NAMES = {"EventBridge": "events"}

# Errors that any action may give. Source: the "Common Errors" page of each
# service's API reference, and for signatures the IAM user guide.
COMMON = {
    "query": {
        "AccessDenied", "ExpiredToken", "IncompleteSignature", "InternalFailure", "InvalidAction", "InvalidClientTokenId",
        "MissingAuthenticationToken", "SignatureDoesNotMatch", "Throttling", "ValidationError",
    },
    "json": {
        "AccessDeniedException", "ExpiredTokenException", "IncompleteSignatureException", "InternalFailure", "InvalidSignatureException",
        "MissingAuthenticationTokenException", "SerializationException", "ThrottlingException", "UnknownOperationException",
        "UnrecognizedClientException", "ValidationException",
    },
}
# SQS kept the codes of its query protocol for what every action may refuse.
# Source: SQS API reference, "Common Errors".
COMMON_SQS = {"AccessDenied", "InvalidParameterValue", "MissingParameter"}

# Values that AWS sends although the model's enumeration lacks them.
KNOWN_VALUES = {
    ("ec2", "PlatformValues"): {"windows"},  # EC2 API reference, Image: "The value is windows for Windows AMIs"
}

INTEGER, FLOAT = re.compile(r"-?[0-9]+"), re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
ISO8601 = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z")


class Reader:
    """Compares one response with the model of its operation."""

    def __init__(self, model, operation):
        self.model, self.operation = model, operation
        self.parser = create_parser(model.resolved_protocol)
        self.findings = []

    def find(self, where, what):
        self.findings.append((where, what))

    def read(self, status, headers, body):
        shape = self.operation.output_shape
        try:
            parsed = self.parser.parse({"status_code": status, "headers": HeadersDict(headers), "body": body}, shape)
        except Exception as err:  # whatever botocore stumbles over is a finding
            self.find("", f"botocore cannot read the response: {type(err).__name__}: {err}")
            return
        if not parsed.get("ResponseMetadata", {}).get("RequestId"):
            self.find("", "the response has no request id")
        if status >= 300:
            self.error(status, HeadersDict(headers), body, parsed.get("Error", {}))
        elif self.model.resolved_protocol in ("query", "ec2"):
            self.document(shape, body)
        elif shape is None or not shape.members:
            if body.strip() not in (b"", b"{}"):
                self.find("", f"the model has an empty answer, not {body[:80]!r}")
        else:
            self.json(shape, json.loads(body or b"{}"), "")

    # Errors.

    def error(self, status, headers, body, error):
        code = error.get("Code", "")
        if not code or not error.get("Message"):
            self.find("error", f"botocore reads code {code!r} and message {error.get('Message')!r}")
            return
        if self.model.resolved_protocol == "ec2":
            return  # the model of EC2 lists no errors
        if self.model.resolved_protocol == "query":
            self.known_error(code, status, COMMON["query"])
            return
        try:
            name = json.loads(body).get("__type", "")
        except ValueError:
            self.find("error", f"the error is no JSON: {body[:80]!r}")
            return
        common = COMMON["json"] | (COMMON_SQS if self.model.service_name == "sqs" else set())
        shape = self.known_error(name, status, common)
        wanted = shape.metadata.get("error", {}).get("code") if shape else None
        if wanted and wanted != code:
            self.find("error", f"{name} has the older code {wanted} in the model, not {code}")

    def known_error(self, name, status, common):
        for shape in self.operation.error_shapes:
            if name in (shape.name, shape.error_code):
                if self.model.resolved_protocol == "query" and name != shape.error_code:
                    self.find("error", f"{name} is on the wire {shape.error_code}")
                wanted = shape.metadata.get("error", {}).get("httpStatusCode")
                if wanted and wanted != status:
                    self.find("error", f"{name} comes with status {wanted} in the model, not {status}")
                return shape
        if name not in common:
            self.find("error", f"the model of the operation has no error {name}")
        return None

    # XML.

    def document(self, shape, body):
        root = self.parser._parse_xml_string_to_dom(body)
        wanted = "{%s}%sResponse" % (self.model.metadata["xmlNamespace"].rstrip("/"), self.operation.name)
        if root.tag.replace("/}", "}") != wanted:
            self.find("", f"the root element is {root.tag}, not {wanted}")
        metadata = {"requestId"} if self.model.resolved_protocol == "ec2" else {"ResponseMetadata"}
        if shape is None and self.model.resolved_protocol == "ec2":
            # EC2's answers without members say so with this element (EC2 API reference); the models leave it out.
            metadata = metadata | {"return"}
        wrapper = shape.serialization.get("resultWrapper") if shape is not None else None
        if wrapper:
            for child in root:
                if self.tag(child) not in metadata | {wrapper}:
                    self.find("", f"unknown element {self.tag(child)}")
            root, metadata = next(child for child in root if self.tag(child) == wrapper), set()
        self.xml_structure(shape.members if shape is not None else {}, shape.required_members if shape is not None else [], root, "", metadata)

    def tag(self, node):
        return self.parser._node_tag(node)

    def xml_structure(self, members, required, node, where, also=frozenset()):
        by_tag = {self.parser._member_key_name(member, name): (name, member) for name, member in members.items()}
        nodes = {}
        for child in node:
            nodes.setdefault(self.tag(child), []).append(child)
        for tag, children in nodes.items():
            if tag not in by_tag:
                if tag not in also:
                    self.find(f"{where}.{tag}", "unknown member")
                continue
            name, member = by_tag[tag]
            flat = member.type_name in ("list", "map") and member.serialization.get("flattened")
            if len(children) > 1 and not flat:
                self.find(f"{where}.{tag}", "is there more than once")
            if flat:
                self.xml_items(member, children, f"{where}.{name}")
            else:
                self.xml(member, children[0], f"{where}.{name}")
        for name in required:
            if self.parser._member_key_name(members[name], name) not in nodes:
                self.find(f"{where}.{name}", "required member is missing")

    def xml_items(self, shape, children, where):
        for child in children:
            self.xml(shape.member, child, where + "[]")

    def xml(self, shape, node, where):
        if shape.type_name == "structure":
            self.text_of(node, where, allowed=False)
            self.xml_structure(shape.members, shape.required_members, node, where)
        elif shape.type_name == "list":
            self.text_of(node, where, allowed=False)
            wanted = shape.member.serialization.get("name", "member")
            for child in node:
                if self.tag(child) != wanted:
                    self.find(f"{where}.{self.tag(child)}", f"list element is not named {wanted}")
            self.bounds(shape, len(node), where)
            self.xml_items(shape, list(node), where)
        elif shape.type_name == "map":
            for entry in node:
                for part in entry:
                    self.xml({"key": shape.key, "value": shape.value}.get(self.tag(part)), part, f"{where}{{}}")
        else:
            for child in node:
                self.find(f"{where}.{self.tag(child)}", f"element in a {shape.type_name}")
            self.scalar(shape, self.text_of(node, where, allowed=True), where)

    def text_of(self, node, where, allowed):
        text = node.text or ""
        if not allowed and text.strip():
            self.find(where, f"text {text.strip()[:40]!r} where elements belong")
        return text

    def scalar(self, shape, text, where):
        kind = shape.type_name
        if kind in ("integer", "long") and not INTEGER.fullmatch(text) or kind in ("float", "double") and not FLOAT.fullmatch(text):
            self.find(where, f"{text!r} is no {kind}")
        elif kind == "boolean" and text not in ("true", "false"):
            self.find(where, f"{text!r} is no boolean")
        elif kind == "timestamp" and not ISO8601.fullmatch(text):
            self.find(where, f"{text!r} is no timestamp in UTC")
        elif kind == "blob":
            self.blob(text, where)
        elif kind == "string":
            self.string(shape, text, where)
        elif kind in ("integer", "long"):
            self.bounds(shape, int(text), where)

    # JSON.

    def json(self, shape, value, where):
        kind = shape.type_name
        wanted = {
            "structure": dict, "map": dict, "list": list, "string": str, "blob": str, "boolean": bool, "integer": int, "long": int,
            "float": (int, float), "double": (int, float), "timestamp": (int, float),
        }[kind]
        if kind == "timestamp" and shape.serialization.get("timestampFormat", "unixTimestamp") != "unixTimestamp":
            wanted = str
        if not isinstance(value, wanted) or isinstance(value, bool) != (kind == "boolean"):
            self.find(where, f"{value!r} is no {kind}")
        elif kind == "structure":
            by_key = {member.serialization.get("name", name): (name, member) for name, member in shape.members.items()}
            for key, item in value.items():
                if key not in by_key:
                    self.find(f"{where}.{key}", "unknown member")
                else:
                    self.json(by_key[key][1], item, f"{where}.{by_key[key][0]}")
            for name in shape.required_members:
                if shape.members[name].serialization.get("name", name) not in value:
                    self.find(f"{where}.{name}", "required member is missing")
        elif kind == "map":
            for key, item in value.items():
                self.json(shape.key, key, f"{where}{{}}")
                self.json(shape.value, item, f"{where}{{}}")
        elif kind == "list":
            self.bounds(shape, len(value), where)
            for item in value:
                self.json(shape.member, item, where + "[]")
        elif kind == "string":
            self.string(shape, value, where)
        elif kind == "blob":
            self.blob(value, where)
        elif kind == "timestamp" and isinstance(value, str):
            parse_timestamp(value)
        elif kind in ("integer", "long"):
            self.bounds(shape, value, where)

    # Values.

    def string(self, shape, text, where):
        if shape.enum and text not in shape.enum and text not in KNOWN_VALUES.get((self.model.service_name, shape.name), ()):
            self.find(where, f"{text!r} is not in the model's enumeration")
        self.bounds(shape, len(text), where)
        pattern = shape.metadata.get("pattern")
        if pattern and matches(pattern, text) is False:
            self.find(where, f"{text!r} does not match {pattern}")

    def bounds(self, shape, size, where):
        if size < shape.metadata.get("min", size) or size > shape.metadata.get("max", size):
            self.find(where, f"size or value {size} is outside {shape.metadata.get('min')}..{shape.metadata.get('max')}")

    def blob(self, text, where):
        try:
            base64.b64decode(text, validate=True)
        except binascii.Error:
            self.find(where, f"{text[:40]!r} is no base64")


def matches(pattern, text):
    """Whether the text matches; None where Python cannot read the pattern (Java's classes)."""
    try:
        return re.fullmatch(pattern, text) is not None
    except re.error:
        return None


def main():
    loader, models = Loader(), {}
    seen, operations, responses = set(), set(), 0
    for line in sys.stdin:
        record = json.loads(line)
        service = NAMES.get(record["service"], record["service"].lower())
        if service not in models:
            models[service] = ServiceModel(loader.load_service_model(service, "service-2"), service)
        model = models[service]
        responses += 1
        operations.add((service, record["operation"]))
        reader = Reader(model, model.operation_model(record["operation"]))
        reader.read(record["status"], record["headers"], base64.b64decode(record["body"]))
        for where, what in reader.findings:
            finding = {"service": service, "operation": record["operation"], "where": where.lstrip("."), "what": what}
            text = json.dumps(finding)
            if text not in seen:
                seen.add(text)
                print(json.dumps(finding | {"record": responses - 1}))
    print(json.dumps({"responses": responses, "operations": len(operations)}))


main()
