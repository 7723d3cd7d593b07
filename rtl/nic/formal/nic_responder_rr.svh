// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Inside nic_responder: its five round-robin choices. A grant is a visit; the header at the front of
// a plane may need several of them.

`include "ubl_formal.svh"
`include "ubl_rr.svh"
`UBL_FORMAL_RESET
`UBL_RR(f_rxh, Planes, rxh_valid_i, rxh_hot, rxh_mask_q, (ev == EvRxh))
`UBL_RR(f_rxd, Planes, rxd_valid_i, rxd_hot, rxd_mask_q, (ev == EvRxd))
`UBL_RR(f_txc, Planes, txc_valid_i, txc_hot, txc_mask_q, (ev == EvTxc))
`UBL_RR(f_ack, Planes, ack_elig, ack_hot, ack_mask_q, (ev == EvAck && !sel_rd))
`UBL_RR(f_rdq, Planes, rdq_elig, rdq_hot, rdq_mask_q, (ev == EvAck && sel_rd))
