"""Roles of the parts of a decode step and of its energy, by which results are classified, whatever a part is called."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

__all__ = ["ENERGY_ROLES", "ROLES", "EnergyRole", "Role"]


class Role(Enum):
    """What a part of a decode step does. A part without a role is in the layers. Parts before the layers, and behind
    them, follow each other in the order of these roles."""

    ATTENTION = "attention"
    ATTENTION_DATA = "queries, appends and merges of attention"
    PROJECTION = "projections of attention"
    FEED_FORWARD = "feed-forward network"
    VECTOR = "norms, activations, positions and residuals in a layer"
    COMMUNICATION = "transfers between devices in a layer"
    EMBEDDING = "before the layers"
    LAST_NORM = "the norm behind the layers"
    OUTPUT = "the output matrix behind the layers"
    PIPELINE = "transfers behind the layers of a stage"
    WAIT = "a wait behind the layers"
    HOST = "the host behind the layers"

    @property
    def before_layers(self) -> bool:
        return self is Role.EMBEDDING

    @property
    def behind_layers(self) -> bool:
        return self in (Role.LAST_NORM, Role.OUTPUT, Role.PIPELINE, Role.WAIT, Role.HOST)


class EnergyRole(Enum):
    """What a component of energy is spent on."""

    BANKS = "bank reads beside the units"
    UNITS = "processing units"
    MEMORY = "external HBM accesses"
    CACHES = "GPU caches"
    GPU = "GPU arithmetic and registers"
    LINKS = "links"


#: Parts of a step that several kinds of system have: the operators of a model, and what surrounds them.
ROLES: Mapping[str, Role] = {
    name: role
    for role, names in {
        Role.ATTENTION: "attention attention_score softmax attention_softmax attention_context",
        Role.ATTENTION_DATA: "attention_kv_append attention_merge attention_send attention_receive",
        Role.PROJECTION: "qkv out_projection",
        Role.FEED_FORWARD: "ffn_gate ffn_up ffn_down",
        Role.VECTOR: "attention_norm ffn_norm ffn_activation",
        Role.COMMUNICATION: "attention_allreduce ffn_allreduce",
        Role.EMBEDDING: "embedding embedding_projection",
        Role.LAST_NORM: "final_norm",
        Role.OUTPUT: "head_projection lm_head",
        Role.PIPELINE: "pipeline_transfer",
        Role.HOST: "host",
    }.items()
    for name in names.split()
}

#: Components of energy that several kinds of system have.
ENERGY_ROLES: Mapping[str, EnergyRole] = {
    "pim_cell_reads": EnergyRole.BANKS,
    "pu_compute": EnergyRole.UNITS,
    "gpu_dram": EnergyRole.MEMORY,
    "gpu_caches": EnergyRole.CACHES,
    "gpu_compute": EnergyRole.GPU,
    "links": EnergyRole.LINKS,
}
