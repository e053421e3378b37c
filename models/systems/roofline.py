"""A GPU as a roofline: time and energy of the operators of a decode step.

A GEMM takes the longer of two times. The first is the time of its operations at ``compute_utilisation`` of the peak.
The second is the time of its least memory traffic (weights, inputs, outputs once each) at ``memory_utilisation`` of the
bandwidth. These constants are from the AttAcc simulator. That simulator also searches cache tiles and charges for
processors left idle by the last wave of tiles. ``docs/systems.md`` says how far apart the two are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...constraints.systems import GpuEnergy, GpuSpec, LinkSpec, Network, Overhead
from ..llm import Operator
from .results import Cost

__all__ = ["Roofline"]


class Roofline:
    """Costs on ``gpu`` with links ``link``. Energies are of ONE device; multiply by the devices that do the same.

    With a ``network`` the GPUs are on several nodes, and stages are on different nodes. Each of ``senders`` GPUs of a
    stage sends its part. An all-reduce over more GPUs than a node has goes over links and network.
    """

    def __init__(self, gpu: GpuSpec, link: LinkSpec, energy: GpuEnergy, network: Network | None = None,
                 senders: int = 1) -> None:
        self.gpu, self.link, self.energy, self.network, self.senders = gpu, link, energy, network, senders
        self.flops_per_s = gpu.peak_tflops * 1e12 * gpu.compute_utilisation
        self._bytes_per_s = gpu.bandwidth_gb_s * 1e9 * gpu.memory_utilisation

    def memory_time(self, count: Any) -> Any:
        """Seconds to move ``count`` bytes to or from external memory."""
        return count / self._bytes_per_s

    def operator(self, op: Operator) -> Cost:
        """Cost of one operator that runs on the GPU. Lookups only move bytes. All-reduces have their own
        :meth:`all_reduce`."""
        if op.kind == "norm":
            time = self._vector(self.gpu.norm, op.activation_bytes)
        elif op.kind == "activation":
            time = self._vector(self.gpu.activation, op.activation_bytes)
        else:
            time = np.maximum(op.flops / self.flops_per_s, op.bytes / self._bytes_per_s)
        return Cost(time, self._energy(op))

    def fused(self, *ops: Operator) -> Cost:
        """Cost of operators fused into one kernel: operations and bytes add up before the longer one is taken."""
        flops, count = sum(op.flops for op in ops), sum(op.bytes for op in ops)
        energies = [self._energy(op) for op in ops]
        return Cost(np.maximum(flops / self.flops_per_s, count / self._bytes_per_s),
                    {key: sum(energy[key] for energy in energies) for key in energies[0]})

    def _network_time(self, count: float) -> float:
        """Seconds to send ``count`` bytes from a GPU to a GPU of another node."""
        assert self.network is not None
        return self.network.latency_us * 1e-6 + count / (self.network.gb_s_per_gpu * 1e9)

    def transfer_time(self, count: float) -> float:
        """Seconds to send ``count`` bytes from one stage to the next. Between nodes the bytes go in parts, which the
        GPUs of the node then exchange."""
        if self.network is None:
            return self._link_time(count)
        return self._network_time(count / self.senders) + (self._link_time(count) if self.senders > 1 else 0.0)

    def _link_time(self, count: float) -> float:
        """Seconds to send ``count`` bytes from one GPU to another GPU of its node."""
        fit, both = self.link.transfer, self.link.both_ways_gb_s
        fitted = (fit.fixed_ns + fit.ns_per_byte * fit.reference_gb_s / both * count) * 1e-9
        return max(fitted, count / (both * 1e9 / 2))

    def transfer(self, count: float) -> Cost:
        """Point-to-point transfer of ``count`` bytes."""
        energy = {"links": count * self.energy.link_pj_per_byte}
        if self.network is not None:
            energy["network"] = count / self.senders * self.network.pj_per_byte
        return Cost(self.transfer_time(count), energy)

    def all_reduce(self, count: float, devices: int) -> Cost:
        """All-reduce of ``count`` bytes over ``devices`` GPUs; the energy is for one device. Over several nodes each
        GPU's part goes round the nodes twice: once to be summed and once to be shared."""
        here = min(devices, self.gpu.count) if self.network is not None else devices
        time = (here - 1) * self._link_time(count / here)
        energy = {"links": count * self.energy.link_pj_per_byte}
        if devices > here:
            assert self.network is not None
            nodes = devices // here
            time += 2 * (nodes - 1) * self._network_time(count / here / nodes)
            energy["network"] = 2 * (nodes - 1) / nodes * count / here * self.network.pj_per_byte
        return Cost(time, energy)

    def _vector(self, fit: Overhead, count: Any) -> Any:
        return (fit.fixed_us + fit.us_per_byte * fit.reference_bandwidth_gb_s / self.gpu.bandwidth_gb_s * count) * 1e-6

    def _energy(self, op: Operator) -> dict[str, Any]:
        """Energy of an operator. Each byte passes DRAM and the second-level cache once. A GEMM counts as in the AttAcc
        simulator. It re-reads the first-level cache per 16 x 16 tile of the output, and it moves three operands per MAC
        through the registers."""
        e = self.energy
        if op.kind in ("gemm", "attention"):
            l1 = np.ceil(op.n / 16) * op.m * op.k + np.ceil(op.m / 16) * op.n * op.k + op.m * op.n
            l1 = l1 * op.count * op.dtype_bytes
            registers = 3 * op.m * op.n * op.k * op.count
        else:
            l1 = registers = op.bytes
        return {
            "gpu_dram": op.bytes * e.dram_pj_per_byte,
            "gpu_caches": op.bytes * e.l2_pj_per_byte + l1 * e.l1_pj_per_byte,
            "gpu_compute": op.flops / 2 * e.mac_pj + registers * e.register_pj_per_byte,
        }
