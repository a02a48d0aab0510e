/**
 * Pieces of recordings and flight logs that wait here, in memory, for the object that their worker makes of
 * them: in a bucket each object costs a request. Should the worker be lost, they are what is left, and are
 * stored as they are. A piece is dropped only once it is known to be stored.
 */
import { streamOf } from '#protocol/join-pieces.ts';
import type { PieceHead, Upload } from '#protocol/uploads.ts';

const MIB = 1024 * 1024;
/** Room for pieces. Beyond it they are stored at once. A thousand calls hold 120 to 170 MiB. */
const ROOM = { leastBytes: 256 * MIB, mostBytes: 1_024 * MIB, shareOfMachine: 1 / 16 };
/**
 * A team has room for this many times what is free. Alone it gets nearly all, two get about half each, and
 * another one always finds some: it gets its part as the objects of the others are stored, within a minute.
 */
const SHARE_OF_FREE = 8;
/** Memory of a piece besides its bytes. */
const BYTES_OF_HEAD = 1_024;
/** A call sends a piece every five seconds; a worker that is only cut off is back by then. */
const SILENT_MS = 20_000;

/** The held pieces of a call under one epoch. */
interface HeldCall {
  readonly teamId: string;
  /** Time of the last upload. */
  lastMs: number;
  /** By track or log, then by number. */
  readonly streams: Map<string, Map<number, Upload>>;
}

/** Room for the pieces in a control plane whose machine or container has this much memory, both in bytes. */
export function roomForPieces(machineBytes: number): number {
  return Math.min(ROOM.mostBytes, Math.max(ROOM.leastBytes, machineBytes * ROOM.shareOfMachine));
}

/** The held pieces of this process. */
export class HeldPieces {
  /** By session, then by epoch. */
  readonly #sessions = new Map<string, Map<number, HeldCall>>();
  readonly #teamBytes = new Map<string, number>();
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Holds a piece of a team's call; false if there is no more room. */
  hold(upload: Upload, teamId: string, nowMs: number): boolean {
    const { head, bytes } = upload;
    const before = head.stored_before ?? 0;
    this.#dropFrom(head, (held) => held.piece + held.pieces <= before);
    const size = sizeOf(upload);
    const freeBytes = this.#mostBytes - this.#bytes - size;
    if ((this.#teamBytes.get(teamId) ?? 0) + size > SHARE_OF_FREE * freeBytes) return false;
    const epochs = getOrAdd(this.#sessions, head.session_id, () => new Map<number, HeldCall>());
    const call = getOrAdd(epochs, head.epoch, () => ({ teamId, lastMs: nowMs, streams: new Map() }));
    call.lastMs = nowMs;
    const pieces = getOrAdd(call.streams, streamOf(head), () => new Map<number, Upload>());
    if (pieces.has(head.piece)) return true;
    // A copy, which `slice` of a Buffer is not: the bytes are a view of a whole request.
    pieces.set(head.piece, { head, bytes: new Uint8Array(bytes) });
    this.#count(call, size);
    return true;
  }

  /** These pieces are stored. */
  release(head: PieceHead, nowMs: number): void {
    const call = this.#callOf(head);
    if (call) call.lastMs = nowMs;
    const end = head.piece + head.pieces;
    this.#dropFrom(head, (held) => head.piece <= held.piece && held.piece + held.pieces <= end);
  }

  /** Drops pieces that `silent` returned: they are stored, or their person is erased. */
  drop(uploads: readonly Upload[]): void {
    for (const { head } of uploads) this.#dropFrom(head, (held) => held === head);
  }

  /** Drops all of a session, whose key is destroyed. */
  forget(sessionId: string): void {
    this.drop(this.of(sessionId));
  }

  /** The held pieces of a session, under any epoch. */
  of(sessionId: string): Upload[] {
    return [...(this.#sessions.get(sessionId)?.values() ?? [])].flatMap(uploadsOf);
  }

  /** The calls that no worker has uploaded anything of for long; all of them at `Infinity`. */
  silent(nowMs: number): Upload[][] {
    return [...this.#sessions.values()]
      .flatMap((epochs) => [...epochs.values()].filter(({ lastMs }) => nowMs - lastMs >= SILENT_MS))
      .map(uploadsOf);
  }

  /** Drops those pieces of the track or log of this one to which it applies. */
  #dropFrom(of: PieceHead, applies: (held: PieceHead) => boolean): void {
    const call = this.#callOf(of);
    const pieces = call?.streams.get(streamOf(of));
    if (!call || !pieces) return;
    for (const upload of [...pieces.values()].filter(({ head }) => applies(head))) {
      pieces.delete(upload.head.piece);
      this.#count(call, -sizeOf(upload));
    }
    if (pieces.size === 0) call.streams.delete(streamOf(of));
    if (call.streams.size === 0) this.#forgetCall(of);
  }

  #callOf({ session_id: sessionId, epoch }: PieceHead): HeldCall | undefined {
    return this.#sessions.get(sessionId)?.get(epoch);
  }

  #forgetCall({ session_id: sessionId, epoch }: PieceHead): void {
    const epochs = this.#sessions.get(sessionId);
    epochs?.delete(epoch);
    if (epochs?.size === 0) this.#sessions.delete(sessionId);
  }

  #count({ teamId }: HeldCall, bytes: number): void {
    this.#bytes += bytes;
    const left = (this.#teamBytes.get(teamId) ?? 0) + bytes;
    if (left > 0) this.#teamBytes.set(teamId, left);
    else this.#teamBytes.delete(teamId);
  }
}

function sizeOf({ bytes }: Upload): number {
  return bytes.byteLength + BYTES_OF_HEAD;
}

function uploadsOf(call: HeldCall): Upload[] {
  return [...call.streams.values()].flatMap((pieces) => [...pieces.values()]);
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const found = map.get(key) ?? create();
  map.set(key, found);
  return found;
}
