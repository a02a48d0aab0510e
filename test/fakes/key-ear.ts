/**
 * Hears keys as a far end does, with none of the product's code: telephone events from RTP packets (RFC 4733
 * §2.3), and tones in audio by Goertzel's algorithm, with the limits of ITU-T Q.24 for level and twist.
 */

const RATE_HZ = 8_000;
const BLOCK = 160;
const ROWS = [697, 770, 852, 941];
const COLUMNS = [1_209, 1_336, 1_477, 1_633];
const KEYS = ['123A', '456B', '789C', '*0#D'];
const EVENTS = '0123456789*#ABCD';
/** Q.24: tones of less than 40 ms may be ignored; two blocks of 20 ms. */
const LEAST_BLOCKS = 2;
/** Largest difference between the two tones of a key: Q.24 permits 8 dB. */
const LARGEST_TWIST = 10 ** (8 / 10);
/** −25 dBm0 a tone, as the power of a block. */
const LEAST_POWER = (BLOCK * BLOCK * 800 * 800) / 4;

interface Packet {
  readonly payload: Uint8Array;
  readonly timestamp: number;
  readonly marker?: boolean;
}

/** A key in telephone events. */
export interface EventKey {
  readonly key: string;
  /** At 8 kHz. */
  readonly timestamp: number;
  readonly durationMs: number;
  /** Packets with the end bit. */
  readonly ends: number;
}

/** The keys in packets of one payload type, by their timestamps. */
export function keysInEvents(packets: readonly Packet[]): EventKey[] {
  const keys = new Map<number, EventKey>();
  for (const { payload, timestamp } of packets) {
    const [event = 255, flags = 0, high = 0, low = 0] = payload;
    const before = keys.get(timestamp);
    keys.set(timestamp, {
      key: EVENTS[event] ?? '?',
      timestamp,
      durationMs: Math.max(before?.durationMs ?? 0, (high * 256 + low) / 8),
      ends: (before?.ends ?? 0) + (flags & 0x80 ? 1 : 0),
    });
  }
  return [...keys.values()];
}

/** A key in tones. */
export interface ToneKey {
  readonly key: string;
  readonly startMs: number;
  readonly durationMs: number;
}

interface Held {
  readonly key: string;
  readonly from: number;
  readonly blocks: number;
}

/** The keys in audio of 8 kHz. */
export function keysInTones(samples: Int16Array): ToneKey[] {
  const keys: ToneKey[] = [];
  let held = null as Held | null;
  for (let block = 0; block <= Math.floor(samples.length / BLOCK); block++) {
    const key = keyIn(samples.subarray(block * BLOCK, (block + 1) * BLOCK));
    if (held && held.key !== key) {
      if (held.blocks >= LEAST_BLOCKS)
        keys.push({ key: held.key, startMs: held.from * 20, durationMs: held.blocks * 20 });
      held = null;
    }
    if (key !== null) held = { key, from: held?.from ?? block, blocks: (held?.blocks ?? 0) + 1 };
  }
  return keys;
}

function keyIn(block: Int16Array): string | null {
  if (block.length < BLOCK) return null;
  const [row, column] = [strongest(block, ROWS), strongest(block, COLUMNS)];
  if (!row || !column) return null;
  const twist = Math.max(row.power / column.power, column.power / row.power);
  return twist <= LARGEST_TWIST ? (KEYS[row.index]?.[column.index] ?? null) : null;
}

/** The tone that is louder than the others of its group by 6 dB. */
function strongest(block: Int16Array, tones: readonly number[]): { index: number; power: number } | null {
  const powers = tones.map((hz) => goertzel(block, hz));
  const power = Math.max(...powers);
  const index = powers.indexOf(power);
  const isAlone = powers.every((other, at) => at === index || other * 4 < power);
  return power >= LEAST_POWER && isAlone ? { index, power } : null;
}

function goertzel(block: Int16Array, hz: number): number {
  const coefficient = 2 * Math.cos((2 * Math.PI * hz) / RATE_HZ);
  let [last, before] = [0, 0];
  for (const sample of block) [last, before] = [sample + coefficient * last - before, last];
  return last * last + before * before - coefficient * last * before;
}
