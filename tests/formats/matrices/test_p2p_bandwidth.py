"""Matrices of p2pBandwidthLatencyTest: blocks, connectivity, latencies, defective links."""

from __future__ import annotations

import pytest

from tests.notices import said
from workbench.errors import InputError, UnknownNameError
from workbench.formats.matrices.base import MatrixReading
from workbench.formats.matrix import read_matrix_content

FULL = r"""[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, Some GPU, pciBusID: 1, pciDeviceID: 0, pciDomainID:0
Device: 1, Some GPU, pciBusID: 2, pciDeviceID: 0, pciDomainID:0
Device=0 CAN Access Peer Device=1
Device=1 CAN Access Peer Device=0

***NOTE: In case a device doesn't have P2P access to other one, it falls back to normal memcopy procedure.
So you can see lesser Bandwidth (GB/s) and unstable Latency (us) in those cases.

P2P Connectivity Matrix
     D\D     0     1
     0	     1     1
     1	     1     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\D     0      1
     0 800.00  20.00
     1  21.00 800.00
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\D     0      1
     0 800.00  12.00
     1  22.00 800.00
Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\D     0      1
     0 800.00  30.00
     1  30.50 800.00
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\D     0      1
     0 800.00  44.00
     1  44.00 800.00
P2P=Disabled Latency Matrix (us)
   GPU     0      1
     0   1.50  12.00
     1  12.00   1.50

   CPU     0      1
     0   2.50   6.00
     1   6.00   2.50
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1
     0   1.50   1.30
     1   1.30   1.50

   CPU     0      1
     0   2.50   2.00
     1   2.00   2.50

NOTE: The CUDA Samples are not meant for performance measurements.
"""


def read(text: str, block: str | None = None) -> MatrixReading:
    return read_matrix_content(text.encode(), "p2p.txt", block=block)


def test_one_direction_with_p2p_is_the_default_and_every_line_is_known() -> None:
    reading = read(FULL)
    assert reading.format == "p2pBandwidthLatencyTest"
    assert (reading.block, reading.kind) == ("unidirectional", "unidirectional")
    assert reading.matrix.gb_s.tolist() == [[800, 12], [22, 800]]
    assert reading.unread == ()
    assert said(reading.notes) == ("latencies are left aside",)


@pytest.mark.parametrize(
    ("block", "want"),
    [
        ("unidirectional-p2p-off", (20.0, 21.0)),
        ("bidirectional", (44.0, 44.0)),
        ("bidirectional-p2p-off", (30.0, 30.5)),
    ],
)
def test_every_block_can_be_asked_for(block: str, want: tuple[float, float]) -> None:
    reading = read(FULL, block)
    assert (reading.matrix.gb_s[0, 1], reading.matrix.gb_s[1, 0]) == want
    assert reading.kind == block.removesuffix("-p2p-off")


def test_an_unknown_block_offers_the_others() -> None:
    with pytest.raises(UnknownNameError, match="did you mean bidirectional"):
        read(FULL, "bidirectonal")


def test_p2p_slower_than_staging_is_said_in_words() -> None:
    (doubt,) = read(FULL).matrix.suspicious
    assert (doubt.code, doubt.pairs) == ("p2p-slower-than-staging", ((0, 1),))
    assert doubt.message == "P2P is slower than staging through the host 0 → 1: 12 against 20 GB/s"


def test_refused_peers_are_disabled_p2p() -> None:
    text = FULL.replace("Device=1 CAN Access Peer Device=0", "Device=1 CANNOT Access Peer Device=0")
    start, end = text.index("P2P Connectivity"), text.index("Unidirectional P2P=Disabled")
    doubts = read(text[:start] + text[end:]).matrix.suspicious
    assert next((d.code, d.pairs) for d in doubts) == ("p2p-disabled", ((1, 0),))


def test_a_refused_peer_of_thousands_of_digits_is_no_pair() -> None:
    text = FULL.replace("Device=1 CAN Access Peer Device=0", f"Device=1 CANNOT Access Peer Device={'9' * 5000}")
    assert read(text).matrix.suspicious == read(FULL).matrix.suspicious


def test_lines_that_nobody_knows_are_told_by_number() -> None:
    text = FULL.replace("P2P Connectivity", "something else\nP2P Connectivity")
    assert read(text).unread == ((10, "something else"),)


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        (FULL[: FULL.index("     1  22.00")], "after line 20", "rows are missing"),
        (FULL[: FULL.index("  22.00 800.00")], "line 21, row 1", "the row is cut off"),
        (FULL.replace(" 12.00\n     1  22", "   n/a\n     1  22"), "line 20, row 0, column 1", "not a number"),
        (FULL[FULL.index("P2P=Disabled Latency") :], None, "no bandwidth in it"),
        (FULL + FULL, "line 61", "the same table twice"),
        (FULL.replace("Matrix (GB/s)", "Matrix (MB/s)"), "line 14", "an unknown unit"),
        ("Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n", "line 2", "cut off"),
    ],
)
def test_what_is_broken_is_refused_with_its_line(text: str, where: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(text)
    assert (caught.value.source, caught.value.where) == ("p2p.txt", where)
