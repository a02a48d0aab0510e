/** Keypad tones (ITU-T Q.23): pairs of sines, for peers without telephone events. */

/** The two groups of tones. */
export const ROWS_HZ = [697, 770, 852, 941] as const;
export const COLUMNS_HZ = [1209, 1336, 1477, 1633] as const;
/** Keys by row and column. */
export const KEYPAD = ['123A', '456B', '789C', '*0#D'] as const;
/** −9 dBm0 each (Q.24 receivers expect −3 to −25). */
const AMPLITUDE = 8000;

/**
 * Fills `out` with the tone of one key (0–9, *, #, A–D), starting at sample `offset` of the tone; other keys
 * give silence.
 */
export function fillKeyTone(key: string, rateHz: number, offset: number, out: Int16Array): void {
  const row = KEYPAD.findIndex((keys) => keys.includes(key));
  const rowHz = ROWS_HZ[row] ?? 0;
  const columnHz = COLUMNS_HZ[KEYPAD[row]?.indexOf(key) ?? -1] ?? 0;
  const step = (2 * Math.PI) / rateHz;
  for (let n = 0; n < out.length; n++) {
    out[n] = Math.round(
      AMPLITUDE * (Math.sin(step * rowHz * (offset + n)) + Math.sin(step * columnHz * (offset + n))),
    );
  }
}
