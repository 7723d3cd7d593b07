// SPDX-License-Identifier: Apache-2.0
// Ports of the Verilated boxes, for whoever handles them all alike (recording, replay, waves). The
// clock is not among them. A missing input shows in the replay benchmark and in waves: outputs
// differ from the run's. All variants of a model have the same ports.
#pragma once

#include <type_traits>

#include "Vhost_if.h"
#include "Vnic_core.h"
#include "Vnic_port.h"
#include "Vubl_switch128.h"
#include "Vubl_switch16.h"

namespace ubl::cosim {

template <typename Model, typename F>
void host_if_inputs(Model& m, F&& f) {
  f(m.rst_ni), f(m.bme_i), f(m.mmio_req_valid_i), f(m.hdma_req_ready_i), f(m.hdma_rsp_valid_i);
  f(m.csr_req_ready_i), f(m.csr_rsp_valid_i), f(m.db_ready_i), f(m.dma_req_valid_i), f(m.node_i);
  f(m.now_i), f(m.mmio_req_i), f(m.hdma_rsp_i), f(m.csr_rsp_i), f(m.dma_req_i), f(m.push_ready_i);
}

template <typename Model, typename F>
void host_if_outputs(Model& m, F&& f) {
  f(m.mmio_req_ready_o), f(m.mmio_rsp_valid_o), f(m.hdma_req_valid_o), f(m.csr_req_valid_o);
  f(m.db_valid_o), f(m.dma_req_ready_o), f(m.dma_rsp_valid_o), f(m.idle_o), f(m.mmio_rsp_o);
  f(m.hdma_req_o), f(m.csr_req_o), f(m.db_o), f(m.dma_rsp_o), f(m.push_valid_o), f(m.push_o);
}

template <typename Model, typename F>
void nic_core_inputs(Model& m, F&& f) {
  f(m.rst_ni), f(m.csr_req_valid_i), f(m.db_valid_i), f(m.dma_req_ready_i), f(m.dma_rsp_valid_i);
  f(m.txc_valid_i), f(m.rxh_valid_i), f(m.rxv_ready_i), f(m.rxd_valid_i), f(m.txd_credit_i);
  f(m.txc_i), f(m.rxh_i), f(m.rxd_i), f(m.now_i), f(m.csr_req_i), f(m.db_i), f(m.dma_rsp_i);
  f(m.push_valid_i), f(m.push_i);
}

template <typename Model, typename F>
void nic_core_outputs(Model& m, F&& f) {
  f(m.csr_req_ready_o), f(m.csr_rsp_valid_o), f(m.db_ready_o), f(m.dma_req_valid_o);
  f(m.txd_valid_o), f(m.txc_ready_o), f(m.rxh_ready_o), f(m.rxv_valid_o), f(m.rxd_ready_o);
  f(m.idle_o), f(m.txd_o), f(m.rxv_o), f(m.csr_rsp_o), f(m.dma_req_o), f(m.deadline_o);
  f(m.push_ready_o);
}

template <typename Model, typename F>
void nic_port_inputs(Model& m, F&& f) {
  f(m.rst_ni), f(m.plane_i), f(m.tx_credit_i), f(m.txd_valid_i), f(m.txc_ready_i);
  f(m.rxh_ready_i), f(m.rxv_valid_i), f(m.rxd_ready_i), f(m.trq_ready_i), f(m.trd_valid_i);
  f(m.rrq_ready_i), f(m.rrd_valid_i), f(m.wrq_ready_i), f(m.wrd_ready_i), f(m.wrs_valid_i);
  f(m.wrs_err_i), f(m.node_i), f(m.rx_flit_i), f(m.txd_i), f(m.rxv_i), f(m.trd_i), f(m.rrd_i);
}

template <typename Model, typename F>
void nic_port_outputs(Model& m, F&& f) {
  f(m.rx_credit_o), f(m.txd_credit_o), f(m.txc_valid_o), f(m.rxh_valid_o), f(m.rxv_ready_o);
  f(m.rxd_valid_o), f(m.trq_valid_o), f(m.trd_ready_o), f(m.rrq_valid_o), f(m.rrd_ready_o);
  f(m.wrq_valid_o), f(m.wrd_valid_o), f(m.idle_o), f(m.wrd_o), f(m.tx_flit_o), f(m.txc_o);
  f(m.rxh_o), f(m.rxd_o), f(m.trq_o), f(m.rrq_o), f(m.wrq_o);
}

template <typename Model, typename F>
void switch_inputs(Model& m, F&& f) {
  f(m.rst_ni), f(m.plane_i), f(m.cfg_we_i), f(m.cfg_wdata_i), f(m.rx_valid_i), f(m.cfg_addr_i);
  f(m.ecn_kmin_i), f(m.ecn_kmax_i), f(m.rx_meta_i), f(m.rx_data_i), f(m.now_i), f(m.tx_credit_i);
}

template <typename Model, typename F>
void switch_outputs(Model& m, F&& f) {
  f(m.cfg_rdata_o), f(m.idle_o), f(m.tx_valid_o), f(m.err_valid_o), f(m.tx_meta_o);
  f(m.tx_data_o), f(m.rx_credit_o), f(m.err_code_o);
}

template <typename Model, typename F>
void each_input(Model& m, F&& f) {
  if constexpr (std::is_same_v<Model, Vhost_if>)
    host_if_inputs(m, f);
  else if constexpr (std::is_same_v<Model, Vnic_core>)
    nic_core_inputs(m, f);
  else if constexpr (std::is_same_v<Model, Vnic_port>)
    nic_port_inputs(m, f);
  else
    switch_inputs(m, f);
}

template <typename Model, typename F>
void each_output(Model& m, F&& f) {
  if constexpr (std::is_same_v<Model, Vhost_if>)
    host_if_outputs(m, f);
  else if constexpr (std::is_same_v<Model, Vnic_core>)
    nic_core_outputs(m, f);
  else if constexpr (std::is_same_v<Model, Vnic_port>)
    nic_port_outputs(m, f);
  else
    switch_outputs(m, f);
}

}  // namespace ubl::cosim
