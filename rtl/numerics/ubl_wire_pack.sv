// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stage 4 of ubl_wire_encode: bytes of a beat, and the words of the packet.
//
// The bytes of each beat go into a FIFO of beats, as 32-bit pieces: all beats but a packet's last
// one have a multiple of four bytes, and packets share no word. An int4 block has two beats; the
// codes of the first one wait for the second, or, if there is none, its zeros are made here.
//
// Behind the FIFO words are cut. The stream of pieces is what is left of earlier beats (rest, less
// than a word), then the beat at the head. Each cycle gives a word if the stream has one, and takes
// the head's remainder into the rest in the same cycle if it is less than a word. So the output is
// busy in every cycle but those in which a beat, added to the rest, makes no word. What is left of a
// packet's last beat goes out in the next cycle (flush); the rest can take a beat of the next packet
// meanwhile.
//
// See also: ubl_wire_encode.sv; sw/numerics/README.md, "Wire formats".

`include "ubl_assert.svh"

module ubl_wire_pack #(
  /// Beats in the FIFO, a power of two.
  parameter int unsigned Depth = 8
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          valid_i,
  input  logic [2:0]    format_i,
  input  logic [6:0]    count_i,
  input  logic          last_i,
  /// A lane of 32 bits for each element; +0 from count_i on (topk: any).
  input  logic [2047:0] wire_i,
  input  logic [15:0]   code_i,
  input  logic [63:0]   mask_i,
  /// A beat leaves the FIFO.
  output logic          pop_o,
  output logic          data_valid_o,
  input  logic          data_ready_i,
  output logic [511:0]  data_o,
  output logic [6:0]    bytes_o,
  output logic          last_o
);

  `include "ubl_wire.svh"

  localparam int unsigned PtrW = $clog2(Depth);

  // The FIFO: 128 pieces for each beat, of which topk uses 66 and nobody the others.
  logic [Depth*4096-1:0]  piece_q;
  logic [Depth-1:0][7:0]  pieces_q;  // how many
  logic [Depth-1:0][1:0]  odd_q;     // bytes of the last piece, less one
  logic [Depth-1:0]       ends_q;
  logic [PtrW-1:0]        wptr_q, rptr_q;
  logic [PtrW:0]          held_q;

  // int4: the beat is the second half of its block; codes of the first half.
  logic                   half_q;
  logic [15:0]            half_code_q;
  logic [8:0]             size;  // bytes of the beat

  always_comb begin
    size = {count_i, 2'd0};
    case (format_i)
      ubl_pkg::WireFormatFp16, ubl_pkg::WireFormatBf16: size = {1'b0, count_i, 1'b0};
      ubl_pkg::WireFormatE4m3, ubl_pkg::WireFormatE5m2: size = {2'd0, count_i};
      ubl_pkg::WireFormatInt4:    size = half_q ? 9'd36 : last_i ? 9'd68 : 9'd32;
      ubl_pkg::WireFormatSparse8: size = 9'd32;
      ubl_pkg::WireFormatTopk:    size = valid_i ? 9'd8 + {7'($countones(mask_i)), 2'd0} : 9'd0;
      default: ;
    endcase
  end

  // Each of these writes the pieces of one beat.

  task automatic store_words();
    for (int unsigned i = 0; i < `UBL_LANES(count_i); i++) begin
      piece_q[{wptr_q, 1'b0, i[5:0], 5'd0} +: 32] <= wire_i[{i[5:0], 5'd0} +: 32];
    end
  endtask

  task automatic store_halves();
    for (int unsigned i = 0; i < `UBL_LANES(count_i); i = i + 2) begin
      piece_q[{wptr_q, 2'b0, i[5:1], 5'd0} +: 32] <=
        {wire_i[{i[5:1], 1'd1, 5'd0} +: 16], wire_i[{i[5:1], 1'd0, 5'd0} +: 16]};
    end
  endtask

  task automatic store_bytes();
    for (int unsigned i = 0; i < `UBL_LANES(count_i); i = i + 4) begin
      piece_q[{wptr_q, 3'b0, i[5:2], 5'd0} +: 32] <=
        {wire_i[{i[5:2], 2'd3, 5'd0} +: 8], wire_i[{i[5:2], 2'd2, 5'd0} +: 8],
         wire_i[{i[5:2], 2'd1, 5'd0} +: 8], wire_i[{i[5:2], 2'd0, 5'd0} +: 8]};
    end
  endtask

  function automatic logic [3:0] nibble(input logic [5:0] i);
    nibble = wire_i[{i, 5'd0} +: 4];
  endfunction

  task automatic store_int4();
    for (int unsigned i = 0; i < 64; i = i + 8) begin
      piece_q[{wptr_q, 4'd0, i[5:3], 5'd0} +: 32] <=
        {nibble(6'(i + 7)), nibble(6'(i + 6)), nibble(6'(i + 5)), nibble(6'(i + 4)),
         nibble(6'(i + 3)), nibble(6'(i + 2)), nibble(6'(i + 1)), nibble(6'(i))};
    end
    if (half_q) begin
      piece_q[{wptr_q, 7'd8, 5'd0} +: 32] <= {code_i, half_code_q};
    end else if (last_i) begin
      // Pieces 8 to 15 are the nibbles of the half that is missing; its codes are 0.
      piece_q[{wptr_q, 7'd8, 5'd0} +: 288] <= {16'd0, code_i, 256'd0};
    end
    half_code_q <= code_i;
  endtask

  // The two kept nibbles of the group of element i.
  function automatic logic [7:0] kept(input logic [5:0] i);
    logic [3:0] mask;
    mask = mask_i[i +: 4];
    kept = {mask[3] ? nibble(i + 6'd3) : mask[2] ? nibble(i + 6'd2) : nibble(i + 6'd1),
            mask[0] ? nibble(i) : mask[1] ? nibble(i + 6'd1) : nibble(i + 6'd2)};
  endfunction

  task automatic store_sparse8();
    for (int unsigned i = 0; i < 64; i = i + 16) begin
      piece_q[{wptr_q, 5'd0, i[5:4], 5'd0} +: 32] <=
        {kept(6'(i + 12)), kept(6'(i + 8)), kept(6'(i + 4)), kept(6'(i))};
    end
    piece_q[{wptr_q, 7'd4, 5'd0} +: 128] <= {56'd0, code_i[7:0], mask_i};
  endtask

  task automatic store_topk();
    logic [6:0] at;
    piece_q[{wptr_q, 7'd0, 5'd0} +: 64] <= mask_i;
    at = 7'd2;
    for (int unsigned i = 0; i < `UBL_LANES(count_i); i++) begin
      if (mask_i[i[5:0]]) begin
        piece_q[{wptr_q, at, 5'd0} +: 32] <= wire_i[{i[5:0], 5'd0} +: 32];
        at = at + 7'd1;
      end
    end
  endtask

  // The head of the FIFO, and what can be done with it.
  logic        head_valid, head_ends, room, cut, go, flush_q;
  logic [6:0]  head_pieces, offset_q, total, left, source;
  logic [3:0]  rest_count, rest_count_q;
  logic [1:0]  end_bytes, end_bytes_q;  // of the packet's last piece, less one
  logic [479:0] rest_q;

  always_comb begin
    head_valid  = held_q != '0;
    head_ends   = ends_q[rptr_q];
    head_pieces = pieces_q[rptr_q][6:0];
    end_bytes   = odd_q[rptr_q];
    room        = !data_valid_o || data_ready_i;
    rest_count  = flush_q ? 4'd0 : rest_count_q;
    total       = {3'd0, rest_count} + head_pieces - offset_q;
    source      = offset_q - {3'd0, rest_count};
    cut         = head_ends || total >= 7'd16;
    go          = head_valid && (room || !cut) && !(flush_q && (cut || !room));
    left        = cut ? (total > 7'd16 ? total - 7'd16 : 7'd0) : total;
    pop_o       = go && left < 7'd16;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wptr_q       <= '0;
      rptr_q       <= '0;
      held_q       <= '0;
      half_q       <= 1'b0;
      flush_q      <= 1'b0;
      rest_count_q <= 4'd0;
      offset_q     <= 7'd0;
      data_valid_o <= 1'b0;
    end else begin
      if (valid_i) begin
        wptr_q <= wptr_q + PtrW'(1);
        half_q <= format_i == ubl_pkg::WireFormatInt4 && !half_q && !last_i;
      end
      if (pop_o) rptr_q <= rptr_q + PtrW'(1);
      held_q <= held_q + {{PtrW{1'b0}}, valid_i} - {{PtrW{1'b0}}, pop_o};
      if (room) data_valid_o <= flush_q || (go && cut);
      if (go) begin
        flush_q      <= cut && head_ends && left != 7'd0 && left < 7'd16;
        rest_count_q <= left < 7'd16 ? left[3:0] : 4'd0;
        offset_q     <= left < 7'd16 ? 7'd0 : 7'd16 + source;
      end else if (flush_q && room) begin
        flush_q      <= 1'b0;
        rest_count_q <= 4'd0;
      end
    end
  end

  // Piece i of the stream.
  function automatic logic [31:0] piece(input logic [6:0] i);
    if (i < {3'd0, rest_count}) piece = rest_q[{i[3:0], 5'd0} +: 32];
    else if (i < total) piece = piece_q[{rptr_q, source + i, 5'd0} +: 32];
    else piece = 32'd0;
  endfunction

  task automatic cut_word();
    for (int unsigned i = 0; i < 16; i++) data_o[32 * i +: 32] <= piece(7'(i));
  endtask

  task automatic flush_word();
    for (int unsigned i = 0; i < 15; i++) begin
      data_o[32 * i +: 32] <= 4'(i) < rest_count_q ? rest_q[32 * i +: 32] : 32'd0;
    end
    data_o[511:480] <= 32'd0;
  endtask

  // What it holds already stays.
  task automatic keep_rest();
    for (int unsigned i = 0; i < 15; i++) begin
      if (cut || 4'(i) >= rest_count) begin
        rest_q[32 * i +: 32] <= piece_q[{rptr_q, source + 7'(i) + (cut ? 7'd16 : 7'd0), 5'd0} +: 32];
      end
    end
  endtask

  always_ff @(posedge clk_i) begin
    if (go && cut) begin
      cut_word();
      bytes_o <= head_ends && total <= 7'd16 ? {1'b0, total[3:0] - 4'd1, end_bytes} + 7'd1 : 7'd64;
      last_o  <= head_ends && total <= 7'd16;
    end else if (flush_q && room) begin
      flush_word();
      bytes_o <= {1'b0, rest_count_q - 4'd1, end_bytes_q} + 7'd1;
      last_o  <= 1'b1;
    end
    if (pop_o && left != 7'd0) begin
      keep_rest();
      end_bytes_q <= end_bytes;
    end
    if (valid_i) begin
      pieces_q[wptr_q] <= 8'((size + 9'd3) >> 2);
      odd_q[wptr_q]    <= size[1:0] - 2'd1;
      ends_q[wptr_q]   <= last_i;
      case (format_i)
        ubl_pkg::WireFormatFp16, ubl_pkg::WireFormatBf16: store_halves();
        ubl_pkg::WireFormatE4m3, ubl_pkg::WireFormatE5m2: store_bytes();
        ubl_pkg::WireFormatInt4:    store_int4();
        ubl_pkg::WireFormatSparse8: store_sparse8();
        ubl_pkg::WireFormatTopk:    store_topk();
        default:                    store_words();
      endcase
    end
  end

  // For the check that a word waits unchanged.
  logic       stalled_q, stalled_last_q;
  logic [6:0] stalled_bytes_q;
  always_ff @(posedge clk_i) begin
    stalled_q       <= rst_ni && data_valid_o && !data_ready_i;
    stalled_bytes_q <= bytes_o;
    stalled_last_q  <= last_o;
  end

  `UBL_ASSERT_INIT(DepthIsAPowerOfTwo, Depth == 1 << PtrW)
  `UBL_ASSERT(NoOverflow, !(valid_i && held_q == (PtrW + 1)'(Depth)))
  `UBL_ASSERT(BeatInRange, !head_valid || (head_pieces != 7'd0 && head_pieces <= 7'd66))
  `UBL_ASSERT(OnlyPacketsEndInsideAPiece, !head_valid || head_ends || end_bytes == 2'd3)
  `UBL_ASSERT(OffsetInBeat, !head_valid || offset_q < head_pieces)
  `UBL_ASSERT(RestOrOffset, rest_count_q == 4'd0 || offset_q == 7'd0)
  `UBL_ASSERT(BytesInRange, !data_valid_o || (bytes_o != 7'd0 && bytes_o <= 7'd64))
  `UBL_ASSERT(OnlyTheLastWordIsPartial, !data_valid_o || last_o || bytes_o == 7'd64)
  `UBL_ASSERT(WordWaits, !stalled_q ||
    (data_valid_o && bytes_o == stalled_bytes_q && last_o == stalled_last_q))
  `UBL_ASSERT(TwoOfFour, !valid_i || format_i != ubl_pkg::WireFormatSparse8 ||
    $countones(mask_i) == 32)

  `UBL_COVER(FlushAndNextPacket, flush_q && go)
  `UBL_COVER(FlushWaits, flush_q && !room)
  `UBL_COVER(FlushHoldsBackABeat, flush_q && room && head_valid && !go)
  `UBL_COVER(BeatOfFiveWords, go && cut && left >= 7'd64)
  `UBL_COVER(WordFilledExactly, go && cut && total == 7'd16 && rest_count != 4'd0)
  `UBL_COVER(HalfBlockAtTheEnd, valid_i && format_i == ubl_pkg::WireFormatInt4 && !half_q && last_i)
  `UBL_COVER(BlockOfNan, valid_i && format_i == ubl_pkg::WireFormatSparse8 && code_i[7:0] == 8'hFF)
  `UBL_COVER(AllSent, valid_i && format_i == ubl_pkg::WireFormatTopk && mask_i == '1)
  `UBL_COVER(NoneSent, valid_i && format_i == ubl_pkg::WireFormatTopk && mask_i == '0)

endmodule
