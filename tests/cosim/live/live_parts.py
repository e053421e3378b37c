"""Small units for simulations that stay alive, one of them with an error that an argument turns on."""

from __future__ import annotations

from bankside.constraints.core.registry import UNITS
from bankside.cosim.bench.request import Part
from bankside.hardware.generate import latency, verilog
from bankside.hardware.selection import select

#: Around the unit: the lowest bit of one of its results is inverted, of all results since reset.
WRONG = """
module pam_pu(input clk, input rst, input [{command}:0] command__payload, input command__valid, output command__ready,
              input [{beat}:0] query__payload, input query__valid, output query__ready,
              input [{beat}:0] kv__payload, input kv__valid, output kv__ready,
              output [{result}:0] result__payload, output result__valid, input result__ready);
  wire [{result}:0] right;
  integer wrong, count;
  initial if (!$value$plusargs("wrong=%d", wrong)) wrong = -1;
  assign result__payload = right ^ {{{result}'d0, count == wrong}};
  always @(posedge clk) if (rst) count <= 0; else if (result__valid && result__ready) count <= count + 1;
  pam_pu_right unit(.clk(clk), .rst(rst), .command__payload(command__payload), .command__valid(command__valid),
    .command__ready(command__ready), .query__payload(query__payload), .query__valid(query__valid),
    .query__ready(query__ready), .kv__payload(kv__payload), .kv__valid(kv__valid), .kv__ready(kv__ready),
    .result__payload(right), .result__valid(result__valid), .result__ready(result__ready));
endmodule
"""


def part_of(name):
    """The smallest hardware of a unit."""
    selection = select(name, sets=UNITS[name].trial.sets)
    return Part(selection.config, verilog(selection), UNITS[name].module, latency(selection))


def pam_part():
    """The smallest ``pam-pu``. One result of it can be wrong: ``+wrong=NUMBER``."""
    part = part_of("pam-pu")
    config = part.config
    around = WRONG.format(
        command=config.command_layout.bits - 1, beat=config.beat_layout.bits - 1, result=config.result_layout.bits - 1
    )
    text = part.verilog.replace("module pam_pu(", "module pam_pu_right(", 1) + around
    return Part(config, text, part.module, part.latency)
