#!/usr/bin/python3
# Copyright 2026 The OpenUBL Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a capture with scapy and builds every frame anew with scapy's own RoCE layer, ICRC left to
it; the bytes must be those of the capture. FCS by zlib.

usage: check_icrc.py FILE.pcapng     exit status 0: every frame is right; 1: some are not, or the
                                     file cannot be read; 2: a usage error
"""
import argparse
import sys
import zlib

from scapy.contrib.roce import BTH
from scapy.error import Scapy_Exception
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapNgReader


def wrong(frame):
    """What is wrong with a frame, or nothing."""
    body, fcs = frame[:-4], frame[-4:]
    if zlib.crc32(body) != int.from_bytes(fcs, "little"):
        return f"FCS {fcs.hex()}"
    packet = Ether(body)
    if BTH not in packet:
        return "is no RoCE frame: " + packet.summary()
    icrc = packet[BTH].icrc
    packet[BTH].icrc = None
    built = bytes(packet)
    if built != body:
        if built[:-4] == body[:-4]:
            return f"ICRC {icrc:#x}, must be {built[-4:].hex()}"
        return "differs from what scapy makes of it"
    return None


def main():
    p = argparse.ArgumentParser(prog="check_icrc.py", description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter,
                                usage=argparse.SUPPRESS)
    p.add_argument("file", metavar="FILE.pcapng")
    path = p.parse_args().file
    count, bad = 0, 0
    try:
        reader = RawPcapNgReader(path)
    except OSError as e:
        sys.exit(f"check_icrc.py: {path}: {e.strerror}")
    except (Scapy_Exception, EOFError) as e:
        sys.exit(f"check_icrc.py: {path}: {e}")
    for frame, _ in reader:
        count += 1
        reason = wrong(frame)
        if reason:
            bad += 1
            if bad <= 10:
                print(f"frame {count}: {reason}")
    print(f"{count} frames, {bad} wrong")
    sys.exit(1 if bad or not count else 0)


main()
