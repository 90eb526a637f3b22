# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what the request refuses: parameters, an inventory, names of nodes; and what it takes beside that."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.nodes import Inventory, InventoryHost
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import named_in_templates
from ansible_collections.muster.train.tests.support.requests import (
    NAMELESS,
    RUN_ID,
    RefusedRequest,
    inventory,
    make,
    refused,
)

GIVEN, TEXT = "extra_vars", {"script": "t.py"}
SPARED = Inventory((InventoryHost("a"), InventoryHost("b")), (InventoryHost("b"),))
SPARE_TWIN = Inventory((InventoryHost("a", "x"),), (InventoryHost("b", "x"),))


def unknown(name: str) -> RefusedRequest:
    return refused(f"the unknown parameter {name}", (name, None), {name: "1"})


MEANT = ("CHANNELS", "nproc_per_node", "timeout", "config_file", "lable", "launch_workdirr")
TWINS = [
    (InventoryHost("a", "10.0.0.1"), InventoryHost("b", "10.0.0.1")),
    (InventoryHost("a", "10.0.0.1", 22), InventoryHost("b", "10.0.0.1")),
    (InventoryHost("a", "10.0.0.1", "2222"), InventoryHost("b", "10.0.0.1", 2222)),
    (InventoryHost("a"), InventoryHost("b", "a")),
    (InventoryHost("a", "Head.Example"), InventoryHost("b", "head.example")),
]
NO_NAMES = ["node/0", "..", "-x", "node 0", "node;id", "$(id)", "fe80::1", "x" * 254, "nœud", "a\n", ".hidden", "a."]
VARIABLES = ("launch_workdir", "launch__plan")
EARLIER = {"parameters": {"channels": {"value": 1000, "origin": "-e channels", "layer": "extra_vars"}}}
OPTIONS = {"launcher_args": ["--max-restarts=3", "--nno=2", "--debug"]}
SWEEP_ID = "sweep_20261120_143052"
CASES = [
    refused("a value of the run's plan", ("channels", "earlier"), {"run_id": RUN_ID}, earlier=EARLIER),
    refused("a node that does not exist", NAMELESS, {"node": "node7"}, verb="logs"),
    refused("an empty number", ("channels", GIVEN), {"channels": ""}),
    *(refused(f"channels of {value!r}", ("channels", GIVEN), {"channels": value}) for value in ("abc", 0, True)),
    refused("channels of the environment", ("channels", "environment"), environment={"CHANNELS": "many"}),
    refused("threads of the cluster", ("threads", "cluster"), defaults={**TEXT, "threads": 100}),
    *map(unknown, ("chanels", *MEANT, "zzzzqqqq", "foo", "batch_size", "epochs", "lr")),
    *(
        refused(f"an environment of {value!r}", ("env", GIVEN), {"env": value})
        for value in ("FOO=bar", "A=1=2 ", "FOO=it's", "nonsense", 3)
    ),
    refused("a parameter of another verb", ("channels", None), {"channels": "42"}, verb="status"),
    refused("loose words", NAMELESS, {"label": "two", "_raw_params": "words"}),
    refused("an unknown key of launch_defaults", ("chanels", None), defaults={**TEXT, "chanels": 1}),
    refused("a run ID for the whole cluster", ("run_id", None), defaults={**TEXT, "run_id": RUN_ID}),
    RefusedRequest(
        "launch_defaults that are a list", [("launch_defaults", None), NAMELESS], (), {"defaults": ["channels"]}
    ),
    RefusedRequest(
        "everything at once",
        [("wat", None), ("channels", GIVEN), ("threads", GIVEN), ("master_port", "environment"), ("mode", "cluster")]
        + [NAMELESS] * 2,
        ({"channels": "abc", "threads": "0", "wat": 1, "nnodes": 9}, {"MASTER_PORT": "80"}, {"mode": "ib"}),
        {},
    ),
    refused("neither script nor module", NAMELESS, script=False),
    refused("an invalid script, which is not missing, too", ("script", GIVEN), {"script": "-c"}, script=False),
    refused("a script and a module", NAMELESS, {"script": "a.py", "module": "a"}),
    refused("two ranks of the launcher python", NAMELESS, {"launcher": "python"}, None, {**TEXT, "nproc": 2}),
    refused("more nodes than there are", NAMELESS, {"nnodes": 3}),
    *(
        refused(f"no nodes for {verb}", NAMELESS, verb=verb, nodes=inventory())
        for verb in ("launch", "status", "logs", "stop", "collect")
    ),
    refused("no nodes, but other groups", NAMELESS, nodes=Inventory((), (), ("gpus", "ungrouped"))),
    refused("no inventory", NAMELESS, nodes=inventory(), inventories=(), script=False),
    *(
        refused(f"a limit of {verb}", NAMELESS, verb=verb, limit="node0,localhost")
        for verb in ("launch", "stop", "list", "setup")
    ),
    *(
        refused(f"two names for one machine, {number}", NAMELESS, nodes=Inventory(pair))
        for number, pair in enumerate(TWINS)
    ),
    refused("a host that is a node and a spare", NAMELESS, nodes=SPARED),
    refused("a node and a spare that are one machine", NAMELESS, nodes=SPARE_TWIN),
    *(refused(f"a node of the name {name[:20]!r}", NAMELESS, nodes=inventory(name, "ok")) for name in NO_NAMES),
    refused("an unknown placeholder in a list", ("script_args", GIVEN), {"script_args": ["--name", "x-{epoch}"]}),
    refused("an unknown placeholder in a line", ("script_args", GIVEN), {"script_args": "--name x-{epoch}"}),
    refused("an unknown placeholder in a variable", ("env", GIVEN), {"env": {"NAME": "{epoch}"}}),
    refused("an unknown placeholder in an option", ("config_option", GIVEN), {"config_option": "--{x}"}),
    refused("a configuration by path and name", NAMELESS, {"config_name": "tiny"}, None, {**TEXT, "config": "c.yaml"}),
    refused("tags", NAMELESS, tags=("foo", "bar")),
    refused("tags of setup that it does not have", NAMELESS, verb="setup", tags=("code", "codes")),
    refused("a task to start at", NAMELESS, start_at_task="Plan the launch"),
    refused("a parameter in the variables of a play", NAMELESS, play_variables=("channels", "launch__verb", "mine")),
    refused(
        "policy in the variables of a play", NAMELESS, verb="status", play_variables=VARIABLES, documented=VARIABLES
    ),
    refused("no note", NAMELESS, verb="note"),
    refused("no source", NAMELESS, verb="import"),
    refused("nothing to compare", NAMELESS, verb="compare"),
    refused("two ways to name runs", NAMELESS, {"runs": [RUN_ID, f"{RUN_ID}_b"], "last": 2}, verb="compare"),
    refused("a limit of compare", NAMELESS, {"last": 2}, verb="compare", limit="node0"),
    refused("a run and a sweep", NAMELESS, {"run_id": RUN_ID, "sweep": SWEEP_ID}, verb="report"),
    refused("an objective without a sweep", NAMELESS, {"objective": "loss"}, verb="report"),
    refused("a sweep against nothing", NAMELESS, {"against": SWEEP_ID}, verb="report"),
    refused("a sweep against itself", NAMELESS, dict.fromkeys(("sweep", "against"), SWEEP_ID), verb="report"),
    refused("a map of one run", NAMELESS, {"over": "channels", "run_id": RUN_ID}, verb="report"),
    refused("a map of some runs of a sweep", NAMELESS, {"over": "channels", "sweep": SWEEP_ID}, verb="report"),
    refused("conditions on one run", NAMELESS, {"where": "loss<3"}, verb="report"),
    refused("the newest of one run", NAMELESS, {"last": 3}, verb="report"),
    *(
        refused(f"{name} without a profiler", NAMELESS, {name: value})
        for name, value in (("stats", True), ("rocprof_input", "c.yaml"), ("profiler_args", "-x"), ("profile_ranks", 0))
    ),
    refused("details of rocprofv3 with nsys", NAMELESS, {"nsys": True, "stats": True}),
    refused("two profilers", NAMELESS, {"nsys": True, "rocprof": True}),
    refused("statistics beside an input file", NAMELESS, {"rocprof": True, "stats": True, "rocprof_input": "c.yaml"}),
    *(
        refused(f"options of Muster's own for {name}", NAMELESS, {name: True, "profiler_args": args})
        for name, args in (("nsys", "-o /tmp/x --output=x -- echo"), ("rocprof", "-i c.yaml -dout"))
    ),
    refused("a profiler of the launcher exec", NAMELESS, {"rocprof": True, "launcher": "exec"}),
    *(
        refused(f"options of a launch that decides them, {launcher}", NAMELESS, {"launcher": launcher, **OPTIONS})
        for launcher in ("torchrun", "accelerate", "deepspeed", "python", "exec")
    ),
    refused("a word that no option has", NAMELESS, {"launcher_args": ["--role", "trainer"]}),
    refused("an option that is a word", ("config_option", GIVEN), {"config_option": "none"}),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_refused(case: RefusedRequest) -> None:
    assert case.refusals() == case.outcomes


def test_ansible_s_own_and_documented_variables_pass() -> None:
    assert (
        make({"ansible_user": "ada", "launch_workdir": "/x", "launch_secrets": {"HF_TOKEN": "hunter2"}})["verb"]
        == "launch"
    )


@pytest.mark.parametrize(
    ("given", "defaults"),
    [
        ({"rocprof": True, "stats": True, "profile_ranks": "0"}, {}),
        # What is switched off for one run keeps its details.
        ({"rocprof": False}, {"rocprof": True, "stats": True, "profiler_args": ["--hip-trace"]}),
        ({"rocprof": False, "nsys": True, "profile_ranks": "0"}, {"rocprof": True}),
    ],
)
def test_profilers_that_pass(given: dict[str, object], defaults: dict[str, object]) -> None:
    assert make(given, defaults={**TEXT, **defaults})["verb"] == "launch"


def test_options_of_a_launcher_that_pass() -> None:
    for launcher, options in (
        ("torchrun", "--role=trainer --monitor-interval=1"),
        ("accelerate", "--use_fsdp --fsdp_version=2 --mixed-precision=bf16 --config_file=fsdp.yaml"),
        ("deepspeed", "--start-method=spawn"),
        ("exec", ""),
    ):
        parameters = make({"launcher": launcher, "launcher_args": options})["parameters"]
        assert parameters["launcher_args"]["value"] == options.split()


def test_the_names_in_the_templates_of_an_inventory() -> None:
    hosts = [
        {"ansible_user": "{{ person }}", "text": "group", "env": {"A": ["{% if stage %}1{% endif %}"]}},
        {"own": "{{ own }}", "person": "x", "near": "{{ stages }}"},
    ]
    assert named_in_templates(["person", "group", "stage", "own", "stag"], hosts) == {"person", "stage"}


def test_the_launcher_python_starts_one_rank_a_node() -> None:
    for given, layer in (({}, "default"), ({"nproc": "1"}, GIVEN)):
        setting = make({"launcher": "python", **given})["parameters"]["nproc"]
        assert (setting["value"], setting["layer"]) == (1, layer)


# The inventory


def test_nnodes_cuts_the_nodes() -> None:
    three = inventory("a", "b", "c")
    assert [make({"nnodes": n}, nodes=three)["nodes"] for n in (1, 2, 3)] == [["a"], ["a", "b"], ["a", "b", "c"]]
    assert [make({"nnodes": n}, nodes=three)["hosts"] for n in (1, 2, 3)] == ["nodes[0:0]", "nodes[0:1]", "nodes"]


def test_a_part_of_a_setup_takes_a_limit() -> None:
    assert make(verb="setup", tags=("code", "memlock"), limit="node0")["verb"] == "setup"


def test_list_needs_no_nodes() -> None:
    parameters: dict[str, dict[str, object]] = {
        "list": {},
        "note": {"note": "x"},
        "compare": {"last": 2},
        "report": {},
        "doctor": {},
        "import": {"source": "old"},
    }
    for verb, given in parameters.items():
        assert make(given, verb=verb, nodes=inventory())["nodes"] == []


@pytest.mark.parametrize(
    "pair",
    [
        (InventoryHost("a", "10.0.0.1", 2201), InventoryHost("b", "10.0.0.1", 2202)),
        (InventoryHost("a", "10.0.0.1"), InventoryHost("b", "10.0.0.2")),
        (InventoryHost("node0"), InventoryHost("node1")),
    ],
)
def test_two_machines(pair: tuple[InventoryHost, InventoryHost]) -> None:
    assert make(nodes=Inventory(pair))["nodes"] == [pair[0].name, pair[1].name]


def test_duplicate_names_do_not_prevent_a_stop() -> None:
    assert make(verb="stop", nodes=Inventory((InventoryHost("a", "x"), InventoryHost("b", "x"))))["hosts"] == "nodes"


def test_a_launch_separates_spares_and_other_verbs_do_not() -> None:
    inventory = Inventory((InventoryHost("a"), InventoryHost("b"), InventoryHost("c")), (InventoryHost("s"),))
    launch = make({"nnodes": 2}, nodes=inventory)
    assert (launch["nodes"], launch["spares"], launch["hosts"]) == (["a", "b"], ["s"], "nodes[0:1]:spares")
    status = make(verb="status", nodes=inventory)
    assert (status["nodes"], status["spares"], status["hosts"]) == (["a", "b", "c", "s"], [], "nodes:spares")
    logs = make({"node": "s"}, verb="logs", nodes=inventory)
    assert logs["parameters"]["node"]["value"] == "s"


@pytest.mark.parametrize("name", ["gpu-01.example.org", "10.0.0.1", "gpu_1", "N0", "x" * 253])
def test_names_of_nodes(name: str) -> None:
    assert make(nodes=inventory(name))["nodes"] == [name]
