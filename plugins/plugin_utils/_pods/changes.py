# SPDX-License-Identifier: GPL-3.0-or-later
"""How the objects that stand differ from those that are asked for."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .manifest import NETWORKS

STORAGE_CLASS = "storageClassName"
# Everything else of a StatefulSet stays as it was made (validation of apps/v1, ValidateStatefulSetUpdate).
CHANGEABLE = ("replicas", "template", "updateStrategy", "minReadySeconds", "ordinals")
# By which of their values the items of a list are known: the server may have more of them, or another order.
KEYS_OF_ITEMS = ("name", "mountPath", "key", "ip", "topologyKey")
# https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
SUFFIXES = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


@frozen
class Mismatch:
    """A value that the server has not as it was asked for; observed is None where it has nothing."""

    path: str
    wanted: Any
    observed: Any


def differences(wanted: Any, observed: Any, path: str = "") -> Iterator[Mismatch]:
    """Yield what of an object the server does not have; what it adds by itself does not matter.

    Nothing is the same as an empty list or mapping, and 1000m the same amount as 1.
    """
    if wanted in (None, {}, [], False, "") and observed in (None, {}, [], False, ""):
        return
    if isinstance(wanted, Mapping) and isinstance(observed, Mapping):
        for name, value in wanted.items():
            yield from differences(value, observed.get(name), f"{path}.{name}" if path else str(name))
    elif _is_list(wanted) and _is_list(observed):
        for index, value in enumerate(wanted):
            label, other = _counterpart(value, index, observed)
            yield from differences(value, other, f"{path}[{label}]")
    elif not _is_same(wanted, observed):
        yield Mismatch(path, wanted, observed)


def fixed_changes(wanted: Mapping[str, Any], standing: Mapping[str, Any]) -> list[Mismatch]:
    """Return the changes of a StatefulSet that Kubernetes refuses, such as those of its volume templates."""
    before, after = standing["spec"], wanted["spec"]
    changes = [
        change
        for name in after
        if name not in CHANGEABLE
        for change in differences(after[name], before.get(name), f"spec.{name}")
    ]
    templates = "volumeClaimTemplates"
    claims = after.get(templates, ()), before.get(templates) or ()
    if len(claims[0]) < len(claims[1]):
        changes.append(Mismatch(f"spec.{templates}", list(claims[0]), claims[1]))
    for index, (claim, standing_claim) in enumerate(zip(*claims, strict=False)):
        # The server adds none: it is a claim that gets the default class.
        if STORAGE_CLASS in standing_claim["spec"] and STORAGE_CLASS not in claim["spec"]:
            path = f"spec.{templates}[{index}].spec.{STORAGE_CLASS}"
            changes.append(Mismatch(path, "the cluster's default", standing_claim["spec"][STORAGE_CLASS]))
    return changes


def patch_of(wanted: dict[str, Any], standing: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a merge patch (RFC 7386) of a StatefulSet: what its pods are no longer asked to have is null in it.

    Lists are replaced as a whole by such a patch, so only mappings can keep what they had.
    """
    patch = copy.deepcopy(wanted)
    if standing is not None:
        _remove_rest(patch["spec"]["template"]["spec"], standing["spec"]["template"].get("spec") or {})
        before = standing["spec"]["template"].get("metadata", {}).get("annotations") or {}
        # Others are not Muster's: `kubectl rollout restart` writes one, without which all pods would be replaced again.
        if NETWORKS in before:
            patch["spec"]["template"]["metadata"].setdefault("annotations", {NETWORKS: None})
    return patch


def _remove_rest(patch: dict[str, Any], standing: Mapping[str, Any]) -> None:
    for name, value in standing.items():
        if name not in patch:
            patch[name] = None  # the server puts its default there, if there is one
        elif isinstance(patch[name], dict) and isinstance(value, Mapping):
            _remove_rest(patch[name], value)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _counterpart(value: Any, index: int, observed: Sequence[Any]) -> tuple[Any, Any]:
    """Return how an item of a list is named, and the item that is it on the server."""
    for key in KEYS_OF_ITEMS if isinstance(value, Mapping) else ():
        if key in value:
            items = [item for item in observed if isinstance(item, Mapping) and item.get(key) == value[key]]
            return value[key], items[0] if items else None
    if isinstance(value, str):
        return value, value if value in observed else None
    return index, observed[index] if index < len(observed) else None


def _is_same(wanted: Any, observed: Any) -> bool:
    if wanted == observed:
        return True
    if isinstance(wanted, bool) or isinstance(observed, bool) or None in (wanted, observed):
        return False
    amounts = _amount(wanted), _amount(observed)
    return amounts[0] is not None and amounts[0] == amounts[1]


def _amount(value: object) -> Decimal | None:
    """Return a quantity as a number, None if it is none."""
    text = str(value)
    number, factor = text, Decimal(1)
    if text[-2:] in BINARY:
        number, factor = text[:-2], Decimal(1024) ** BINARY[text[-2:]]
    elif text[-1:] in SUFFIXES:
        number, factor = text[:-1], Decimal(10) ** SUFFIXES[text[-1:]]
    try:
        return Decimal(number) * factor
    except InvalidOperation:
        return None
