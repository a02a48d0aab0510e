/**
 * One timer for everything the caller sends: each stream has its own grid, and late packets are caught up.
 */

/** Streams begin at a multiple of this, ms, so that they share wake-ups. */
const BEAT_MS = 2;

interface PacedStream {
  readonly startMs: number;
  readonly everyMs: number;
  readonly callback: () => void;
  turns: number;
}

const streams = new Set<PacedStream>();
let timer: NodeJS.Timeout | null = null;

/** Calls back at the next beat and then every `everyMs`, without drift; returns a function that stops it. */
export function pace(everyMs: number, callback: () => void): () => void {
  const stream: PacedStream = {
    startMs: Math.ceil(performance.now() / BEAT_MS) * BEAT_MS,
    everyMs,
    callback,
    turns: 0,
  };
  streams.add(stream);
  schedule();
  return () => void streams.delete(stream);
}

function schedule(): void {
  if (timer) clearTimeout(timer);
  timer = null;
  if (streams.size === 0) return;
  let nextMs = Number.POSITIVE_INFINITY;
  for (const stream of streams) nextMs = Math.min(nextMs, dueMs(stream));
  timer = setTimeout(run, Math.max(0, nextMs - performance.now()));
}

function run(): void {
  for (const stream of streams) {
    while (streams.has(stream) && dueMs(stream) <= performance.now()) {
      stream.turns++;
      stream.callback();
    }
  }
  schedule();
}

function dueMs(stream: PacedStream): number {
  return stream.startMs + stream.turns * stream.everyMs;
}
