/**
 * Pieces of recordings and flight logs that wait here, in memory, for the object that their worker makes of
 * them: in a bucket each object costs a request. Should the worker be lost, they are what is left, and are
 * stored as they are.
 */
import type { PieceHead, Upload } from '#protocol/uploads.ts';

/** Beyond this, pieces are stored at once. A thousand calls hold about 120 MiB. */
const MOST_BYTES = 256 * 1024 * 1024;
/** A call sends a piece every five seconds; a worker that is only cut off is back by then. */
const SILENT_MS = 20_000;
/**
 * Another replica may have learned that the object is stored. It is, if there is a later one and so much time
 * has passed; if the bucket is away for so long, the worker still has the pieces.
 */
const ELSEWHERE_MS = 75_000;

interface HeldObject {
  readonly sinceMs: number;
  readonly pieces: Map<number, Upload>;
}

/** What is held of a call under one epoch. */
interface HeldCall {
  /** Time of the last upload. */
  lastMs: number;
  /** By track or log, then by the number of the object. */
  readonly streams: Map<string, Map<number, HeldObject>>;
}

/** The held pieces of this process. */
export class HeldPieces {
  readonly #calls = new Map<string, HeldCall>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Holds a piece; false if there is no more room. */
  hold(upload: Upload, nowMs: number): boolean {
    const { head, bytes } = upload;
    if (this.#bytes + bytes.byteLength > MOST_BYTES) return false;
    const call = getOrAdd(this.#calls, callOf(head), () => ({ lastMs: nowMs, streams: new Map() }));
    call.lastMs = nowMs;
    const objects = getOrAdd(call.streams, streamOf(head), () => new Map<number, HeldObject>());
    for (const [number, { sinceMs }] of objects)
      if (number < head.object && nowMs - sinceMs > ELSEWHERE_MS) this.#remove(objects, number);
    const { pieces } = getOrAdd(objects, head.object, () => ({ sinceMs: nowMs, pieces: new Map() }));
    if (pieces.has(head.piece)) return true;
    // A copy: the bytes are a view of a whole request.
    pieces.set(head.piece, { head, bytes: bytes.slice() });
    this.#bytes += bytes.byteLength;
    return true;
  }

  /** An object has been stored: its pieces are not needed any more. */
  release(head: PieceHead, nowMs: number): void {
    const call = this.#calls.get(callOf(head));
    if (!call) return;
    call.lastMs = nowMs;
    const objects = call.streams.get(streamOf(head));
    if (objects) this.#remove(objects, head.object);
    if (objects?.size === 0) call.streams.delete(streamOf(head));
    if (call.streams.size === 0) this.#calls.delete(callOf(head));
  }

  /** What is held of a session, under any epoch. */
  of(sessionId: string): Upload[] {
    return [...this.#calls]
      .filter(([key]) => key.startsWith(`${sessionId}/`))
      .flatMap(([, call]) => uploadsOf(call));
  }

  /** Takes out the calls that no worker has uploaded anything of for long; all of them at `Infinity`. */
  takeSilent(nowMs: number): Upload[][] {
    const silent = [...this.#calls].filter(([, { lastMs }]) => nowMs - lastMs >= SILENT_MS);
    return silent.map(([key, call]) => {
      this.#calls.delete(key);
      const uploads = uploadsOf(call);
      for (const { bytes } of uploads) this.#bytes -= bytes.byteLength;
      return uploads;
    });
  }

  #remove(objects: Map<number, HeldObject>, number: number): void {
    for (const { bytes } of objects.get(number)?.pieces.values() ?? []) this.#bytes -= bytes.byteLength;
    objects.delete(number);
  }
}

function uploadsOf(call: HeldCall): Upload[] {
  return [...call.streams.values()].flatMap((objects) =>
    [...objects.values()].flatMap(({ pieces }) => [...pieces.values()]),
  );
}

function callOf({ session_id: sessionId, epoch }: PieceHead): string {
  return `${sessionId}/${epoch}`;
}

function streamOf(head: PieceHead): string {
  return head.type === 'log' ? 'log' : head.track;
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const found = map.get(key) ?? create();
  map.set(key, found);
  return found;
}
