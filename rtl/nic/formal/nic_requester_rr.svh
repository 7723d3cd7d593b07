// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Inside nic_requester: its four round-robin choices.

`include "ubl_formal.svh"
`include "ubl_rr.svh"
`UBL_FORMAL_RESET
`UBL_RR(f_run, NumRun, run_elig, run_hot, run_mask_q, (ev == EvRun))
`UBL_RR(f_ack, Planes, ack_able, ack_hot, ack_mask_q, (ev == EvAck))
`UBL_RR(f_txc, Planes, txc_valid_i, txc_hot, txc_mask_q, (ev == EvTxc))
`UBL_RR(f_rxd, Planes, rxd_valid_i, rxd_hot, rxd_mask_q, (ev == EvRxd))
