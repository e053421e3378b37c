"""Block tables and methods: PAM's sources as methods, methods as PAM's sources, PAM's table as a placement.

PAM's sources (:mod:`bankside.models.pam.sparsity`) name the tokens that a step activates for all heads of many requests.
They see no key. A method sees the keys and queries of one head. Both give positions of tokens:

- :class:`Activated` is a method whose positions a source gives, on a table of one request.
- :class:`Chosen` is a source whose tokens a method gives, head by head, on keys of a text.
- :func:`placement_in` is the order of a request's tokens in a tier of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...constraints.core.errors import ConfigError
from ..program.selected import Placement
from ..sparse.methods import Full, Method
from ..sparse.source import KeySource
from .placement import KvTable, TierShape
from .sparsity import Activation, SparsitySource

__all__ = ["Activated", "Chosen", "placement_in"]


class Activated(Method):
    """The tokens that a source of PAM activates, the same for every head.

    The source sees one request of ``first`` tokens, and a further token after each step. So a query of ``first + n`` tokens
    gets the tokens of step ``n``.

    Parameters
    ----------
    make : makes a fresh source
    first, last : contexts of the first and of the last step that may be asked for
    """

    def __init__(self, make: Callable[[], SparsitySource], first: int, last: int, *, full_layers: int = 0) -> None:
        super().__init__(last, full_layers=full_layers)
        if not 1 <= first <= last:
            raise ConfigError(
                f"contexts of a source of activations must be at least 1 and ascend, not {first} to {last}"
            )
        self.first, self.last = first, last
        self._table = KvTable([TierShape("all", 1, 1, last)], run_tokens=1)
        self._request = self._table.add([first], [last])
        self._source = make()
        self._source.added(self._table, self._request)
        self._active: list[np.ndarray] = []

    def active(self, context: int) -> np.ndarray:
        """Tokens of the step of a context, ascending."""
        if not self.first <= context <= self.last:
            raise ConfigError(f"the source of activations has contexts {self.first} to {self.last}, not {context}")
        while len(self._active) <= context - self.first:
            if self._active:
                self._source.appended(self._table, self._table.append(self._request))
            self._active.append(self._source.step(self._table).active - self._table.start[0])
        return self._active[context - self.first]

    def mask(
        self,
        q: np.ndarray,
        k: np.ndarray,
        counts: np.ndarray,
        layer: int | None,
        head: int,
        group: int,
        hint: np.ndarray | None,
    ) -> np.ndarray:
        out = np.zeros((len(counts), len(k)), bool)
        for row, context in enumerate(counts.tolist()):
            out[row, self.active(context)] = True
        return out


class Chosen:
    """Tokens of PAM's table that a method chooses: those that at least one head takes.

    K and V of all layers and heads of a token lie together, so the wish of one head activates them all. A token's score is
    the share of the heads that take it, over the mean of the active tokens, as
    :class:`~bankside.models.pam.sparsity.ReplaySource` scales scores. All requests have the text of the keys.

    Parameters
    ----------
    method : with its budget; it chooses for one query of each head at each step
    layers : keys and queries of each layer

    Attributes
    ----------
    weighs : whether the importance of tokens follows their activations
    """

    def __init__(self, method: Method, layers: Sequence[KeySource]) -> None:
        if not layers:
            raise ConfigError("a method needs the keys of at least one layer")
        self.method, self.layers = method, tuple(layers)
        self.weighs = not isinstance(method, Full)
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def added(self, table: KvTable, requests: np.ndarray) -> None:
        pass

    def appended(self, table: KvTable, places: np.ndarray) -> None:
        pass

    def settle(self, table: KvTable) -> None:
        """As with PAM's dense source, all tokens are equally important if the method takes them all."""
        if not self.weighs:
            table.importance[: table.size] = 1

    def positions(self, context: int) -> tuple[np.ndarray, np.ndarray]:
        """Tokens that the query of a context's last token activates, ascending, and their scores in float32."""
        if context not in self._known:
            taken, heads = np.zeros(context, np.int64), 0
            for number, source in enumerate(self.layers):
                keys, (queries, ahead) = source.keys(context), source.queries(context)
                for head in range(source.heads):
                    hint = None if ahead is None else ahead[head : head + 1]
                    lists = self.method.choose(
                        queries[head : head + 1], keys[head], np.array([context]), layer=number, head=head, hint=hint
                    )
                    taken[lists.tokens] += 1
                heads += source.heads
            positions = np.flatnonzero(taken)
            share = taken[positions] / heads
            self._known[context] = positions, (share / share.mean()).astype(np.float32)
        return self._known[context]

    def step(self, table: KvTable) -> Activation:
        places, scores = [], []
        live = np.flatnonzero(table.room > 0)
        for request in live[np.argsort(table.start[live])].tolist():
            positions, each = self.positions(int(table.length[request]))
            places.append(table.start[request] + positions)
            scores.append(each)
        return Activation(
            np.concatenate([np.empty(0, np.int64), *places]), np.concatenate([np.empty(0, np.float32), *scores])
        )


def placement_in(table: KvTable, request: int, tier: int) -> tuple[np.ndarray, Placement]:
    """Positions of a request's tokens that lie in a tier, ascending, and their order in memory.

    A slot of the placement is a slot of a group, group after group. So units and rows of a placement never mix groups if
    the slots of a group are a multiple of them.
    """
    where = table.places(np.array([request]))
    positions = np.flatnonzero(table.tier[where] == tier)
    shape, where = table.tiers[tier], where[positions]
    return positions, Placement(table.group[where].astype(np.int64) * shape.slots + table.slot[where], shape.capacity)
