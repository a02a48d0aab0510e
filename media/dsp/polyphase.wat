;; The inner loop of the sample-rate converter, four taps at a time: the dot product of a phase's taps and the input, for one output after another.
;; `npm run build:wasm` makes polyphase.wasm of it, which media/dsp/polyphase.ts loads.
(module
  ;; Holds the kernel at 0 (32-bit floats, phase after phase), the line (32-bit floats) and the output (16-bit integers), where the caller puts them.
  (memory (export "memory") 1)

  ;; Makes `count` outputs, at least one. Addresses and `phaseBytes`, the length of a phase's taps, are in bytes, the latter a multiple of 32;
  ;; `position` is that of the first output in units of 1/up input samples, and each next one is `down` units further.
  (func (export "convert")
    (param $phaseBytes i32) (param $up i32) (param $down i32) (param $line i32) (param $position i32) (param $output i32) (param $count i32)
    (local $phase i32) (local $wholeBytes i32) (local $rest i32)
    (local $sample i32) (local $factor i32) (local $end i32) (local $sum v128) (local $other v128)

    ;; The line moves on to the input sample an output starts at; the rest of its position is its phase.
    (local.set $line (i32.add (local.get $line) (i32.shl (i32.div_u (local.get $position) (local.get $up)) (i32.const 2))))
    (local.set $phase (i32.rem_u (local.get $position) (local.get $up)))
    (local.set $wholeBytes (i32.shl (i32.div_u (local.get $down) (local.get $up)) (i32.const 2)))
    (local.set $rest (i32.rem_u (local.get $down) (local.get $up)))

    (loop $outputs
      (local.set $sample (local.get $line))
      (local.set $factor (i32.mul (local.get $phase) (local.get $phaseBytes)))
      (local.set $end (i32.add (local.get $factor) (local.get $phaseBytes)))
      (local.set $sum (v128.const f32x4 0 0 0 0))
      (local.set $other (v128.const f32x4 0 0 0 0))
      ;; Two sums, so that neither addition waits for the other.
      (loop $taps
        (local.set $sum (f32x4.add (local.get $sum)
          (f32x4.mul (v128.load align=4 (local.get $sample)) (v128.load align=4 (local.get $factor)))))
        (local.set $other (f32x4.add (local.get $other)
          (f32x4.mul (v128.load offset=16 align=4 (local.get $sample)) (v128.load offset=16 align=4 (local.get $factor)))))
        (local.set $sample (i32.add (local.get $sample) (i32.const 32)))
        (local.set $factor (i32.add (local.get $factor) (i32.const 32)))
        (br_if $taps (i32.lt_u (local.get $factor) (local.get $end))))

      ;; The eight partial sums to one, rounded and held within 16 bits.
      (local.set $sum (f32x4.add (local.get $sum) (local.get $other)))
      (local.set $sum (f32x4.add (local.get $sum)
        (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $sum) (local.get $sum))))
      (local.set $sum (f32x4.add (local.get $sum)
        (i8x16.shuffle 4 5 6 7 0 1 2 3 12 13 14 15 8 9 10 11 (local.get $sum) (local.get $sum))))
      (local.set $sum (i32x4.trunc_sat_f32x4_s (f32x4.nearest (local.get $sum))))
      (v128.store16_lane 0 (local.get $output) (i16x8.narrow_i32x4_s (local.get $sum) (local.get $sum)))

      (local.set $output (i32.add (local.get $output) (i32.const 2)))
      (local.set $line (i32.add (local.get $line) (local.get $wholeBytes)))
      (local.set $phase (i32.add (local.get $phase) (local.get $rest)))
      (if (i32.ge_u (local.get $phase) (local.get $up))
        (then
          (local.set $phase (i32.sub (local.get $phase) (local.get $up)))
          (local.set $line (i32.add (local.get $line) (i32.const 4)))))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $outputs (local.get $count)))))
