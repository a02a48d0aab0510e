/** A digest of everything that a turn machine did in a call, to compare two machines or two places it ran. */
import type { ReadFlightLog } from '../turn/loop/flight-log.ts';
import type { TurnMachine } from './machines/turn-machine.ts';
import { replay } from './replay.ts';

/** SHA-256 in hex over the effects of each input as JSON lines, the parts of several workers in order. */
export async function effectsDigest(parts: readonly ReadFlightLog[], machine: TurnMachine): Promise<string> {
  const lines = parts.flatMap((part) =>
    [...replay(part, machine)].map(({ effects }) => `${JSON.stringify(effects)}\n`),
  );
  const bytes = new TextEncoder().encode(lines.join(''));
  const digest = new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
