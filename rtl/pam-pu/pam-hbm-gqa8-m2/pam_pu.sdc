# pam-pu pam-hbm-gqa8-m2: target clock 666 MHz
set_units -time ns -capacitance fF
create_clock -name clk -period 1.5015 [get_ports clk]
set_clock_uncertainty -setup 0.0751 [get_clocks clk]
set_clock_uncertainty -hold 0.0300 [get_clocks clk]

set data_inputs [get_ports {
  command__payload[*]
  command__valid
  query__payload[*]
  query__valid
  kv__payload[*]
  kv__valid
  result__ready
}]
set_input_delay 0.3003 -clock clk $data_inputs
# A cell of your library drives the inputs if its name is in driving_cell before this file is read.
if {[info exists ::driving_cell]} {
  set_driving_cell -lib_cell $::driving_cell $data_inputs
} else {
  set_input_transition 0.0751 $data_inputs
}
set_output_delay 0.3003 -clock clk [all_outputs]
set_load 10 [all_outputs]

# The reset is synchronous: all registers leave it at the same edge, so its paths are timed. It comes
# from a register with no logic behind it: the clock period is for its tree, which layout builds.
set_input_delay 0 -clock clk [get_ports rst]
