"""Links as a tree: bandwidth of each, paths, transfers that share links, and which trees are refused."""

import numpy as np
import pytest

from bankside.constraints.core.document import parse, validate
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.systems.links import LinkEdge, LinkTreeSpec
from bankside.models.systems.links import DOWN, HOST, UP, LinkTree, Transfer, by_name

TREE = """
edges:
  - {name: gpu, generation: 4, lanes: 16}
  - {name: expansion, generation: 4, lanes: 16}
  - {name: pair, below: expansion, count: 8, generation: 4, lanes: 8}
  - {name: drive, below: pair, count: 2, generation: 3, lanes: 4}
  - {name: flash, below: drive, gb_s: 3.5}
  - {name: fpga, below: drive, generation: 3, lanes: 4}
latency_us: 2
pj_per_byte: 40
source: a test
"""


def made(text=TREE):
    document, lines = parse(text, "tree.yaml")
    return LinkTree(validate(document, LinkTreeSpec, "tree.yaml", lines), "mine")


@pytest.mark.parametrize(
    "generation, lanes, gb_s",
    [
        (1, 4, 1.0),
        (2, 4, 2.0),
        (3, 4, 4 * 128 / 130),
        (4, 8, 16 * 128 / 130),
        (4, 16, 32 * 128 / 130),
        (5, 16, 64 * 128 / 130),
        (6, 1, 8 * 242 / 256),
    ],
)
def test_bandwidth_of_a_pcie_link(generation, lanes, gb_s):
    assert LinkEdge(name="a", generation=generation, lanes=lanes).bytes_per_s == pytest.approx(gb_s * 1e9)


def test_paths_go_by_the_nearest_common_node():
    tree = made()
    assert tree.places == {"host": 1, "gpu": 1, "expansion": 1, "pair": 8, "drive": 16, "flash": 16, "fpga": 16}
    # Drive 5 is the second one of pair 2
    assert tree.path(("drive", 5), ("gpu", 0)) == [
        (("drive", 5), UP),
        (("pair", 2), UP),
        (("expansion", 0), UP),
        (("gpu", 0), DOWN),
    ]
    assert tree.path(("flash", 3), ("fpga", 3)) == [(("flash", 3), UP), (("fpga", 3), DOWN)]
    assert tree.path(("drive", 4), ("drive", 5)) == [(("drive", 4), UP), (("drive", 5), DOWN)]
    assert tree.path(HOST, HOST) == [] and tree.rate(HOST, HOST) == float("inf")
    # The slowest link counts: peer to peer it is the flash, from drive to GPU the drive
    assert tree.rate(("flash", 3), ("fpga", 3)) == 3.5e9
    assert tree.rate(("drive", 3), ("gpu", 0)) == pytest.approx(4 * 128 / 130 * 1e9)
    assert tree.latency_s == pytest.approx(2e-6)


def test_transfers_share_links():
    """1 GB from each of n drives: alone a drive's link is the slowest; from 9 drives on, the link to the expansion."""
    tree = made()
    drive, expansion = 4 * 128 / 130, 32 * 128 / 130
    for count in (1, 2, 8, 9, 16):
        moved = [Transfer(node, HOST, 1e9) for node in tree.spread("drive", count)]
        assert tree.seconds(moved) == pytest.approx(max(1 / drive, count / expansion))
        assert by_name(tree.traffic(moved)) == {
            name: {UP: count * 1e9 * (name in ("drive", "pair", "expansion")), DOWN: 0.0} for name in tree.edges
        }
    # Directions do not meet, and arrays of bytes give arrays of times
    both = [Transfer(HOST, ("drive", 0), np.array([1e9, 4e9])), Transfer(("drive", 0), HOST, 2e9)]
    assert tree.seconds(both) == pytest.approx(np.array([2, 4]) / drive)
    # Transfers inside of drives share nothing
    assert tree.seconds([Transfer(("flash", n), ("fpga", n), 7e9) for n in range(16)]) == pytest.approx(2.0)
    assert tree.seconds([]) == 0


def test_drives_are_spread_over_the_branches():
    tree = made()
    assert [number for _, number in tree.spread("drive", 8)] == [0, 2, 4, 6, 8, 10, 12, 14]
    assert sorted(number for _, number in tree.spread("drive", 16)) == list(range(16))
    narrow = made(TREE.replace("generation: 4, lanes: 8", "generation: 3, lanes: 4"))
    # With links of pairs as narrow as those of drives, the second drive of a pair brings nothing
    times = [
        narrow.seconds([Transfer(node, HOST, 1e9 / count) for node in narrow.spread("drive", count)])
        for count in (4, 8, 16)
    ]
    assert times[0] == pytest.approx(2 * times[1]) and times[1] == pytest.approx(times[2])


@pytest.mark.parametrize("count", [17, 0, -1])
def test_drives_without_a_port(count):
    with pytest.raises(ConfigError, match=f"^mine: {count} drives: the links have ports for 1 to 16$"):
        made().spread("drive", count)


def test_nodes_that_do_not_exist():
    with pytest.raises(ConfigError, match=r"^mine: there are 16 nodes 'drive', none has the number 16$"):
        made().path(("drive", 16), HOST)
    with pytest.raises(ConfigError, match=r"^mine: links\.edges: unknown link 'drives'"):
        made().spread("drives", 1)


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "below: pair,",
            "below: pairs,",
            r"tree\.yaml:\d+: .*link 'drive' is below 'pairs', which no earlier entry is",
        ),
        ("name: fpga", "name: flash", r"tree\.yaml:\d+: .*two nodes are called 'flash'"),
        ("name: gpu", "name: host", r"tree\.yaml:\d+: .*two nodes are called 'host'"),
        (
            "gb_s: 3.5",
            "gb_s: 3.5, lanes: 4",
            r"tree\.yaml:\d+: .*link 'flash' needs either lanes and generation, or gb_s",
        ),
        ("gb_s: 3.5", "lanes: 4", r"tree\.yaml:\d+: .*link 'flash' needs either lanes and generation, or gb_s"),
        (", gb_s: 3.5", "", r"tree\.yaml:\d+: .*link 'flash' needs either lanes and generation, or gb_s"),
        ("gb_s: 3.5", "gb_s: -1", r"tree\.yaml:\d+: edges\.4\.gb_s: input should be greater than 0, not -1"),
        (
            "generation: 4, lanes: 8",
            "generation: 7, lanes: 8",
            r"edges\.2\.generation: input should be less than or equal to",
        ),
        ("count: 8", "count: 0", r"edges\.2\.count: input should be greater than or equal to 1"),
        ("count: 2", "count: 4096", r"32768 nodes are called 'drive', at most 16384 can be"),
        ("pj_per_byte: 40", "pj_per_bite: 40", r"pj_per_bite"),
    ],
)
def test_trees_that_are_refused(old, new, message):
    assert old in TREE
    with pytest.raises(ConfigError, match=message) as error:
        made(TREE.replace(old, new, 1))
    assert len(str(error.value).splitlines()) == 1
