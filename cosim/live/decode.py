"""Heads of a decoder in RTL: a unit's Verilog in the place of its model (:mod:`bankside.models.decode.checked`)."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from ...constraints.core.errors import CheckFailed, ConfigError
from ...constraints.memory import load_memory
from ...models.decode.backend import Backend, Place, UnitBackend
from ...models.decode.cent import CentBackend
from ...models.decode.inf2 import Inf2Backend
from ...models.decode.lolpim import LolPimBackend
from ...models.decode.pam import PamBackend, Tier
from ...models.llm.shape import ModelShape
from ...models.numerics.sums import Lists
from ...models.pam.batch import ListPartials
from ...models.pam.pu import Partials
from ...models.pam.ru import Partial, Reduced
from ..bench.request import Part
from .pam import Bank, Figures, LivePamPu, Named, PamRequest, Simulations, Waveform
from .units import LiveAimChannel, LiveInf2Accelerator, LiveInf2Gemv, LiveLolPim, LivePamRu

__all__ = ["PartOf", "RtlHeads"]

#: Requests that the simulations of PAM's units get at a time.
BATCH = 64


class PartOf(Protocol):
    """RTL of a unit by its name, generated for a configuration."""

    def __call__(self, unit: str, config: Any) -> Part: ...


class RtlHeads:
    """Query heads of a backend in the Verilog of its unit. Use it in ``with``: all processes end with the block.

    Parameters
    ----------
    backend : of the decoder
    heads : layers and query heads
    room : tokens of the whole run
    part : gives the units' RTL
    first : tokens before this position are left to the model
    memory : name of a memory. Keys and values arrive at its cycles, where the unit takes them beside banks. None: they are
        there
    merge : of PAM, the reduction units of the bank groups are in RTL too
    accelerator : of INF2, whole attention in ``inf2-accelerator`` rather than products in ``inf2-gemv``
    processes : simulations of each of PAM's processing units, which work at the same time
    waves : folder for the waveform of a difference; None: no waveform

    Raises
    ------
    :exc:`ConfigError`
        If the backend has no unit, or its unit can't take the heads.
    :exc:`ToolMissing`
        If there is no compiler.
    """

    def __init__(
        self,
        backend: Backend,
        shape: ModelShape,
        heads: Collection[tuple[int, int]],
        room: int,
        part: PartOf,
        *,
        first: int = 0,
        memory: str | None = None,
        merge: bool = False,
        accelerator: bool = False,
        processes: int = 2,
        waves: Path | None = None,
    ) -> None:
        if not isinstance(backend, UnitBackend):
            raise ConfigError(f"{backend.name} has no unit that could be in RTL")
        self.backend, self.shape, self.heads, self.first = backend, shape, frozenset(heads), first
        self.places = sorted(
            {Place(layer, head // shape.group) for layer, head in heads}, key=lambda place: (place.layer, place.head)
        )
        self._lock, self._call = threading.Lock(), threading.local()
        dim = shape.head_dim
        with ExitStack() as stack:
            self._live: dict[str, Simulations] = {}
            self._merges: dict[str, LivePamRu] = {}
            if merge and not isinstance(backend, PamBackend):
                raise ConfigError(f"{backend.name} has no reduction units")
            if accelerator and not isinstance(backend, Inf2Backend):
                raise ConfigError(f"{backend.name} has no accelerator")
            if isinstance(backend, PamBackend):
                for tier in backend.tiers:
                    if not tier.share:
                        continue  # it holds no tokens
                    config = tier.slice.processing
                    self._live[tier.name] = stack.enter_context(
                        LivePamPu(
                            part("pam-pu", config),
                            dim,
                            memory=memory,
                            room=-(-room // tier.units),
                            count=processes,
                            waves=waves,
                        )
                    )
                    if merge:
                        self._merges[tier.name] = stack.enter_context(
                            LivePamRu(part("pam-ru", tier.slice.reduction), waves=waves)
                        )
            elif isinstance(backend, LolPimBackend):
                self._live[""] = stack.enter_context(
                    LiveLolPim(
                        part("lol-pim-module", backend.config),
                        dim,
                        room=room,
                        heads=len(self.places),
                        memory=load_memory(memory) if memory else None,
                        waves=waves,
                    )
                )
            elif isinstance(backend, CentBackend):
                self._no_memory(memory)
                self._live[""] = stack.enter_context(
                    LiveAimChannel(part("aim-channel", backend.channel), dim, room=room, waves=waves)
                )
            elif isinstance(backend, Inf2Backend) and accelerator:
                self._live[""] = stack.enter_context(
                    LiveInf2Accelerator(
                        part("inf2-accelerator", backend.accelerator),
                        dim,
                        room=room,
                        memory=load_memory(memory) if memory else None,
                        waves=waves,
                    )
                )
            elif isinstance(backend, Inf2Backend):
                self._no_memory(memory)
                self._live[""] = stack.enter_context(
                    LiveInf2Gemv(part("inf2-gemv", backend.config), dim, room=room, waves=waves)
                )
            else:
                raise ConfigError(f"{backend.name} has no unit that could be in RTL")
            self._stack = stack.pop_all()
        watched = min(self.heads)
        for live in self._live.values():
            live.watched = watched
        self._watch()

    def _no_memory(self, memory: str | None) -> None:
        if memory is not None:
            raise ConfigError(f"{self.backend.name}: data come to the unit at once, not at the cycles of {memory}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes. More calls have no effect."""
        self._stack.close()

    def figures(self) -> dict[str, Any]:
        """Heads (a count), tokens, clocks, clocks a second of a simulation's processor time, and mismatches, so far."""
        total = Figures()
        for live in (*self._live.values(), *self._merges.values()):
            mine = live.figures
            total.heads |= mine.heads
            total.tokens |= mine.tokens
            total.clocks += mine.clocks
            total.seconds += mine.seconds
            total.mismatches += mine.mismatches
        return total.plain()

    def waveform(self) -> Waveform | None:
        """The streams of a unit in the last step that began with the first of the heads."""
        return next((live.waveform for live in self._live.values() if live.waveform is not None), None)

    # Which query it is -----------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Note in each thread of the decoder the call of whose queries the unit gets a part."""
        attention, attend, call = self.backend.attention, self.backend.attend, self._call

        def noted_attention(place: Place, q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists) -> np.ndarray:
            call.new, call.tokens = len(q) // self.shape.group, len(k)
            return attention(place, q, k, v, lists)

        def noted_attend(
            place: Place, q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists, first: int
        ) -> np.ndarray:
            call.first = first
            return attend(place, q, k, v, lists, first)

        vars(self.backend).update(attention=noted_attention, attend=noted_attend)
        if self._merges and isinstance(self.backend, PamBackend):
            model = self.backend.reduce

            def reduced(place: Place, tier: Tier, local: ListPartials) -> Reduced:
                want = model(place, tier, local)
                if place not in self.places or tier.name not in self._merges:
                    return want
                with self._lock:
                    return self._reduced(place, tier, local, want)

            vars(self.backend).update(reduce=reduced)

    def _named(self, place: Place, query: int) -> Named:
        call = self._call
        head, token = divmod(call.first + query, call.new)
        return Named(call.tokens - call.new + token, place.layer, place.head * self.shape.group + head)

    def _chosen(self, named: Named) -> bool:
        return (named.layer, named.head) in self.heads and named.token >= self.first

    # Answers ---------------------------------------------------------------------------------------------------------

    def __call__(self, place: Place, *arguments: Any) -> Any:
        """What the unit's RTL sends for the chosen heads, and what the model says for the others."""
        with self._lock:
            if isinstance(self.backend, PamBackend):
                return self._local(place, *arguments)
            return self._unit(place, *arguments)

    def _local(
        self,
        place: Place,
        tier: Tier,
        config: Any,
        q: np.ndarray,
        k: np.ndarray,
        v: np.ndarray,
        lists: Lists,
        want: ListPartials,
    ) -> ListPartials:
        live = self._live.get(tier.name)
        if live is None:
            return want
        assert isinstance(live, LivePamPu)
        got = dataclasses.replace(want, m=want.m.copy(), l=want.l.copy(), o=want.o.copy())
        pending: list[tuple[slice, PamRequest]] = []
        read: dict[Bank, int] = {}

        def flush() -> None:
            for (tiles, _), part in zip(pending, live.attend([request for _, request in pending]), strict=True):
                got.m[tiles], got.l[tiles], got.o[tiles] = part.m, part.l, part.o
            pending.clear()
            read.clear()

        for number, query in enumerate(lists.query.tolist()):
            named = self._named(place, query)
            if not self._chosen(named):
                continue
            tokens = lists.tokens[lists.first[number] : lists.first[number + 1]]
            bank, keys, values = Bank(place.layer, place.head, number % tier.units), k[tokens], v[tokens]
            changed = live.changes(bank, keys, values)
            # A request before this one may not see tokens that come in the place of others.
            if len(pending) == BATCH or (len(changed) and changed[0] < read.get(bank, 0)):
                flush()
            live.hold(bank, keys, values)
            tiles = slice(int(want.first[number]), int(want.first[number + 1]))
            expected = Partials(want.m[tiles], want.l[tiles], want.o[tiles])
            pending.append((tiles, PamRequest(bank, q[query], len(tokens), named, expected)))
            read[bank] = max(read.get(bank, 0), len(tokens))
        flush()
        return got

    def _reduced(self, place: Place, tier: Tier, local: ListPartials, want: Reduced) -> Reduced:
        live, names = self._merges[tier.name], ("m", "scale", "l", "o")
        got = dataclasses.replace(want, **{name: getattr(want, name).copy() for name in names})
        groups = tier.slice.groups
        for number in range(len(want.m)):
            query, group = divmod(number, groups)
            named = self._named(place, query)
            if not self._chosen(named):
                continue
            units = query * tier.units + group * tier.banks + np.arange(tier.banks)
            tiles = [slice(*local.first[one : one + 2].tolist()) for one in units.tolist()]
            sources = [Partial(local.m[one], np.zeros_like(local.m[one]), local.l[one], local.o[one]) for one in tiles]
            result = live.merge(sources, named, normalise=False)
            for name in names:
                getattr(got, name)[number] = getattr(result, name)
                if not np.array_equal(getattr(result, name), getattr(want, name)[number]):
                    raise CheckFailed(f"{named}: merge of group {group} of {tier.name} in RTL is not the backend's")
        return got

    def _unit(
        self, place: Place, q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists, want: np.ndarray
    ) -> np.ndarray:
        live, got, bank = self._live[""], want.copy(), Bank(place.layer, place.head)
        for number, query in enumerate(lists.query.tolist()):
            named = self._named(place, query)
            if not self._chosen(named):
                continue
            tokens = lists.tokens[lists.first[number] : lists.first[number + 1]]
            if isinstance(live, LiveLolPim | LiveInf2Accelerator):
                live.hold(bank, k[tokens], v[tokens])
                got[number] = live.attend(bank, q[query], named)
                continue
            assert isinstance(live, LiveAimChannel | LiveInf2Gemv)
            live.hold(bank, k[tokens], v[tokens])
            if isinstance(live, LiveAimChannel):
                got[number] = self._cent(live, bank, q[query], len(tokens), named)
                continue
            got[number] = live.attend(bank, q[query], len(tokens), named, self._softmax)
        return got

    def _cent(self, live: LiveAimChannel, bank: Bank, q: np.ndarray, tokens: int, named: Named) -> np.ndarray:
        """Output of a query: all products on the channel, exponentials and 1 / sum of the backend."""
        backend = self.backend
        assert isinstance(backend, CentBackend)
        scores = live.scores(bank, q, tokens, named)
        powers = backend.exponentials(scores, Lists.prefixes(np.array([tokens])))
        sums = np.append(live.output(bank, powers, tokens, named), live.total(powers, bank, named))
        return backend.divided(sums[None])[0]

    def _softmax(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities from the unit that follows the products."""
        assert isinstance(self.backend, Inf2Backend)
        return self.backend.softmax(scores, Lists.prefixes(np.array([len(scores)])))
