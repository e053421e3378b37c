"""One Verilog module for many equal instances."""

from amaranth.back import verilog
from amaranth.hdl import ClockSignal, Instance, ResetSignal, Value
from amaranth.lib import wiring

__all__ = ["ModuleLibrary", "shared"]


def shared(platform, component, name, *, part=False):
    """A component as a submodule of which there are many: ``m.submodules.lane_0 = shared(platform, lane, "lane")``.

    Amaranth writes a module of its own for every submodule. Where Verilog is made (the platform is a
    :class:`ModuleLibrary`), this is an instance of the one module ``name`` instead; in simulation and in proofs it is the
    component itself. Its ports are used as always.

    Parameters
    ----------
    platform : what ``elaborate`` was given
    component : :class:`wiring.Component`
        With ``config``: components of one name must have equal configurations. A clock and a reset, if it has them, are
        those of domain ``sync``. Modules that create such components say ``# amaranth: UnusedElaboratable=no``.
    name : :class:`str`
        Of the module, behind the name of the top module.
    part : :class:`bool`
        Synthesis maps the module once by itself: it has the attribute ``keep_hierarchy``. Without it that is so if only
        streams lead into and out of it.
    """
    return platform.instance(component, name, part) if isinstance(platform, ModuleLibrary) else component


class ModuleLibrary:
    """The platform with which Verilog is made: collects the modules that are instantiated several times.

    Parameters
    ----------
    prefix : :class:`str`
        Begins the name of every module, because other designs have modules of the same names.

    Attributes
    ----------
    modules : dict of name to Verilog text
        In an order in which each stands before those that use it.
    """

    def __init__(self, prefix, **options):
        self._prefix, self._options = prefix, options
        self._first = {}
        self.modules = {}

    def convert(self, component, name):
        """Verilog of a component alone, without the modules that it instantiates."""
        return verilog.convert(component, name=name, platform=self, **self._options)

    def instance(self, component, name, part=False):
        """An instance that drives and is driven by the ports of ``component``.

        Raises
        ------
        :exc:`ValueError`
            If another component has the name.
        """
        name = f"{self._prefix}_{name}"
        first = self._first.setdefault(name, component)
        if type(first) is not type(component) or first.config != component.config:
            raise ValueError(f"Module {name} is {first!r} and cannot be {component!r}")
        if name not in self.modules:
            text = self.convert(component, name)
            head = f"\nmodule {name}("
            self.modules[name] = text.replace(head, f"\n(* keep_hierarchy *){head}") if part else text
        text = self.modules[name]
        ports = {port: signal for port, signal in (("i_clk", ClockSignal()), ("i_rst", ResetSignal()))
                 if f"\n  input {port[2:]};" in text}
        for path, member, value in component.signature.flatten(component):
            ports[f"{'i' if member.flow is wiring.In else 'o'}_{'__'.join(map(str, path))}"] = Value.cast(value)
        return Instance(name, **ports)
