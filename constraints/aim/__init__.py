"""Devices of AiM channels: the channel, the module, the hub, and the encoding of their programs."""
