/**
 * Uploads the recordings and flight logs of all of a worker's calls. Each piece of a few seconds is
 * compressed and sent at once, so a lost worker loses its current pieces (4.8 s) and the batch being
 * gathered. A control plane with a bucket only holds it: the worker then sends the object of about a minute
 * that is stored. It keeps the pieces until then, in memory and on its disk: the control plane may be lost,
 * too. One without a bucket stores each piece, and the worker forgets it.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { joinPieces } from '#protocol/join-pieces.ts';
import { MOST_PIECES, type PieceHead, type PlainHead, type Upload } from '#protocol/uploads.ts';
import { numbersOf } from './kept-files.ts';
import type { KeptPieces } from './kept-pieces.ts';
import type { ObjectSender } from './object-sender.ts';
import type { Packer } from './packer.ts';
import { StoredPieces } from './stored-pieces.ts';
import type { UploadOutcome, UploadSender } from './upload-sender.ts';

/** Twelve pieces of the recorder. */
const OBJECT_MS = 12 * 4_800;
/**
 * A larger difference between the end of a piece and the start of the next is a gap in the recording, or two
 * sources share its track: they are not of one object.
 */
const JOIN_MS = 20;

/** A piece of a call: samples, 16-bit little-endian, or lines of its flight log. */
export type Piece = Upload<PlainHead>;

/** Background uploads of one worker. */
export interface Uploads {
  /** `onPacked` gets the bytes that are stored of it; null if it is lost or dropped before. */
  put(piece: Piece, onPacked?: (packed: Uint8Array | null) => void): void;
  /** Nothing more is expected of a session: its objects are whole. */
  end(sessionId: string, epoch: number): void;
  /**
   * Drops the pieces of a session that no control plane has yet, also between two attempts. Objects of the
   * other pieces follow: the control plane that holds them may be lost.
   */
  drop(sessionId: string, epoch: number): void;
  /** Uploads that no control plane has yet; the items are the same objects until one has. */
  waiting(): { readonly items: readonly object[]; readonly bytes: number };
  /** Resolves when everything is stored. */
  flushed(): Promise<void>;
}

/** Dependencies of uploads. */
export interface UploadsDeps {
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'error'>;
  /** Called for each piece that is lost. */
  readonly onLost: () => void;
  readonly sender: Pick<UploadSender, 'send' | 'drop' | 'waiting' | 'flushed'>;
  readonly objects: Pick<ObjectSender, 'send' | 'waiting' | 'flushed'>;
  readonly packer: Pick<Packer, 'pack'>;
  readonly kept: Pick<KeptPieces, 'keep' | 'release' | 'giveUp'>;
}

/** An object that is being gathered. */
interface OpenObject {
  /** Its first piece. */
  readonly first: PlainHead;
  readonly timer: Timer;
  /** Null for a piece that was dropped while it was compressed, or could not be. */
  readonly pieces: Promise<SentPiece | null>[];
  samples: number;
  /** So many of its pieces are stored as they are. */
  stored: number;
  isDropped: boolean;
}

/** A piece on its way. */
interface SentPiece {
  readonly upload: Upload;
  readonly outcome: Promise<UploadOutcome>;
  /** False if it is lost with its object: it is neither stored nor on this disk, and still wanted. */
  readonly isSafe: Promise<boolean>;
}

/** Creates the uploads of one worker. */
export function createUploads(deps: UploadsDeps): Uploads {
  return new GatheredUploads(deps);
}

class GatheredUploads implements Uploads {
  readonly #deps: UploadsDeps;
  readonly #open = new Map<string, OpenObject>();
  /** Objects that are whole, until they have been given to the sender. */
  readonly #closing = new Map<OpenObject, Promise<void>>();
  readonly #stored: StoredPieces;
  #isFlushing = false;

  constructor(deps: UploadsDeps) {
    this.#deps = deps;
    this.#stored = new StoredPieces(deps.clock);
  }

  put(piece: Piece, onPacked: (packed: Uint8Array | null) => void = () => undefined): void {
    const object = this.#objectOf(piece.head);
    const firstSample = object.samples;
    object.samples += samplesOf(piece);
    object.pieces.push(this.#pack(piece, object, { firstSample, onPacked }));
  }

  end(sessionId: string, epoch: number): void {
    for (const object of [...this.#open.values()]) if (isOf(object, sessionId, epoch)) this.#close(object);
  }

  drop(sessionId: string, epoch: number): void {
    for (const object of [...this.#open.values(), ...this.#closing.keys()])
      if (isOf(object, sessionId, epoch)) object.isDropped = true;
    this.end(sessionId, epoch);
    this.#deps.sender.drop(sessionId, epoch);
  }

  waiting(): { readonly items: readonly object[]; readonly bytes: number } {
    const objects = this.#deps.objects.waiting();
    const { items, bytes } = this.#deps.sender.waiting();
    return { items: [...objects.items, ...items], bytes: objects.bytes + bytes };
  }

  async flushed(): Promise<void> {
    this.#isFlushing = true;
    for (const object of [...this.#open.values()]) this.#close(object);
    await Promise.all(this.#closing.values());
    await Promise.all([this.#deps.objects.flushed(), this.#deps.sender.flushed()]);
    this.#isFlushing = false;
  }

  #objectOf(head: PlainHead): OpenObject {
    const found = this.#open.get(streamOf(head));
    if (found && isNext(found, head)) return found;
    if (found) this.#close(found);
    const created: OpenObject = {
      first: head,
      timer: this.#deps.clock.after(OBJECT_MS, () => this.#close(created)),
      pieces: [],
      samples: 0,
      stored: 0,
      isDropped: false,
    };
    this.#open.set(streamOf(head), created);
    return created;
  }

  async #pack(
    piece: Piece,
    object: OpenObject,
    {
      firstSample,
      onPacked,
    }: { readonly firstSample: number; readonly onPacked: (packed: Uint8Array | null) => void },
  ): Promise<SentPiece | null> {
    const bytes = await this.#packed(piece, firstSample);
    onPacked(object.isDropped ? null : bytes);
    if (!bytes || object.isDropped) return null;
    const before = this.#stored.before(streamOf(piece.head));
    const head = { ...headOf(piece, indexOf(object.first)), ...(before > 0 && { stored_before: before }) };
    const upload = { head, bytes };
    const { promise: outcome, resolve } = Promise.withResolvers<UploadOutcome>();
    this.#deps.sender.send(upload, resolve);
    void outcome.then((one) => one === 'stored' && this.#countStored(object));
    const isSafe = outcome.then((one) => (one === 'held' ? this.#keep(upload) : one !== 'given_up'));
    return { upload, outcome, isSafe };
  }

  /** Pieces that are all stored need no object: their memory is free at once, and another object begins. */
  #countStored(object: OpenObject): void {
    object.stored += 1;
    const isOpen = this.#open.get(streamOf(object.first)) === object;
    if (isOpen && object.stored === object.pieces.length) this.#close(object);
  }

  /** Null if that failed: the other pieces of the call must not be lost with it. */
  async #packed(piece: Piece, firstSample: number): Promise<Uint8Array | null> {
    const { packer, logger, onLost } = this.#deps;
    try {
      return await packer.pack(piece, firstSample);
    } catch (error) {
      logger.error({ err: error, upload: piece.head }, 'part of a recording cannot be packed; it is lost');
      onLost();
      return null;
    }
  }

  /**
   * Keeps a piece on this disk; without one, it is stored at once, for which no other piece waits. Resolves
   * to false if neither is possible.
   */
  async #keep({ head, bytes }: Upload): Promise<boolean> {
    const { kept, objects } = this.#deps;
    if (await kept.keep({ head, bytes })) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    objects.send({ head: { ...head, is_part: false }, bytes }, (outcome) => resolve(outcome !== 'given_up'));
    return promise;
  }

  #close(object: OpenObject): void {
    object.timer.cancel();
    this.#open.delete(streamOf(object.first));
    const sending = this.#sendObject(object).finally(() => this.#closing.delete(object));
    this.#closing.set(object, sending);
  }

  async #sendObject(object: OpenObject): Promise<void> {
    const { objects, sender } = this.#deps;
    const pieces = (await Promise.all(object.pieces)).filter((piece) => piece !== null);
    if (this.#isFlushing) void sender.flushed();
    const outcomes = await Promise.all(pieces.map(({ outcome }) => outcome));
    if (outcomes.every((outcome) => outcome === 'stored')) {
      for (const { upload } of pieces) this.#release(object, upload.head, true);
      return;
    }
    const isThere = (outcome: UploadOutcome | undefined) => outcome === 'held' || outcome === 'stored';
    const wanted = pieces.filter((_, index) => !object.isDropped || isThere(outcomes[index]));
    for (const whole of joinPieces(wanted.map(({ upload }) => upload)))
      objects.send(whole, (outcome) => {
        if (outcome === 'given_up') void this.#giveUp(whole.head, wanted);
        else this.#release(object, whole.head, outcome === 'stored');
      });
  }

  #release({ first }: OpenObject, head: PieceHead, isStored: boolean): void {
    if (isStored) this.#stored.add(streamOf(first), head.piece, head.piece + head.pieces);
    this.#deps.kept.release(head);
  }

  /** The disk has most pieces of an object that could not be stored; the others are lost. */
  async #giveUp(head: PieceHead, pieces: readonly SentPiece[]): Promise<void> {
    const { kept, logger, onLost } = this.#deps;
    kept.giveUp(head);
    const numbers = new Set(numbersOf(head));
    const ofObject = pieces.filter(({ upload }) => numbers.has(upload.head.piece));
    const lost = (await Promise.all(ofObject.map(({ isSafe }) => isSafe))).filter((isSafe) => !isSafe).length;
    if (lost === 0) return;
    logger.error({ upload: head, pieces: lost }, 'part of a recording could not be stored; it is lost');
    for (let count = 0; count < lost; count++) onLost();
  }
}

function isOf({ first }: OpenObject, sessionId: string, epoch: number): boolean {
  return first.session_id === sessionId && first.epoch === epoch;
}

/** The track, or the log, of a call under one epoch. */
function streamOf(head: PlainHead): string {
  return `${head.session_id}/${head.epoch}/${head.type === 'recording' ? head.track : 'log'}`;
}

function indexOf(head: PlainHead): number {
  return head.type === 'recording' ? head.segment : head.chunk;
}

function samplesOf({ head, bytes }: Piece): number {
  return head.type === 'recording' ? Math.floor(bytes.byteLength / 2) : 0;
}

/** True for the piece that follows those of an object without a gap. */
function isNext({ first, pieces, samples }: OpenObject, head: PlainHead): boolean {
  if (pieces.length >= MOST_PIECES || indexOf(head) !== indexOf(first) + pieces.length) return false;
  if (head.type !== 'recording' || first.type !== 'recording') return true;
  const endMs = first.start_ms + (1_000 * samples) / first.rate_hz;
  return head.rate_hz === first.rate_hz && Math.abs(head.start_ms - endMs) <= JOIN_MS;
}

function headOf(piece: Piece, object: number): PieceHead {
  const { head } = piece;
  const { session_id, epoch } = head;
  const of = { session_id, epoch, object, piece: indexOf(head), pieces: 1, is_part: true };
  if (head.type === 'flight_log') return { type: 'log', ...of };
  const { track, start_ms, rate_hz } = head;
  return { type: 'audio', ...of, track, start_ms, rate_hz, samples: samplesOf(piece) };
}
