/**
 * The flight recorder: a call's turn machine can be replayed from it with the same effects. A versioned text
 * of JSON lines: a header with the machine's settings, then every input in order. Written in chunks, so that
 * a lost worker loses a few seconds at most.
 */

import type { z } from 'zod';
import type { Clock, Timer } from '#base/clock.ts';
import { FLIGHT_LOG_VERSION, flightLogHeader } from '#protocol/flight-log.ts';
import type { TurnConfig } from '../machine/turn-config.ts';
import type { TurnInput } from '../machine/turn-inputs.ts';
import { TURN_MACHINE_VERSION } from '../machine/turn-state.ts';

/** Together with the time to compress and gather uploads: five seconds. */
const FLUSH_MS = 4_800;
const FLUSH_BYTES = 64 * 1024;

/** First line of a flight log. */
export type FlightLogHeader = Omit<z.output<typeof flightLogHeader>, 'config'> & {
  readonly config: TurnConfig;
};

/** Writes one call's log. */
export interface FlightLog {
  write(input: TurnInput): void;
  /** Flushes the rest; nothing is written afterwards. */
  close(): void;
}

/** Options of a flight log. */
export interface FlightLogOptions {
  readonly sessionId: string;
  readonly seed: number;
  readonly config: TurnConfig;
  readonly clock: Clock;
  readonly save: (chunk: { readonly index: number; readonly bytes: Uint8Array }) => void;
}

/** Starts a log. */
export function createFlightLog(options: FlightLogOptions): FlightLog {
  const { clock, config, save, seed, sessionId } = options;
  let lines: string[] = [];
  let bytes = 0;
  let index = 0;
  let timer: Timer | null = null;
  let isClosed = false;

  function append(value: unknown): void {
    if (isClosed) return;
    const line = `${JSON.stringify(value)}\n`;
    lines.push(line);
    bytes += line.length;
    if (bytes >= FLUSH_BYTES) flush();
    else timer ??= clock.after(FLUSH_MS, flush);
  }

  function flush(): void {
    timer?.cancel();
    timer = null;
    if (lines.length === 0) return;
    save({ index, bytes: Buffer.from(lines.join('')) });
    index += 1;
    lines = [];
    bytes = 0;
  }

  const head: FlightLogHeader = {
    flight_log_version: FLIGHT_LOG_VERSION,
    machine_version: TURN_MACHINE_VERSION,
    session_id: sessionId,
    seed,
    started_at_ms: clock.now(),
    wall_time: new Date(clock.wallTime()).toISOString(),
    config,
  };
  append(head);
  return {
    write: append,
    close() {
      flush();
      isClosed = true;
    },
  };
}

/** The part of a log that one worker wrote, parsed. */
export interface ReadFlightLog {
  readonly header: FlightLogHeader;
  readonly inputs: readonly TurnInput[];
}

/** Start of a header; inside a text of the call its quotes would be escaped. */
const HEADER_START = /(?=\{"flight_log_version":)/;

/**
 * Reads a call's log from its chunks in order: one part per worker, because each ran a turn machine of its
 * own. Throws for a log of another format. The machine of the part's version reads its inputs
 * (runtime/replay/machines). An incomplete last line, left by a lost worker, is dropped.
 */
export function readFlightLog(chunks: readonly Uint8Array[]): readonly [ReadFlightLog, ...ReadFlightLog[]] {
  return readFlightLogText(Buffer.concat(chunks).toString('utf8'));
}

/** As `readFlightLog`, from the whole text; also in browsers. */
export function readFlightLogText(text: string): readonly [ReadFlightLog, ...ReadFlightLog[]] {
  const [first = '', ...others] = text.split(HEADER_START);
  return [readPart(first), ...others.map(readPart)];
}

function readPart(text: string): ReadFlightLog {
  // Complete lines end in a newline, so the text after the last one is empty or incomplete.
  const [first = '', ...rest] = text.split('\n').slice(0, -1);
  const parsed = flightLogHeader.parse(JSON.parse(first));
  // The rest was written by `write` above: its shape is that of the machine's version.
  return {
    header: parsed as unknown as FlightLogHeader,
    inputs: rest.map((line) => JSON.parse(line) as TurnInput),
  };
}
