"""Transfers over a tree of links.

A node is a name and a number: ``("drive", 5)``. The root is ``("host", 0)``. A link carries both directions at the same
time. Transfers at the same time share links: the link that needs longest for all bytes that cross it in one direction
determines the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...constraints.core.errors import ConfigError, nearest
from ...constraints.systems.links import ROOT, LinkTreeSpec

__all__ = ["DOWN", "HOST", "UP", "LinkTree", "Transfer", "by_name"]

Node = tuple[str, int]

HOST: Node = (ROOT, 0)

#: Directions of a link: away from the root and towards it.
DOWN, UP = "down", "up"


@dataclass(frozen=True)
class Transfer:
    """``count`` bytes from one node to another; an array has one number of bytes per context."""

    source: Node
    target: Node
    count: Any


class LinkTree:
    """The links of a system.

    Parameters
    ----------
    spec
        The tree in the system's file.
    where : :class:`str`
        Name of the system, for messages.
    """

    def __init__(self, spec: LinkTreeSpec, where: str) -> None:
        self.spec, self.where = spec, where
        self.edges = {edge.name: edge for edge in spec.edges}
        #: Nodes of each name.
        self.places: dict[str, int] = {ROOT: 1}
        for edge in spec.edges:
            self.places[edge.name] = self.places[edge.below] * edge.count

    @property
    def latency_s(self) -> float:
        """Seconds of a message without data."""
        return self.spec.latency_us * 1e-6

    def bytes_per_s(self, name: str) -> float:
        """Bandwidth of each link of this name, in one direction.

        Raises
        ------
        :exc:`ConfigError`
            If there is no such link.
        """
        return self.edges[self._known(name)].bytes_per_s

    def _known(self, name: str) -> str:
        if name not in self.edges:
            raise ConfigError(f"{self.where}: links.edges: {nearest('link', name, self.edges)}")
        return name

    def _up(self, node: Node) -> list[Node]:
        """The node and all above it, without the root."""
        name, number = node
        out = []
        while name != ROOT:
            edge = self.edges[self._known(name)]
            if not 0 <= number < self.places[name]:
                raise ConfigError(
                    f"{self.where}: there are {self.places[name]} nodes '{name}', none has the number {number}"
                )
            out.append((name, number))
            name, number = edge.below, number // edge.count
        return out

    def path(self, source: Node, target: Node) -> list[tuple[Node, str]]:
        """Links between two nodes, each as the node at its lower end and the direction."""
        up, down = self._up(source), self._up(target)
        shared = set(up) & set(down)
        return [(node, UP) for node in up if node not in shared] + [
            (node, DOWN) for node in reversed(down) if node not in shared
        ]

    def rate(self, source: Node, target: Node) -> float:
        """Bytes per second of one transfer alone: of the slowest link on its path."""
        return min((self.edges[name].bytes_per_s for (name, _), _ in self.path(source, target)), default=float("inf"))

    def loads(self, transfers: Iterable[Transfer]) -> dict[tuple[Node, str], Any]:
        """Bytes that cross each link in each direction."""
        out: dict[tuple[Node, str], Any] = {}
        for transfer in transfers:
            for crossed in self.path(transfer.source, transfer.target):
                out[crossed] = out.get(crossed, 0) + transfer.count
        return out

    def seconds(self, transfers: Iterable[Transfer]) -> Any:
        """Seconds of transfers at the same time, without latency."""
        time: Any = 0.0
        for ((name, _), _), count in self.loads(transfers).items():
            time = np.maximum(time, count / self.edges[name].bytes_per_s)
        return time

    def traffic(self, transfers: Iterable[Transfer]) -> dict[str, dict[str, Any]]:
        """Bytes over all links of each name, by direction. A name that nothing crosses has zeros."""
        out: dict[str, dict[str, Any]] = {name: {DOWN: 0, UP: 0} for name in self.edges}
        for ((name, _), direction), count in self.loads(transfers).items():
            out[name][direction] = out[name][direction] + count
        return out

    def spread(self, name: str, count: int) -> list[Node]:
        """``count`` nodes of this name, in turn over the branches of the tree, so that they share as few links as can
        be.

        Raises
        ------
        :exc:`ConfigError`
            If there are not as many.
        """
        there = self.places[self._known(name)]
        if not 1 <= count <= there:
            raise ConfigError(
                f"{self.where}: {count} {name}{'s' if count != 1 else ''}: the links have ports for 1 to {there}"
            )
        factors, above = [], name
        while above != ROOT:
            factors.append(self.edges[above].count)
            above = self.edges[above].below

        def place(turn: int) -> int:
            """The first digit of the turn chooses the branch nearest to the root."""
            number = 0
            for factor in reversed(factors):
                turn, digit = divmod(turn, factor)
                number = number * factor + digit
            return number

        return [(name, place(turn)) for turn in range(count)]


def by_name(traffic: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Traffic as plain numbers."""
    return {name: {direction: float(count) for direction, count in both.items()} for name, both in traffic.items()}
