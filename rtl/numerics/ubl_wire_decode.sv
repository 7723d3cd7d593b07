// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Wire-format decoder: the payload of packets in, FP32 elements out. sw/numerics/README.md, "Wire
// formats", defines every bit, also of malformed bytes.
//
// A packet is words of 64 bytes, all full but the last one. With its first word come format, number of
// elements and number of bytes: a payload of the wrong length decodes to zeros from its first element
// on, so the length must be known before the last word is there.
//
// Elements leave in beats, in order. Every beat goes through one register; a packet's last beat tells
// what is wrong first. What of the payload is not needed (a payload that is too long) is taken and
// dropped behind that beat. in_ready_o depends on out_ready_i within the cycle.
//
//   beat                          elements        payload bytes
//   none                          16              64
//   fp16, bf16                    32              64
//   e4m3, e5m2                    64              64
//   int4                          64              68 for two beats
//   sparse8                       64              32
//   topk                          up to 64, with at most 16 sent ones; a beat ends with its group
//   zeros of a wrong length       64
//
// The last beat of a packet may have fewer. Per cycle one word is taken and one beat made, across
// packets too.
//
// See also: README.md (theory of operation).

`include "ubl_assert.svh"

module ubl_wire_decode #(
  /// Largest payload.
  parameter int unsigned MaxBytes = ubl_pkg::LinkMtu
) (
  input  logic                          clk_i,
  /// Asynchronous reset, active low; also in the middle of a packet.
  input  logic                          rst_ni,
  /// A word of payload is present.
  input  logic                          in_valid_i,
  /// Word taken.
  output logic                          in_ready_o,
  /// Payload, its first byte in bits 7:0.
  input  logic [511:0]                  data_i,
  /// Bytes of it: 64, with last_i 1 to 64.
  input  logic [6:0]                    bytes_i,
  /// Last word of its packet.
  input  logic                          last_i,
  /// With the first word of a packet: wire_format.
  input  logic [2:0]                    format_i,
  /// With the first word of a packet: elements, at least 1.
  input  logic [15:0]                   count_i,
  /// With the first word of a packet: bytes of its payload, at least 1; the sum of bytes_i.
  input  logic [$clog2(MaxBytes+1)-1:0] size_i,
  /// A beat is present.
  output logic                          out_valid_o,
  /// Beat taken.
  input  logic                          out_ready_i,
  /// Elements, the first one in bits 31:0; those from count_o on have any value.
  output logic [2047:0]                 elem_o,
  /// Elements of the beat: 1 to 64.
  output logic [6:0]                    count_o,
  /// Last beat of its packet.
  output logic                          last_o,
  /// With the last beat, else 0: what is wrong first. 0 nothing, 1 length, 2 reserved bits, 3 mask.
  output logic [1:0]                    err_o
);

  `UBL_ASSERT_INIT(MaxBytesRange, MaxBytes >= 64 && MaxBytes <= 65536)

  // Payload is counted in units of 4 bytes. A unit may be cut off at the end of a packet; the next
  // packet begins with a unit of its own.
  localparam int unsigned SizeW     = $clog2(MaxBytes + 1);
  localparam int unsigned LeftW     = SizeW - 1;   // units of a packet
  // The window holds a block of int4 and a word, so that one is taken while the block is decoded.
  localparam int unsigned Units     = 33;
  localparam int unsigned WindowW   = 32 * Units;
  localparam int unsigned Room      = 16;
  localparam logic [5:0]  Int4Units = 6'd17;
  localparam logic [5:0]  SparseUnits = 6'd8;
  localparam logic [4:0]  TopkBudget  = 5'd16;     // sent elements of a beat

  localparam logic [1:0]  ErrNone     = 2'd0;
  localparam logic [1:0]  ErrLength   = 2'd1;
  localparam logic [1:0]  ErrReserved = 2'd2;
  localparam logic [1:0]  ErrMask     = 2'd3;

  localparam logic [31:0] Nan         = 32'h7FC00000;
  localparam logic [31:0] Largest     = 32'h7F7FFFFF;
  localparam logic [7:0]  ScaleNan    = 8'hFF;

  // ---------------------------------------------------------------------------------------------
  // Elements of the formats
  // ---------------------------------------------------------------------------------------------
  // A function that Verilator calls instead of copying it 64 times: it compiles in seconds.

  function automatic logic [31:0] canonical(logic [31:0] x);
    canonical = (x[30:0] > 31'h7F800000) ? Nan : x;
  endfunction

  // E5M2 is the upper byte of FP16.
  function automatic logic [31:0] from_fp16(logic [15:0] x);
    // verilator no_inline_task
    logic [3:0] lead;
    logic [9:0] fraction;
    lead = 4'd0;
    if (x[14:10] == 5'd31) begin
      from_fp16 = (x[9:0] != 10'd0) ? Nan : {x[15], 31'h7F800000};
    end else if (x[14:10] != 5'd0) begin
      from_fp16 = {x[15], {3'd0, x[14:10]} + 8'd112, x[9:0], 13'd0};
    end else if (x[9:0] != 10'd0) begin
      for (int unsigned k = 1; k < 10; k++) if (x[k]) lead = 4'(k);
      fraction  = x[9:0] << (4'd10 - lead);
      from_fp16 = {x[15], {4'd0, lead} + 8'd103, fraction, 13'd0};
    end else begin
      from_fp16 = {x[15], 31'd0};
    end
  endfunction

  function automatic logic [31:0] from_e4m3(logic [7:0] x);
    // verilator no_inline_task
    logic [1:0] lead;
    logic [2:0] fraction;
    lead = x[2] ? 2'd2 : {1'b0, x[1]};
    if (x[6:0] == 7'h7F) begin
      from_e4m3 = Nan;
    end else if (x[6:3] != 4'd0) begin
      from_e4m3 = {x[7], {4'd0, x[6:3]} + 8'd120, x[2:0], 20'd0};
    end else if (x[2:0] != 3'd0) begin
      fraction  = x[2:0] << (2'd3 - lead);
      from_e4m3 = {x[7], {6'd0, lead} + 8'd118, fraction, 20'd0};
    end else begin
      from_e4m3 = {x[7], 31'd0};
    end
  endfunction

  // nibble x 2^(code - 128)
  function automatic logic [31:0] scaled(logic [3:0] nibble, logic [7:0] code);
    // verilator no_inline_task
    logic [3:0] magnitude;
    logic [1:0] lead;
    logic [2:0] fraction;
    logic [8:0] exponent;   // as stored, plus one
    magnitude = nibble[3] ? 4'd0 - nibble : nibble;
    lead      = magnitude[3] ? 2'd3 : (magnitude[2] ? 2'd2 : {1'b0, magnitude[1]});
    fraction  = magnitude[2:0] << (2'd3 - lead);
    exponent  = {1'b0, code} + {7'd0, lead};
    if (code == ScaleNan) begin
      scaled = Nan;
    end else if (magnitude == 4'd0) begin
      scaled = 32'd0;
    end else if (exponent <= 9'd1) begin
      // Subnormal, in units of 2^-149: the scale is 2^21 or 2^22 of them.
      scaled = {nibble[3], 7'd0, code[0] ? {magnitude[1:0], 22'd0} : {magnitude[2:0], 21'd0}};
    end else if (exponent >= 9'd256) begin
      scaled = {nibble[3], Largest[30:0]};
    end else begin
      scaled = {nibble[3], 8'(exponent - 9'd1), fraction, 20'd0};
    end
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Packets
  // ---------------------------------------------------------------------------------------------
  // The next packet's configuration waits in its register until the one before is through.
  logic             first_q, next_valid_q, next_take;
  logic [2:0]       next_format_q;
  logic [15:0]      next_count_q;
  logic [SizeW-1:0] next_size_q;
  logic [17:0]      next_wanted;      // bytes of next_count_q elements; topk: nothing
  logic             next_wrong;

  logic             act_q;            // a packet is decoded
  logic [2:0]       format_q;
  logic [15:0]      rest_q, rest_d;   // elements to come
  logic [LeftW-1:0] left_q, left_d;   // units to come, in the window or not yet
  logic             cut_q;            // the last of them is not whole
  logic             zero_q, zero_d;   // all elements to come are +0
  logic             drain_q, drain_d; // the last beat is made
  logic             odd_q, odd_d;     // int4: second half of a block
  logic [6:0]       group_q, group_d; // topk: elements to come of the group; 0: its mask comes
  logic [63:0]      mask_q, mask_d;   // topk: bit 0 is the next element's
  logic [1:0]       err_q, err_d;

  logic [WindowW-1:0] window_q, window_d;
  logic [5:0]       level_q, level, level_d;  // units in the window; behind what is used; and a word
  logic             in_take;
  logic [4:0]       in_units;

  logic             out_valid_q, last_q;
  logic [2047:0]    elem_q;
  logic [6:0]       count_q;
  logic [1:0]       out_err_q;

  logic             can_beat, beat, beat_last, done, to_zero;
  logic [6:0]       n;                // elements of the beat
  logic [5:0]       need, used;       // units: that the beat wants to see, that go
  logic [63:0]      mask;
  logic [5:0]       base;
  logic [6:0]       group, covered, sent;
  logic [4:0]       values;
  logic [LeftW-1:0] whole;            // whole units to come
  logic             over, short_values, beyond, full;
  logic [5:0]       available;
  logic [1:0]       found;            // what is wrong in this beat

  always_comb begin
    next_wanted = '0;
    next_wrong  = 1'b0;
    if (next_valid_q) begin
      case (next_format_q)
        ubl_pkg::WireFormatNone:    next_wanted = {next_count_q, 2'd0};
        ubl_pkg::WireFormatFp16,
        ubl_pkg::WireFormatBf16:    next_wanted = {1'b0, next_count_q, 1'b0};
        ubl_pkg::WireFormatE4m3,
        ubl_pkg::WireFormatE5m2:    next_wanted = {2'd0, next_count_q};
        // 68 and 32 bytes for each 128 and 64 elements begun.
        ubl_pkg::WireFormatInt4:    next_wanted = {2'd0, 16'((17'(next_count_q) + 17'd127) >> 7)} * 18'd68;
        ubl_pkg::WireFormatSparse8: next_wanted = {2'd0, 16'((17'(next_count_q) + 17'd63) >> 6)} * 18'd32;
        default:                    next_wanted = '0;
      endcase
      next_wrong = next_format_q != ubl_pkg::WireFormatTopk && next_wanted != 18'(next_size_q);
    end
  end

  assign can_beat = !out_valid_q || out_ready_i;

  always_comb begin
    {beat, beat_last, done, to_zero, n, need, used, mask, base, group, covered, sent, values} = '0;
    {whole, over, short_values, beyond, full, available, found} = '0;
    rest_d  = rest_q;
    left_d  = left_q;
    zero_d  = zero_q;
    drain_d = drain_q;
    odd_d   = odd_q;
    group_d = group_q;
    mask_d  = mask_q;
    err_d   = err_q;
    if (act_q) begin
      // Units of this packet in the window.
      available = (left_q < LeftW'(level_q)) ? 6'(left_q) : level_q;
      whole     = left_q - LeftW'(cut_q);

      // What the next beat is.
      n = 7'd64;
      if (zero_q) begin
        used = available;
      end else begin
        case (format_q)
          ubl_pkg::WireFormatNone: n = 7'd16;
          ubl_pkg::WireFormatFp16,
          ubl_pkg::WireFormatBf16: n = 7'd32;
          default:                 n = 7'd64;
        endcase
        need = 6'd16;
        if (format_q == ubl_pkg::WireFormatInt4)    need = Int4Units;
        if (format_q == ubl_pkg::WireFormatSparse8) need = SparseUnits;
        if (left_q < LeftW'(need)) need = 6'(left_q);
        used = (format_q == ubl_pkg::WireFormatInt4 && !odd_q) ? 6'd0 : need;
        if (format_q == ubl_pkg::WireFormatSparse8) begin
          if (window_q[200 +: 56] != 56'd0) found = ErrReserved;
          for (int unsigned g = 0; g < 16; g++) begin
            if ($countones(window_q[128 + 4*g +: 4]) != 2) found = ErrMask;
          end
        end
        if (format_q == ubl_pkg::WireFormatTopk) begin
          // A group begins with its mask, and is known to be whole or not when that is there.
          mask  = mask_q;
          group = group_q;
          need  = 6'd0;
          if (group_q == 7'd0) begin
            mask  = window_q[63:0];
            group = 7'd64;
            base  = 6'd2;
            full  = available >= 6'd2;
            sent  = 7'($countones(mask));
            if (whole < LeftW'(2)) begin
              to_zero = 1'b1;
            end else if (full) begin
              over         = rest_q < 16'd64 && (mask >> rest_q[5:0]) != 64'd0;
              short_values = whole - LeftW'(2) < LeftW'(sent);
              beyond       = rest_q <= 16'd64 && left_q - LeftW'(2) != LeftW'(sent);
              to_zero      = short_values;
            end
            if (to_zero || beyond) found = ErrLength;
            if (over)              found = ErrReserved;
          end
          // As many elements as there are until the budget of sent ones is used up.
          for (int unsigned i = 0; i < 64; i++) begin
            if (covered == 7'(i) && 7'(i) < group && !(mask[i] && values == TopkBudget)) begin
              covered = 7'(i) + 7'd1;
              values  = values + {4'd0, mask[i]};
            end
          end
          n    = covered;
          need = base + {1'b0, values};
          used = need;
          if (group_q == 7'd0 && !full) need = 6'd63;  // the mask is not there
        end
      end
      // The end of the packet.
      if (rest_q <= 16'(n)) begin
        n         = 7'(rest_q);
        beat_last = 1'b1;
        used      = available;
      end

      if (drain_q) begin
        used = available;
      end else if (to_zero) begin
        zero_d = 1'b1;
        used   = 6'd0;
        if (err_q == ErrNone) err_d = found;
      end else if (can_beat && need <= available) begin
        beat   = 1'b1;
        rest_d = rest_q - 16'(n);
        odd_d  = !odd_q;
        if (err_q == ErrNone) err_d = found;
        group_d = group - covered;
        mask_d  = mask >> covered;
        drain_d = beat_last;
      end else begin
        used = 6'd0;
      end
      left_d = left_q - LeftW'(used);
      done   = left_d == '0 && (drain_q || (beat && beat_last));
    end
  end

  assign next_take = next_valid_q && (!act_q || done);

  // ---------------------------------------------------------------------------------------------
  // Elements of the beat
  // ---------------------------------------------------------------------------------------------
  logic [2047:0] elem_d;
  logic [3:0]    pair;     // sparse8: mask of a group
  logic [1:0]    ones;     // of it so far
  logic [4:0]    slot;     // topk: values so far

  always_comb begin
    elem_d = '0;
    pair   = '0;
    ones   = '0;
    slot   = '0;
    if (beat && !zero_q) begin
      case (format_q)
        ubl_pkg::WireFormatNone: elem_d[511:0] = window_q[511:0];
        ubl_pkg::WireFormatFp16: begin
          for (int unsigned i = 0; i < 32; i++) elem_d[32*i +: 32] = from_fp16(window_q[16*i +: 16]);
        end
        ubl_pkg::WireFormatBf16: begin
          for (int unsigned i = 0; i < 32; i++) begin
            elem_d[32*i +: 32] = canonical({window_q[16*i +: 16], 16'd0});
          end
        end
        ubl_pkg::WireFormatE4m3: begin
          for (int unsigned i = 0; i < 64; i++) elem_d[32*i +: 32] = from_e4m3(window_q[8*i +: 8]);
        end
        ubl_pkg::WireFormatE5m2: begin
          for (int unsigned i = 0; i < 64; i++) begin
            elem_d[32*i +: 32] = from_fp16({window_q[8*i +: 8], 8'd0});
          end
        end
        ubl_pkg::WireFormatInt4: begin
          for (int unsigned i = 0; i < 64; i++) begin
            elem_d[32*i +: 32] = scaled(odd_q ? window_q[256 + 4*i +: 4] : window_q[4*i +: 4],
                                        odd_q ? window_q[528 + 8*(i/32) +: 8]
                                              : window_q[512 + 8*(i/32) +: 8]);
          end
        end
        ubl_pkg::WireFormatSparse8: begin
          for (int unsigned i = 0; i < 64; i++) begin
            pair = window_q[128 + 4*(i/4) +: 4];
            if (i % 4 == 0) ones = 2'd0;
            if (window_q[192 +: 8] == ScaleNan) begin
              elem_d[32*i +: 32] = Nan;
            end else if (pair[i%4] && ones != 2'd2) begin
              elem_d[32*i +: 32] = scaled(ones[0] ? window_q[8*(i/4) + 4 +: 4] : window_q[8*(i/4) +: 4],
                                          window_q[192 +: 8]);
              ones = ones + 2'd1;
            end
          end
        end
        default: begin
          for (int unsigned i = 0; i < 64; i++) begin
            if (mask[i] && slot != TopkBudget) begin
              elem_d[32*i +: 32] = canonical(window_q[32*(base + {1'b0, slot}) +: 32]);
              slot               = slot + 5'd1;
            end
          end
        end
      endcase
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Window
  // ---------------------------------------------------------------------------------------------
  assign level      = level_q - used;
  assign in_ready_o = level <= 6'(Units - Room) && (!first_q || !next_valid_q || next_take);
  assign in_take    = in_valid_i && in_ready_o;

  assign in_units   = 5'((bytes_i + 7'd3) >> 2);
  assign level_d    = level + (in_take ? {1'b0, in_units} : 6'd0);

  // What is used goes, the word comes behind the rest. What is beyond the level is zero. The wide
  // registers take a signal of the same width in processes of their own: then the simulator keeps no
  // second copy of them.
  always_comb begin
    window_d = '0;
    if (in_take || used != 6'd0) window_d = window_q >> {used, 5'd0};
    if (in_take) begin
      window_d = window_d | (({{WindowW-512{1'b0}}, data_i} & ~({WindowW{1'b1}} << {in_units, 5'd0}))
                             << {level, 5'd0});
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      window_q <= '0;
    end else if (in_take || used != 6'd0) begin
      window_q <= window_d;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      elem_q <= '0;
    end else if (beat) begin
      elem_q <= elem_d;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_q       <= 1'b1;
      next_valid_q  <= 1'b0;
      next_format_q <= '0;
      next_count_q  <= '0;
      next_size_q   <= '0;
      level_q       <= '0;
      act_q         <= 1'b0;
      format_q      <= '0;
      rest_q        <= '0;
      left_q        <= '0;
      cut_q         <= 1'b0;
      zero_q        <= 1'b0;
      drain_q       <= 1'b0;
      odd_q         <= 1'b0;
      group_q       <= '0;
      mask_q        <= '0;
      err_q         <= ErrNone;
      out_valid_q   <= 1'b0;
      last_q        <= 1'b0;
      count_q       <= '0;
      out_err_q     <= ErrNone;
    end else begin
      if (in_take) begin
        first_q <= last_i;
        if (first_q) begin
          next_format_q <= format_i;
          next_count_q  <= count_i;
          next_size_q   <= size_i;
        end
      end
      next_valid_q <= (next_valid_q && !next_take) || (in_take && first_q);
      level_q      <= level_d;
      if (act_q) begin
        rest_q  <= rest_d;
        left_q  <= left_d;
        zero_q  <= zero_d;
        drain_q <= drain_d;
        odd_q   <= odd_d;
        group_q <= group_d;
        mask_q  <= mask_d;
        err_q   <= err_d;
        if (done) act_q <= 1'b0;
      end
      if (next_take) begin
        act_q    <= 1'b1;
        format_q <= next_format_q;
        rest_q   <= next_count_q;
        left_q   <= LeftW'((18'(next_size_q) + 18'd3) >> 2);
        cut_q    <= next_size_q[1:0] != 2'd0;
        zero_q   <= next_wrong;
        drain_q  <= 1'b0;
        odd_q    <= 1'b0;
        group_q  <= '0;
        err_q    <= next_wrong ? ErrLength : ErrNone;
      end
      if (beat) begin
        out_valid_q <= 1'b1;
        count_q     <= n;
        last_q      <= beat_last;
        out_err_q   <= beat_last ? err_d : ErrNone;
      end else if (out_ready_i) begin
        out_valid_q <= 1'b0;
      end
    end
  end

  assign out_valid_o = out_valid_q;
  assign elem_o      = elem_q;
  assign count_o     = count_q;
  assign last_o      = last_q;
  assign err_o       = out_err_q;

  // ---------------------------------------------------------------------------------------------
  // Checks
  // ---------------------------------------------------------------------------------------------
  logic [SizeW-1:0] to_come_q;        // bytes of the packet that comes in

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni)      to_come_q <= '0;
    else if (in_take) to_come_q <= (first_q ? size_i : to_come_q) - SizeW'(bytes_i);
  end

  `UBL_ASSUME(InBytes, !in_valid_i
      || (bytes_i != 7'd0 && bytes_i <= 7'd64 && (last_i || bytes_i == 7'd64)))
  `UBL_ASSUME(InFirst, !(in_valid_i && first_q)
      || (count_i != 16'd0 && size_i != '0 && 32'(size_i) <= MaxBytes))
  `UBL_ASSUME(InLast, !in_valid_i
      || last_i == ((first_q ? 32'(size_i) : 32'(to_come_q)) == 32'(bytes_i)))
  `UBL_ASSERT(LevelInRange, 32'(level_q) <= Units)
  `UBL_ASSERT(UsedIsThere, used <= level_q && (!act_q || left_q >= LeftW'(used)))
  `UBL_ASSERT(IdleWindowIsTheNextPacket, act_q || next_valid_q || level_q == 6'd0)
  `UBL_ASSERT(OutCount, !out_valid_q || (count_q != 7'd0 && count_q <= 7'd64))
  `UBL_ASSERT(ErrWithLast, !out_valid_q || last_q || out_err_q == ErrNone)

  `UBL_COVER(BackToBack, done && next_take)
  `UBL_COVER(Stalled, act_q && !can_beat)
  `UBL_COVER(WindowFull, in_valid_i && level > 6'(Units - Room))
  `UBL_COVER(ThirdPacketWaits, in_valid_i && first_q && next_valid_q && !next_take)
  `UBL_COVER(Drained, act_q && drain_q)
  `UBL_COVER(TopkBreaksOff, act_q && to_zero && rest_q > 16'd64)
  `UBL_COVER(TopkGroupInSeveralBeats, beat && group_q != 7'd0)
  `UBL_COVER(CutUnit, act_q && cut_q && left_q == LeftW'(1))
  `UBL_COVER(Length, beat && beat_last && err_d == ErrLength)
  `UBL_COVER(Reserved, beat && beat_last && err_d == ErrReserved)
  `UBL_COVER(Mask, beat && beat_last && err_d == ErrMask)

endmodule
