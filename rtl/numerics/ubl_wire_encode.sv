// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Send-side cast and compression: packets of FP32 elements become payload bytes, bit for bit as
// encode_wire() and encode_wire_feedback() of sw/numerics.
//
// In come beats of 64 elements; only a packet's last beat may have fewer. What the packet is to
// become is sampled with its first beat. Out go 64-byte words, of which only a packet's last one may
// have fewer bytes (the others are 0), and, for packets with feedback, one beat of new residuals
// for each beat that came in (0 in lanes without an element).
//
//   stage 1   here               sum of element and residual; keys of the seed
//   stage 2   ubl_wire_scan      random bits; scale codes; which elements are kept
//   stage 3   ubl_wire_round     each element as it is on the wire
//   stage 4   ubl_wire_pack      bytes of the beat into a FIFO, from which words are cut
//   stage 4,5 ubl_wire_residual  what the wire decodes to; the difference, into a FIFO
//
// The stages never wait. A beat is taken in only while both FIFOs have a place for it, so that all
// outputs, ready_o too, depend on registers alone. A word is at the output 5 cycles after the beat
// that completes it, residuals 6 cycles after theirs.
//
// While nothing is inside, a simulation spends next to nothing here: every wide register is written
// in a process that first looks at its stage's valid bit.
//
// See also: README.md, "Encode"; sw/numerics/README.md, "Wire formats".

`include "ubl_assert.svh"

module ubl_wire_encode (
  input  logic          clk_i,
  /// Synchronous; drops all packets inside.
  input  logic          rst_ni,

  // The packet's options, sampled with its first beat.
  /// ubl_pkg::wire_format_e.
  input  logic [2:0]    format_i,
  /// Casts, int4, sparse8: stochastic rounding; else to nearest.
  input  logic          stochastic_i,
  /// Casts: what is beyond the largest number becomes the largest; else infinity (E4M3: NaN).
  input  logic          saturate_i,
  /// Add the residuals, and give out new ones.
  input  logic          feedback_i,
  /// The message's seed.
  input  logic [31:0]   seed_i,
  /// topk: smallest magnitude that is sent, an FP32 number above zero or infinity.
  input  logic [31:0]   threshold_i,
  /// Number of the packet's first element in its message, a multiple of the format's block.
  input  logic [31:0]   first_i,

  input  logic          valid_i,
  output logic          ready_o,
  /// Element k is bits 32k+31:32k.
  input  logic [2047:0] elem_i,
  input  logic [2047:0] residual_i,
  /// Elements of this beat, 1 to 64.
  input  logic [6:0]    count_i,
  /// Last beat of the packet.
  input  logic          last_i,

  output logic          data_valid_o,
  input  logic          data_ready_i,
  /// Byte k is bits 8k+7:8k.
  output logic [511:0]  data_o,
  /// Bytes of this word, 1 to 64.
  output logic [6:0]    bytes_o,
  /// Last word of the packet.
  output logic          last_o,

  output logic          residual_valid_o,
  input  logic          residual_ready_i,
  output logic [2047:0] residual_o,
  output logic [6:0]    residual_count_o,
  output logic          residual_last_o,

  /// Nothing is inside; without valid_i no register will change.
  output logic          idle_o
);

  `include "ubl_wire.svh"
  `include "ubl_fp32_add.svh"

  // Beats that a FIFO holds: more than a beat takes through stages and FIFO, so that beats can come
  // back to back.
  localparam int unsigned Depth = 8;
  localparam logic [31:0] G0 = 32'h9E3779B9;
  localparam logic [31:0] G1 = 32'h7F4A7C15;
  localparam logic [31:0] G2 = 32'hF39CC060;

  // Places taken in the two FIFOs, by beats in the stages too.
  logic [3:0]    packing_q, owing_q;
  logic          take, packed_pop, residual_pop;

  // Options of the packet that is coming in.
  logic          inside_q;
  logic [2:0]    format_q;
  logic          stochastic_q, saturate_q, feedback, feedback_q;
  logic [31:0]   threshold_q, index_q;

  // Stage 1.
  logic          valid1_q, last1_q;
  logic [6:0]    count1_q;
  logic [2047:0] x1_q;
  logic [31:0]   index1_q, key0_q, key1_q, key2_q;

  // Stage 2.
  logic          valid2, stochastic2, saturate2, feedback2, last2;
  logic [2:0]    format2;
  logic [6:0]    count2;
  logic [2047:0] x2, random2;
  logic [15:0]   code2;
  logic [63:0]   mask2;

  // Stage 3.
  logic          valid3, feedback3, last3;
  logic [2:0]    format3;
  logic [6:0]    count3;
  logic [2047:0] x3, wire3;
  logic [15:0]   code3;
  logic [63:0]   mask3;

  assign ready_o = packing_q != 4'(Depth) && owing_q != 4'(Depth);
  assign idle_o  = packing_q == 4'd0 && owing_q == 4'd0 && !data_valid_o && !residual_valid_o;
  assign take    = valid_i && ready_o;

  assign feedback = inside_q ? feedback_q : feedback_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      packing_q <= 4'd0;
      owing_q   <= 4'd0;
      inside_q  <= 1'b0;
      valid1_q  <= 1'b0;
    end else begin
      packing_q <= packing_q + {3'd0, take} - {3'd0, packed_pop};
      owing_q   <= owing_q + {3'd0, take && feedback} - {3'd0, residual_pop};
      valid1_q  <= take;
      if (take) inside_q <= !last_i;
    end
  end

  task automatic add_residuals();
    for (int unsigned i = 0; i < `UBL_LANES(count_i); i++) begin
      x1_q[{i[5:0], 5'd0} +: 32] <=
        fp32_add(elem_i[{i[5:0], 5'd0} +: 32], residual_i[{i[5:0], 5'd0} +: 32]);
    end
  endtask

  task automatic fill_up();
    for (int unsigned i = `UBL_LANES_FROM(count_i); i < 64; i++) begin
      if (7'(i) >= count_i) x1_q[{i[5:0], 5'd0} +: 32] <= 32'd0;
    end
  endtask

  always_ff @(posedge clk_i) begin
    if (take) begin
      if (!inside_q) begin
        format_q     <= format_i;
        stochastic_q <= stochastic_i;
        saturate_q   <= saturate_i;
        feedback_q   <= feedback_i;
        threshold_q  <= threshold_i;
        if (stochastic_i) begin
          key0_q <= wire_mix(seed_i, G0, G1, G2);
          key1_q <= wire_mix(seed_i + G1, G0, G1, G2);
          key2_q <= wire_mix(seed_i + G2, G0, G1, G2);
        end
      end
      index1_q <= inside_q ? index_q : first_i;
      index_q  <= (inside_q ? index_q : first_i) + 32'd64;
      count1_q <= count_i;
      last1_q  <= last_i;
      if (feedback) add_residuals();
      else x1_q <= elem_i;
      fill_up();
    end
  end

  // The options registers serve stage 1: they change with its other registers.
  ubl_wire_scan u_scan (
    .clk_i,
    .rst_ni,
    .valid_i      (valid1_q),
    .format_i     (format_q),
    .stochastic_i (stochastic_q),
    .saturate_i   (saturate_q),
    .feedback_i   (feedback_q),
    .threshold_i  (threshold_q),
    .count_i      (count1_q),
    .last_i       (last1_q),
    .x_i          (x1_q),
    .index_i      (index1_q),
    .key0_i       (key0_q),
    .key1_i       (key1_q),
    .key2_i       (key2_q),
    .valid_o      (valid2),
    .format_o     (format2),
    .stochastic_o (stochastic2),
    .saturate_o   (saturate2),
    .feedback_o   (feedback2),
    .count_o      (count2),
    .last_o       (last2),
    .x_o          (x2),
    .random_o     (random2),
    .code_o       (code2),
    .mask_o       (mask2)
  );

  ubl_wire_round u_round (
    .clk_i,
    .rst_ni,
    .valid_i      (valid2),
    .format_i     (format2),
    .stochastic_i (stochastic2),
    .saturate_i   (saturate2),
    .feedback_i   (feedback2),
    .count_i      (count2),
    .last_i       (last2),
    .x_i          (x2),
    .random_i     (random2),
    .code_i       (code2),
    .mask_i       (mask2),
    .valid_o      (valid3),
    .format_o     (format3),
    .feedback_o   (feedback3),
    .count_o      (count3),
    .last_o       (last3),
    .x_o          (x3),
    .wire_o       (wire3),
    .code_o       (code3),
    .mask_o       (mask3)
  );

  ubl_wire_pack #(.Depth(Depth)) u_pack (
    .clk_i,
    .rst_ni,
    .valid_i      (valid3),
    .format_i     (format3),
    .count_i      (count3),
    .last_i       (last3),
    .wire_i       (wire3),
    .code_i       (code3),
    .mask_i       (mask3),
    .pop_o        (packed_pop),
    .data_valid_o,
    .data_ready_i,
    .data_o,
    .bytes_o,
    .last_o
  );

  ubl_wire_residual #(.Depth(Depth)) u_residual (
    .clk_i,
    .rst_ni,
    .valid_i          (valid3 && feedback3),
    .format_i         (format3),
    .count_i          (count3),
    .last_i           (last3),
    .x_i              (x3),
    .wire_i           (wire3),
    .code_i           (code3),
    .mask_i           (mask3),
    .pop_o            (residual_pop),
    .residual_valid_o,
    .residual_ready_i,
    .residual_o,
    .residual_count_o,
    .residual_last_o
  );

  `UBL_ASSUME(CountInRange, !valid_i || (count_i >= 7'd1 && count_i <= 7'd64))
  `UBL_ASSUME(OnlyTheLastBeatIsPartial, !valid_i || last_i || count_i == 7'd64)
  `UBL_ASSUME(FirstAtABlock, !valid_i || inside_q ||
    (format_i == ubl_pkg::WireFormatInt4 ? first_i[6:0] == 7'd0 :
     format_i == ubl_pkg::WireFormatSparse8 || format_i == ubl_pkg::WireFormatTopk ?
       first_i[5:0] == 6'd0 : 1'b1))
  `UBL_ASSUME(ThresholdIsANumber, !valid_i || inside_q || format_i != ubl_pkg::WireFormatTopk ||
    (threshold_i != 32'd0 && threshold_i <= 32'h7F800000))

  `UBL_ASSERT(PlacesInRange, packing_q <= 4'(Depth) && owing_q <= 4'(Depth))
  `UBL_ASSERT(NoPlaceGivenBackTwice, !(packed_pop && packing_q == 4'd0) &&
    !(residual_pop && owing_q == 4'd0))
  `UBL_ASSERT(IdleIsIdle, !idle_o || !(valid1_q || valid2 || valid3))

  `UBL_COVER(PackingFull, packing_q == 4'(Depth))
  `UBL_COVER(OwingFull, owing_q == 4'(Depth) && packing_q != 4'(Depth))
  `UBL_COVER(PacketsBackToBack, take && !inside_q && valid1_q && last1_q)
  `UBL_COVER(NumbersWrap, take && inside_q && index_q < 32'd64)
  `UBL_COVER(OneElement, take && !inside_q && last_i && count_i == 7'd1)

endmodule
