"""One Verilog module for many equal instances, and Verilog modules by others."""

import re
from dataclasses import dataclass

from amaranth.back import verilog
from amaranth.hdl import ClockSignal, Instance, ResetSignal, Value
from amaranth.lib import wiring

__all__ = ["ForeignVerilog", "ModuleLibrary", "foreign", "shared"]


def shared(platform, component, name, *, part=False):
    """Use one Verilog module for many equal submodules: ``m.submodules.lane_0 = shared(platform, lane, "lane")``.

    Amaranth writes a separate module for every submodule. For Verilog, the platform is a :class:`ModuleLibrary`, and
    this function returns an instance of the one module ``name`` instead. In simulation and in proofs it returns the
    component itself. The ports are used in the same way in both cases.

    Parameters
    ----------
    platform : platform that ``elaborate`` received
    component : :class:`wiring.Component`
        It has an attribute ``config``. Components of one name must have equal configurations. Their clock and reset, if
        any, belong to domain ``sync``. Modules that create such components contain the line
        ``# amaranth: UnusedElaboratable=no``.
    name : :class:`str`
        Name of the module, behind the name of the top module.
    part : :class:`bool`
        True: the module has the attribute ``keep_hierarchy``, so synthesis maps it once, by itself. False: synthesis
        does so only if all ports of the module are streams.
    """
    return platform.instance(component, name, part) if isinstance(platform, ModuleLibrary) else component


class ModuleLibrary:
    """Platform for Verilog output: collects the modules that are instantiated several times.

    Parameters
    ----------
    prefix : :class:`str`
        Prefix of every module name, because other designs may have modules of the same names.

    Attributes
    ----------
    modules : dict of name to Verilog text
        Each module stands before all modules that use it.
    """

    def __init__(self, prefix, **options):
        self._prefix, self._options = prefix, options
        self._first = {}
        self.modules = {}

    def convert(self, component, name):
        """Verilog of a component, without the shared modules that it instantiates."""
        return verilog.convert(component, name=name, platform=self, **self._options)

    def instance(self, component, name, part=False):
        """An instance connected to the ports of ``component``.

        Raises
        ------
        :exc:`ValueError`
            If a component with another configuration already has the name.
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
        ports = {
            port: signal
            for port, signal in (("i_clk", ClockSignal()), ("i_rst", ResetSignal()))
            if f"\n  input {port[2:]};" in text
        }
        for path, member, value in component.signature.flatten(component):
            ports[f"{'i' if member.flow is wiring.In else 'o'}_{'__'.join(map(str, path))}"] = Value.cast(value)
        return Instance(name, **ports)


@dataclass(frozen=True)
class ForeignVerilog:
    """Verilog text that others wrote.

    Attributes
    ----------
    text : :class:`str`
        Modules whose bodies begin in the first column, instances indented by two spaces.
    note : :class:`str`
        Origin, owner and licence, for the head of the text.
    waived : tuple of :class:`str`
        Rules of Verilator that these modules break. They are off within these modules and nowhere else.
    """

    text: str
    note: str
    waived: tuple[str, ...] = ()

    def renamed(self, prefix):
        """The text for a design whose modules it must not collide with: each module has the prefix and a dot before its
        name."""
        text = re.sub(r"/\* *verilator .*?\*/|^`timescale.*\n", "", self.text, flags=re.MULTILINE)
        for name in re.findall(r"^module (\w+)", self.text, re.MULTILINE):
            text = re.sub(rf"^module {name}\b", rf"module \\{prefix}.{name}", text, flags=re.MULTILINE)
            text = re.sub(rf"^  {name} (\w+ \()", rf"  \\{prefix}.{name} \1", text, flags=re.MULTILINE)
        off, on = ("".join(f"/* verilator lint_{word} {rule} */\n" for rule in self.waived) for word in ("off", "on"))
        return "".join(f"// {line}\n" for line in self.note.splitlines()) + off + text + on


def foreign(platform, source, module, *, inside, **ports):
    """An instance of a module of :class:`ForeignVerilog`.

    Such a module exists in Verilog only. A component that contains one has no simulation or proof in Amaranth.

    Parameters
    ----------
    platform : platform that ``elaborate`` received
    source : :class:`ForeignVerilog`
    module : :class:`str`
        One of its modules.
    inside : :class:`str`
        Name that :func:`shared` gives to the component around the instance. Synthesis maps both in one piece.
    ports : as of :class:`Instance`

    Raises
    ------
    :exc:`ValueError`
        If there is no Verilog output, or ``source`` has no such module.
    """
    if not isinstance(platform, ModuleLibrary):
        raise ValueError(f"Module {module} exists in Verilog only, and this is no output of Verilog")
    if f"\nmodule {module} " not in source.text:
        raise ValueError(f"There is no module {module} in this Verilog")
    prefix = f"{platform._prefix}_{inside}"
    platform.modules.setdefault(f"{prefix}.", source.renamed(prefix))
    return Instance(f"{prefix}.{module}", **ports)
