# fp-exp bf16: target clock 500 MHz
set_units -time ns -capacitance fF
create_clock -name clk -period 2.0000
set_clock_uncertainty -setup 0.1000 [get_clocks clk]
set_clock_uncertainty -hold 0.0400 [get_clocks clk]

set data_inputs [get_ports {
  i__payload[*]
  i__valid
  o__ready
}]
set_input_delay 0.4000 -clock clk $data_inputs
# A cell of your library drives the inputs if its name is in driving_cell before this file is read.
if {[info exists ::driving_cell]} {
  set_driving_cell -lib_cell $::driving_cell $data_inputs
} else {
  set_input_transition 0.1000 $data_inputs
}
set_output_delay 0.4000 -clock clk [all_outputs]
set_load 10 [all_outputs]
