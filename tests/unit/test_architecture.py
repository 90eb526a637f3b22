# SPDX-License-Identifier: GPL-3.0-or-later
"""The rooms and the rules of docs/architecture.md, held to the code."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath

from ansible_collections.muster.train.tests.support import sources
from ansible_collections.muster.train.tests.support.sources import ROOT, check_all

PLUGINS = ROOT / "plugins"
PAGE = sources.text("docs/architecture.md")
COLLECTION = "ansible_collections.muster.train.plugins."
SIDES = ("module_utils", "plugin_utils")
# Modules are documentation for the most part.
LONGEST, MODULES = 300, "plugins/modules/"
# What only the seam and the runner, which is a program of its own, may do on a node.
SYSTEM = {"ctypes", "fcntl", "glob", "pathlib", "selectors", "shutil", "subprocess"}
# What os does to files and processes.
OS_CALLS = re.compile(
    r"os\.(access|chmod|chown|fdopen|kill|killpg|lchown|link|listdir|l?stat|makedirs|mkdir|mkfifo|open|popen|readlink"
    r"|remove|removedirs|renames?|replace|rmdir|scandir|statvfs|symlink|system|truncate|unlink|utime|walk"
    r"|path\.(exists|expanduser|getmtime|getsize|isdir|isfile|islink|ismount|lexists|realpath|samefile))"
)
# Refuses a controller's Python that is too old, before any other import fails.
GUARD = "plugin_utils/_action/__init__.py"
# The names by which Ansible finds plugins.
REQUIRED_CLASSES = {
    *("ActionModule", "CallbackModule", "Connection", "FilterModule", "InventoryModule", "ModuleDocFragment"),
}
# From plugins/.
SOURCES = [path.removeprefix("plugins/") for path in sources.files("plugins/**/*.py")]
NODE_SOURCES = [path for path in SOURCES if path.startswith(("module_utils/_", "modules/"))]


def read_rooms(page: str) -> dict[str, set[str]]:
    """The rooms of a page's tables with the rooms that each may import; "any of" a side are all others there."""
    rows = re.findall(r"^\| `(\w+/\w+)/` \|[^|]*\|([^|]*)\|$", page, flags=re.MULTILINE)
    every = [room for room, _cell in rows]
    result = {}
    for room, cell in rows:
        names = re.findall(r"`([\w/]+)/`", cell)
        if "any of" in cell:
            names = [other for other in every if other != room and {other, other.split("/")[0]} & {*names}]
        result[room] = set(names)
    return result


@cache
def rooms() -> dict[str, set[str]]:
    return read_rooms(PAGE)


def on_cycles(graph: Mapping[str, set[str]]) -> set[str]:
    """What remains of a graph when all that leads to no cycle is taken away."""
    remaining = {name: set(others) for name, others in graph.items()}
    while free := [name for name, others in remaining.items() if not others & set(remaining)]:
        for name in free:
            del remaining[name]
    return set(remaining)


def room_of(path: str) -> str | None:
    """The room of a file below plugins/: the folder of its subject on either side."""
    parts = PurePosixPath(path).parts
    return "/".join(parts[:2]) if parts[0] in SIDES and len(parts) > 2 else None


def nodes(path: str) -> tuple[ast.AST, ...]:
    """The nodes of the syntax tree of a file below plugins/."""
    return sources.nodes(f"plugins/{path}")


def modules(syntax: Collection[ast.AST]) -> set[str]:
    """The modules that nodes import by their full names."""
    names = {alias.name for node in syntax if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module or "" for node in syntax if isinstance(node, ast.ImportFrom) and not node.level}


def imports(path: str) -> Iterator[str]:
    """The files of this collection that a file imports."""
    package = PurePosixPath(path).parent.parts
    for node in nodes(path):
        if not isinstance(node, ast.ImportFrom):
            continue
        module = node.module or ""
        if not node.level and not module.startswith(COLLECTION):
            continue
        base = package[: len(package) - node.level + 1] if node.level else ()
        parts = (*base, *filter(None, module.removeprefix(COLLECTION).split(".")))
        for alias in node.names:
            names = ["/".join((*parts, alias.name)) + ".py", "/".join(parts) + ".py"]
            yield from [name for name in names if (PLUGINS / name).is_file()][:1]


def test_every_room_is_on_the_page() -> None:
    folders = {room for path in SOURCES if (room := room_of(path))}
    assert folders == set(rooms())


def test_a_side_has_few_rooms_and_no_loose_files() -> None:
    def breaches(side: str) -> Iterator[str]:
        entries = [path for path in (PLUGINS / side).iterdir() if path.name != "__pycache__"]
        if len(entries) > 19:
            yield f"{len(entries)} rooms"
        yield from [f"the loose file {path.name}" for path in entries if path.is_file()]

    check_all(SIDES, breaches)


def test_a_room_imports_only_what_the_page_allows() -> None:
    def breaches(path: str) -> Iterator[str]:
        room = room_of(path)
        assert room is not None
        imported = {other for name in imports(path) if (other := room_of(name)) and other != room}
        yield from [f"imports {other}" for other in sorted(imported - rooms()[room])]

    check_all([path for path in SOURCES if room_of(path)], breaches)


def test_the_page_allows_no_cycle_of_rooms() -> None:
    assert on_cycles(rooms()) == set()


def test_the_files_of_a_room_import_each_other_without_a_cycle() -> None:
    graph = {path: {name for name in imports(path) if room_of(name) == room_of(path)} for path in SOURCES}
    assert sum(map(len, graph.values())) > 100
    assert on_cycles(graph) == set()


def test_a_room_that_may_import_the_top_is_a_cycle() -> None:
    row = "| `module_utils/_facts/` | what runs | any of `module_utils/` |\n| `module_utils/_net/` | names | {} |\n"
    lower = read_rooms(row.format("nothing"))
    assert lower == {"module_utils/_facts": {"module_utils/_net"}, "module_utils/_net": set()}
    assert on_cycles(lower) == set()
    both = {"module_utils/_facts", "module_utils/_net"}
    assert on_cycles(read_rooms(row.format("`module_utils/_facts/`"))) == both


def test_files_are_small() -> None:
    def breaches(path: str) -> Iterator[str]:
        lines = len(sources.text(path).splitlines())
        if lines > LONGEST and not path.startswith(MODULES):
            yield f"{lines} lines"

    check_all(sources.files("plugins/**/*.py", "tests/**/*.py", "tools/**/*.py"), breaches)


def test_packages_hold_a_docstring_only() -> None:
    def breaches(path: str) -> Iterator[str]:
        kinds = [type(node).__name__ for node in sources.tree(f"plugins/{path}").body]
        if kinds != ["Expr"]:
            yield f"holds {kinds}"

    check_all([path for path in SOURCES if path.endswith("/__init__.py") and path != GUARD], breaches)


def test_only_the_seam_touches_the_machine() -> None:
    def breaches(path: str) -> Iterator[str]:
        yield from [f"imports {name}" for name in sorted(modules(nodes(path)) & SYSTEM)]
        called = [node.func for node in nodes(path) if isinstance(node, ast.Call)]
        names = [name for name in called if isinstance(name, ast.Name)]
        yield from [f"calls open in line {name.lineno}" for name in names if name.id == "open"]

    check_all([path for path in NODE_SOURCES if room_of(path) != "module_utils/_host"], breaches)


def test_the_page_names_the_files_that_touch_the_disk_beside_the_seam() -> None:
    touching = set()
    for path in NODE_SOURCES:
        attributes = {ast.unparse(node) for node in nodes(path) if isinstance(node, ast.Attribute)}
        if room_of(path) != "module_utils/_host" and any(map(OS_CALLS.fullmatch, attributes)):
            touching.add(path)
    [row] = re.findall(r"^\| On a node, files and processes .*$", PAGE, flags=re.MULTILINE)
    assert set(re.findall(r"`(module_utils/\w+/\w+\.py|modules/\w+\.py)`", row)) == touching


def test_nodes_need_the_standard_library_only() -> None:
    def breaches(path: str) -> Iterator[str]:
        never_executed = {
            node
            for condition in nodes(path)
            if isinstance(condition, ast.If) and ast.unparse(condition.test) == "TYPE_CHECKING"
            for statement in condition.body
            for node in ast.walk(statement)
        }
        names = {name.split(".")[0] for name in modules([node for node in nodes(path) if node not in never_executed])}
        yield from [f"imports {name}" for name in sorted(names - sys.stdlib_module_names)]

    check_all([path for path in SOURCES if path.startswith("module_utils/")], breaches)


def test_records_are_made_by_the_cheap_decorator() -> None:
    def breaches(path: str) -> list[str]:
        return re.findall(r"^\s*(@.*dataclass\(.*frozen=.*)", sources.text(f"plugins/{path}"), re.MULTILINE)

    check_all(SOURCES, breaches)


def test_imports_inside_a_side_are_relative() -> None:
    def breaches(path: str) -> list[str]:
        side = path.split("/")[0]
        imported = [node.module or "" for node in nodes(path) if isinstance(node, ast.ImportFrom)]
        return [f"imports {name}" for name in imported if name.startswith(f"{COLLECTION}{side}")]

    check_all([path for path in SOURCES if path.startswith(SIDES)], breaches)


def test_a_class_name_means_one_thing() -> None:
    files: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files.setdefault(node.name, []).append(path)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                if re.fullmatch(r"[A-Z][a-z]\w+", name):  # a type's other name
                    files.setdefault(name, []).append(path)
    assert files.keys() > REQUIRED_CLASSES
    assert {name: paths for name, paths in files.items() if len(paths) > 1 and name not in REQUIRED_CLASSES} == {}


def test_every_rule_names_a_test_that_exists() -> None:
    links = re.findall(r"\[(test_\w+)\]\(\.\./([\w/]+\.py)\)", PAGE)
    assert len(links) >= 8
    for name, path in links:
        assert f"def {name}(" in sources.text(path), name
