"""Aliases, tags and keywords: other words for the same note, found like its description."""

from __future__ import annotations

import pytest

from workbench.core.resource import Layer
from workbench.markdown.source import parse_source


@pytest.mark.parametrize(
    ("head", "description"),
    [
        ("tags: [k8s, kube]", "k8s, kube"),
        ("description: The cluster\naliases:\n  - k8s\ntags: ops, infra", "The cluster\nk8s, ops, infra"),
        ("keywords: 集群", "集群"),
        ("tags: []\naliases:", ""),
        ("tags: {a: 1}\nkeywords: [[x], {y: 1}, z]", "z"),
    ],
)
def test_other_names_stand_below_the_description(head: str, description: str) -> None:
    (entry,) = parse_source("cluster.md", Layer.PROJECT, f"---\n{head}\n---\n# Cluster\n\nText.\n".encode()).entries

    assert entry.description == description
    assert [unit.text for unit in entry.units("cluster")[:-1]] == ([description] if description else [])


def test_toml_lists_are_read_the_same_way() -> None:
    raw = b'+++\ntags = ["k8s", 7]\ndescription = "The cluster"\n+++\nText.\n'
    (entry,) = parse_source("cluster.md", Layer.PROJECT, raw).entries

    assert entry.description == "The cluster\nk8s"
