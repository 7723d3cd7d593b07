// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Error feedback of ubl_wire_encode: what each element loses on the wire.
//
//   stage 4   what the wire decodes to, as FP32 (d)
//   stage 5   x - d, or +0 if either is not finite; into a FIFO of beats
//
// Elements that are not sent (sparse8, topk) decode to +0, and none as well as what topk sends to
// the element itself.
//
// See also: ubl_wire_encode.sv; sw/numerics/README.md, "Error feedback".

`include "ubl_assert.svh"

module ubl_wire_residual #(
  /// Beats in the FIFO, a power of two.
  parameter int unsigned Depth = 8
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          valid_i,
  input  logic [2:0]    format_i,
  input  logic [6:0]    count_i,
  input  logic          last_i,
  input  logic [2047:0] x_i,
  input  logic [2047:0] wire_i,
  input  logic [15:0]   code_i,
  input  logic [63:0]   mask_i,
  /// A beat leaves the FIFO.
  output logic          pop_o,
  output logic          residual_valid_o,
  input  logic          residual_ready_i,
  output logic [2047:0] residual_o,
  output logic [6:0]    residual_count_o,
  output logic          residual_last_o
);

  `include "ubl_wire.svh"
  `include "ubl_fp32_add.svh"

  localparam int unsigned PtrW = $clog2(Depth);
  localparam logic [31:0] Nan  = 32'h7FC00000;

  logic [2047:0]           x_q, decoded_q;
  logic                    valid_q, last_q;
  logic [6:0]              count_q;

  logic [Depth*2048-1:0]   beat_q;
  logic [Depth-1:0][6:0]   beat_count_q;
  logic [Depth-1:0]        beat_last_q;
  logic [PtrW-1:0]         wptr_q, rptr_q;
  logic [PtrW:0]           held_q;

  // fraction x 2^unit, less than 2^10 of them, as FP32; `top` is the exponent field of a number
  // whose leading one is bit 9. Not for results below FP32's normal range.
  function automatic logic [30:0] normalised(input logic [9:0] fraction, input logic [7:0] top);
    logic [9:0] f;
    logic [3:0] up;
    f     = fraction;
    up[3] = f[9:2] == 8'd0;
    f     = up[3] ? f << 8 : f;
    up[2] = f[9:6] == 4'd0;
    f     = up[2] ? f << 4 : f;
    up[1] = f[9:8] == 2'd0;
    f     = up[1] ? f << 2 : f;
    up[0] = !f[9];
    f     = up[0] ? f << 1 : f;
    normalised = fraction == 10'd0 ? 31'd0 : {top - {4'd0, up}, f[8:0], 14'd0};
  endfunction

  // FP16, finite.
  function automatic logic [31:0] from_fp16(input logic [15:0] w);
    if (w[14:10] == 5'd31) from_fp16 = Nan;
    else if (w[14:10] == 5'd0) from_fp16 = {w[15], normalised(w[9:0], 8'd112)};
    else from_fp16 = {w[15], {3'd0, w[14:10]} + 8'd112, w[9:0], 13'd0};
  endfunction

  function automatic logic [31:0] from_e4m3(input logic [7:0] w);
    if (w[6:0] == 7'h7F) from_e4m3 = Nan;
    else if (w[6:3] == 4'd0) from_e4m3 = {w[7], normalised({w[2:0], 7'd0}, 8'd120)};
    else from_e4m3 = {w[7], {4'd0, w[6:3]} + 8'd120, w[2:0], 20'd0};
  endfunction

  // A nibble times 2^(code - 128): subnormal from code 0 (up to 3) and 1 (1); above FP32's range the
  // largest number.
  function automatic logic [31:0] from_nibble(input logic [3:0] w, input logic [7:0] code);
    logic [2:0] q;
    logic [1:0] top;
    logic [8:0] exponent;
    q        = w[3] ? 3'd0 - w[2:0] : w[2:0];
    top      = q[2] ? 2'd2 : {1'b0, q[1]};
    exponent = {1'b0, code} + {7'd0, top};  // one above the field
    if (q == 3'd0) from_nibble = 32'd0;
    else if (code == 8'hFF) from_nibble = Nan;
    else if (exponent >= 9'd256) from_nibble = {w[3], 31'h7F7FFFFF};
    else if (exponent <= 9'd1) from_nibble = {w[3], 8'd0, code[0] ? 23'h400000 : {q[1:0], 21'd0}};
    else begin
      from_nibble = {w[3], exponent[7:0] - 8'd1, q[2] ? {q[1:0], 21'd0} : {q[0] && q[1], 22'd0}};
    end
  endfunction

  task automatic decode_lanes();
    logic [31:0] w, d;
    logic [7:0]  code;
    for (int unsigned i = 0; i < `UBL_LANES(count_i); i++) begin
      w    = wire_i[{i[5:0], 5'd0} +: 32];
      code = i[5] ? code_i[15:8] : code_i[7:0];
      case (format_i)
        ubl_pkg::WireFormatFp16: d = from_fp16(w[15:0]);
        ubl_pkg::WireFormatBf16: d = {w[15:0], 16'd0};
        ubl_pkg::WireFormatE4m3: d = from_e4m3(w[7:0]);
        ubl_pkg::WireFormatE5m2: d = from_fp16({w[7:0], 8'd0});
        ubl_pkg::WireFormatInt4: d = code == 8'hFF ? Nan : from_nibble(w[3:0], code);
        ubl_pkg::WireFormatSparse8: begin
          if (code == 8'hFF) d = Nan;
          else d = mask_i[i[5:0]] ? from_nibble(w[3:0], code) : 32'd0;
        end
        ubl_pkg::WireFormatTopk: d = mask_i[i[5:0]] ? w : 32'd0;
        default: d = w;
      endcase
      decoded_q[{i[5:0], 5'd0} +: 32] <= d;
    end
  endtask

  function automatic logic [31:0] difference(input logic [31:0] x, input logic [31:0] d);
    // The adder would say the same of the last two: the simulator is spared it for what is sent as it
    // is or not at all.
    if (x[30:23] == 8'hFF || d[30:23] == 8'hFF) difference = 32'd0;
    else if (x == d) difference = 32'd0;
    else if (d == 32'd0) difference = x;
    else difference = fp32_add(x, {!d[31], d[30:0]});
  endfunction

  task automatic subtract_lanes();
    for (int unsigned i = 0; i < `UBL_LANES(count_q); i++) begin
      beat_q[{wptr_q, i[5:0], 5'd0} +: 32] <=
        difference(x_q[{i[5:0], 5'd0} +: 32], decoded_q[{i[5:0], 5'd0} +: 32]);
    end
    for (int unsigned i = `UBL_LANES_FROM(count_q); i < 64; i++) begin
      if (7'(i) >= count_q) beat_q[{wptr_q, i[5:0], 5'd0} +: 32] <= 32'd0;
    end
  endtask

  assign pop_o = held_q != '0 && (!residual_valid_o || residual_ready_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q          <= 1'b0;
      wptr_q           <= '0;
      rptr_q           <= '0;
      held_q           <= '0;
      residual_valid_o <= 1'b0;
    end else begin
      valid_q <= valid_i;
      if (valid_q) wptr_q <= wptr_q + PtrW'(1);
      if (pop_o) rptr_q <= rptr_q + PtrW'(1);
      held_q <= held_q + {{PtrW{1'b0}}, valid_q} - {{PtrW{1'b0}}, pop_o};
      if (!residual_valid_o || residual_ready_i) residual_valid_o <= pop_o;
    end
  end

  always_ff @(posedge clk_i) begin
    if (pop_o) begin
      residual_o       <= beat_q[{rptr_q, 11'd0} +: 2048];
      residual_count_o <= beat_count_q[rptr_q];
      residual_last_o  <= beat_last_q[rptr_q];
    end
    if (valid_q) begin
      subtract_lanes();
      beat_count_q[wptr_q] <= count_q;
      beat_last_q[wptr_q]  <= last_q;
    end
    if (valid_i) begin
      x_q     <= x_i;
      count_q <= count_i;
      last_q  <= last_i;
      decode_lanes();
    end
  end

  logic stalled_q;
  always_ff @(posedge clk_i) stalled_q <= rst_ni && residual_valid_o && !residual_ready_i;

  `UBL_ASSERT_INIT(DepthIsAPowerOfTwo, Depth == 1 << PtrW)
  `UBL_ASSERT(NoOverflow, !(valid_q && held_q == (PtrW + 1)'(Depth)))
  `UBL_ASSERT(BeatWaits, !stalled_q || residual_valid_o)
  `UBL_ASSERT(OnlyTheLastBeatIsPartial, !residual_valid_o || residual_last_o ||
    residual_count_o == 7'd64)

  `UBL_COVER(Full, held_q == (PtrW + 1)'(Depth))
  `UBL_COVER(LargestNumber, valid_i && code_i[7:0] == 8'd254 &&
    (format_i == ubl_pkg::WireFormatInt4 || format_i == ubl_pkg::WireFormatSparse8))

endmodule
