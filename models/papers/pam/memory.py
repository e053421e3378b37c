"""Table 1: devices, organisation and timings of the memories, and rates that follow from them."""

from __future__ import annotations

from ....constraints.pam.layout import TIERS
from ....constraints.pam.pu import Step
from ...memory import time_program
from ...pam.program import MAC, attention_program, mac_interval
from ...program import Program
from ..category import Source
from ..evidence import Evidence, Finding
from .common import CHECKS, MEMORY, config_of, system_of


@CHECKS.of("pam-mapping", by=Source.RUN)
def same_row_and_column(evidence: Evidence, claim: str) -> Finding:
    """Consecutive tokens of a group, one in each of its banks, have one row and column in both DRAM tiers."""
    alike = True
    for tier in (TIERS["hbm"], TIERS["ddr"]):
        at = tier.accesses(0, 0, range(4 * tier.banks), 512)
        alike &= all(
            len({tuple(map(int, (access["row"], access["column"]))) for access in group[:, k]}) == 1
            and sorted(group["bank"][:, k]) == list(range(tier.banks))
            for group in at.reshape(4, tier.banks, -1)
            for k in range(at.shape[1])
        )
    return Finding(bool(alike), "rows and columns of 4 x banks consecutive tokens of a group, HBM and DDR maps")


# Rates -----------------------------------------------------------------------------------------------------------------


def sustained_bank_rate(evidence: Evidence, tier: str) -> float:
    """Bytes per second that the banks of a channel deliver to their units, row openings and closings included."""

    def measured() -> float:
        memory = evidence.memory(MEMORY[tier])
        config = config_of(tier)
        tokens = 64 * config.tile_tokens
        done = time_program(attention_program(config, memory, [Step(tokens, 128)], gap_cycles=0), memory)
        return done.commands[MAC] * memory.banks * memory.column_bytes / (done.cycles * memory.clock_ps * 1e-12)

    return evidence.once(("bank rate", tier), measured)


def peak_bank_rate(evidence: Evidence, tier: str) -> float:
    """Bytes per second that the banks of a channel deliver, without row openings and closings."""
    memory = evidence.memory(MEMORY[tier])
    return memory.banks * memory.column_bytes / (mac_interval(memory) * memory.clock_ps * 1e-12)


def media_rate(evidence: Evidence) -> float:
    """Bytes per second of a flash channel that reads pages from its dies in turn, from the timing engine."""

    def measured() -> float:
        memory = evidence.memory(MEMORY["ssd"])
        pages, dies = 256, memory.levels["die"]
        program = Program()
        for die in range(dies):
            program.command("READ", die=die, plane=0, row=0)
        # The dies begin their next page together; the pages that they have just read pass the bus meanwhile.
        with program.loop(pages) as page:
            for die in range(dies):
                program.command("NEXT", die=die, plane=0, row=page + 1)
            for die in range(dies):
                with program.loop(memory.columns) as column:
                    program.command("RD", die=die, plane=0, row=page + 1, column=column)
        done = time_program(program, memory)
        return pages * dies * memory.row_bytes / (done.cycles * memory.clock_ps * 1e-12)

    return evidence.once("media rate", measured)


@CHECKS.of("pam-cap-hbm", by=Source.SETTING)
def hbm_flops(evidence: Evidence, claim: str) -> Finding:
    """A device is a stack, as the devices of the other tiers are a DIMM and an SSD."""
    config, memory = config_of("hbm"), evidence.memory(MEMORY["hbm"])
    units = memory.banks * 2 * config.lanes * config.clock_mhz * 1e6
    banks = peak_bank_rate(evidence, "hbm")
    return Finding(
        memory.channels * min(units, banks),
        f"{memory.channels} channels of a stack x the lower of their units' rate and of the rate of their banks "
        "at one FLOP per byte, under the power limit of the memory file",
        f"The 64 units of a die have {units / 1e12:.2f} TFLOPS, and its banks feed them {banks / 1e12:.2f}. So "
        "the paper's 1.6 TFLOPS fit a die better than a stack. `rate: paper` evaluates the systems with them.",
        0.05,
    )


@CHECKS.of("pam-cap-ddr", by=Source.SETTING)
def ddr_flops(evidence: Evidence, claim: str) -> Finding:
    config, memory = config_of("ddr"), evidence.memory(MEMORY["ddr"])
    units = memory.banks * 2 * config.lanes * config.clock_mhz * 1e6
    return Finding(
        min(units, peak_bank_rate(evidence, "ddr")),
        "the lower of the units' rate and the rate of a DIMM's 128 banks at one FLOP per byte",
        "The paper rounds its figure.",
        0.05,
    )


@CHECKS.of("pam-cap-ssd", by=Source.RUN)
def ssd_flops(evidence: Evidence, claim: str) -> Finding:
    drives = 8
    channels = evidence.memory(MEMORY["ssd"]).channels // drives
    return Finding(
        channels * media_rate(evidence),
        "8 flash channels that read pages from 4 dies in turn, from the timing engine, at one FLOP per byte",
        "Our rate includes array reads, and commands, register transfers and turnarounds on the bus. The "
        "paper's figure lies between the 17.5 GB/s of array reads alone and the bus rate.",
        0.05,
    )


@CHECKS.of("pam-attacc-bw", by=Source.RUN)
def attacc_bandwidth(evidence: Evidence, claim: str) -> Finding:
    """Rate of the banks under the power limit, row openings and closings included, over the channel's rate."""
    memory = evidence.memory(MEMORY["hbm"])
    return Finding(
        sustained_bank_rate(evidence, "hbm") / memory.channel_bytes_per_s,
        "rate of the banks of hbm3-5.2 under the power limit, from the timing engine, divided by the rate of "
        "the channel; a GPU with as many stacks has the channels' rate",
        "Our value includes row openings and closings. The HBM2e of the DGX-A100 is not modelled.",
        0.15,
    )


@CHECKS.of("pam-mot-ssd", by=Source.RUN)
def motivation_rates(evidence: Evidence, claim: str) -> Finding:
    spec = system_of(evidence, "gpu-only").spec
    nvme = evidence.memory("nvme-smartssd")
    pim = evidence.memory(MEMORY["ssd"]).channels // 8 * media_rate(evidence)
    return Finding(
        {
            "ssd_max_gbs": nvme.channels * nvme.channel_bytes_per_s / 1e9,
            "ssd_pim_max_gbs": pim / 1e9,
            "hbm_gbs": spec.gpu.bandwidth_gb_s,
        },
        "nvme-smartssd, media rate of one SSD of 8 channels, HBM of one GPU of gpu-only",
        "The paper's 2 TB/s are the bandwidth of an A100. The H100 of its own evaluation has more.",
        {"hbm_gbs": 0.05},
    )
