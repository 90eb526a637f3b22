# SPDX-License-Identifier: GPL-3.0-or-later
"""The schemas of the documents that programs read, and the tables that docs/output.md has of them.

`python tests/support/documents.py` writes the tables again after a schema has changed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs" / "schemas"
PAGE = ROOT / "docs" / "output.md"
BEGIN = "<!-- The rest is made from docs/schemas by tests/support/documents.py. -->\n"
SAMPLE = "sample"
# What every document has is one table.
HEAD = ("schema", "verb", "created", "command", "failed", "errors")


def schema(name: str) -> dict[str, Any]:
    """Return the schema of a verb's document, or of a sample."""
    read: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    return read


def names() -> list[str]:
    """Return the verbs whose documents have a schema, and `sample`."""
    return sorted(path.stem for path in SCHEMAS.glob("*.json"))


def errors(document: dict[str, Any]) -> list[str]:
    """Return where a document differs from its schema; a key that the schema does not have counts, too."""
    closed = _closed(schema(document.get("verb", SAMPLE)))
    return [f"{error.json_path}: {error.message}" for error in Draft202012Validator(closed).iter_errors(document)]


def _closed(part: Any) -> Any:
    if isinstance(part, list):
        return [_closed(item) for item in part]
    if not isinstance(part, dict):
        return part
    closed = {key: _closed(value) for key, value in part.items()}
    return {**closed, "additionalProperties": False} if "required" in part else closed


def tables() -> str:
    """Return the tables of the page: the head, each verb, then the parts that they share."""
    schemas = {name: schema(name) for name in names()}
    lines = ["## Every document", "", *_table({key: schemas["status"]["properties"][key] for key in HEAD})]
    for name in sorted(schemas, key=lambda name: (name == SAMPLE, name)):
        keys = {key: part for key, part in schemas[name]["properties"].items() if name == SAMPLE or key not in HEAD}
        lines += [
            "",
            f"## {name}",
            "",
            f"{schemas[name]['description']} [Schema](schemas/{name}.json)",
            "",
            *_table(keys),
        ]
    parts = {key: part for name in schemas for key, part in schemas[name]["$defs"].items()}
    for key, part in sorted(parts.items()):
        lines += ["", f"## {_title(key)}", "", part["description"], "", *_table(part["properties"])]
    return "\n".join(lines) + "\n"


def _title(key: str) -> str:
    return f"Part: {key.replace('_', ' ')}"


def _table(properties: dict[str, Any]) -> list[str]:
    rows = [f"| `{key}` | {_type(part)} | {part.get('description', '')} |" for key, part in properties.items()]
    return ["| key | type | meaning |", "|---|---|---|", *rows]


def _type(part: dict[str, Any]) -> str:
    if "$ref" in part:
        key = part["$ref"].rpartition("/")[2]
        return f"[{key.replace('_', ' ')}](#part-{key.replace('_', '-')})"
    if "anyOf" in part:
        return " or ".join(map(_type, part["anyOf"]))
    kinds = part.get("type", "any")
    items = part.get("items") or part.get("additionalProperties")
    text = " or ".join([kinds] if isinstance(kinds, str) else kinds)
    return f"{text} of {_type(items)}" if items else text


if __name__ == "__main__":
    hand_written, _mark, _tables = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{hand_written}{BEGIN}\n{tables()}", encoding="utf-8")
