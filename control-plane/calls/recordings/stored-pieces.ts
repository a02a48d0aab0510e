/**
 * The objects of a recording or flight log: each is one or more consecutive pieces. Names carry all
 * that a reader must know without opening them.
 */
import type { PieceHead, PlainHead } from '#protocol/uploads.ts';

export const TRACK_ROLES = ['agent', 'user', 'human'] as const;
/** The speaker of a track; `human` is the person added by a warm transfer. */
export type TrackRole = (typeof TRACK_ROLES)[number];

/** Workers retry uploads for this long; audio not uploaded by then is lost and played as silence. */
export const UPLOADS_END_MS = 10 * 60_000;

/** Consecutive pieces under one epoch. */
export interface Pieces {
  readonly epoch: number;
  /** The first one. */
  readonly index: number;
  readonly pieces: number;
  /** Of an object that its worker has stored. */
  readonly salt?: string | undefined;
}

/** A stored stretch of a track. */
export interface Segment extends Pieces {
  readonly role: TrackRole;
  /** Wall time of the first sample, ms. */
  readonly startMs: number;
  readonly rateHz: number;
  readonly samples: number;
  readonly packing: 'flac' | 'pcm';
}

/** Stored lines of a flight log. */
export interface Chunk extends Pieces {
  readonly packing: 'gzip' | 'none';
}

/** `pcm` are segments that workers of earlier versions uploaded, one piece each. */
export function segmentName(segment: Segment): string {
  const { role, epoch, index, startMs, rateHz, samples, packing } = segment;
  const name = `${role}-${pad(epoch, 4)}-${pad(index, 6)}-${startMs}-${rateHz}-${samples}`;
  return packing === 'pcm' ? name : `${name}-${piecesAndSalt(segment)}.flac`;
}

export function parseSegment(name: string): Segment | null {
  const match =
    /^(agent|user|human)-(\d+)-(\d+)-(\d+)-(\d+)-(\d+)(?:-(\d+)(?:-([0-9a-f]{32}))?\.flac)?$/.exec(name);
  if (!match) return null;
  const [epoch = 0, index = 0, startMs = 0, rateHz = 0, samples = 0] = match.slice(2, 7).map(Number);
  const at = { role: match[1] as TrackRole, epoch, index, startMs, rateHz, samples };
  return match[7] === undefined
    ? { ...at, pieces: 1, packing: 'pcm' }
    : { ...at, pieces: Number(match[7]), salt: match[8], packing: 'flac' };
}

export function chunkName(chunk: Chunk): string {
  const name = `${pad(chunk.epoch, 4)}-${pad(chunk.index, 6)}`;
  return chunk.packing === 'none' ? name : `${name}-${piecesAndSalt(chunk)}.gz`;
}

function piecesAndSalt({ pieces, salt }: Pieces): string {
  return salt === undefined ? `${pieces}` : `${pieces}-${salt}`;
}

export function parseChunk(name: string): Chunk | null {
  const match = /^(\d+)-(\d+)(?:-(\d+)(?:-([0-9a-f]{32}))?\.gz)?$/.exec(name);
  if (!match) return null;
  const at = { epoch: Number(match[1]), index: Number(match[2]) };
  return match[3] === undefined
    ? { ...at, pieces: 1, packing: 'none' }
    : { ...at, pieces: Number(match[3]), salt: match[4], packing: 'gzip' };
}

/** How an upload is stored: as a segment or a chunk. */
export function storedAs(head: PieceHead): Segment | Chunk {
  const at = { epoch: head.epoch, index: head.piece, pieces: head.pieces, salt: head.salt };
  if (head.type === 'log') return { ...at, packing: 'gzip' };
  const { track: role, start_ms: startMs, rate_hz: rateHz, samples } = head;
  return { ...at, role, startMs, rateHz, samples, packing: 'flac' };
}

/** As `storedAs`, for an upload of a worker one version older, of so many bytes. */
export function plainStoredAs(head: PlainHead, bytes: number): Segment | Chunk {
  if (head.type === 'flight_log') return { epoch: head.epoch, index: head.chunk, pieces: 1, packing: 'none' };
  const { epoch, segment: index, track: role, start_ms: startMs, rate_hz: rateHz } = head;
  return { epoch, index, pieces: 1, role, startMs, rateHz, samples: bytes / 2, packing: 'pcm' };
}

/**
 * Leaves out what others contain: pieces are stored on their own if their worker seemed to be lost, and it
 * may have stored the object with them afterwards. All of one track or log.
 */
export function withoutRepeated<T extends Pieces>(stored: readonly T[]): T[] {
  const kept: T[] = [];
  for (const one of stored.toSorted((a, b) => b.pieces - a.pieces))
    if (!kept.some((other) => contains(other, one))) kept.push(one);
  return kept;
}

/** Whether one has all pieces of another. */
export function contains(one: Pieces, other: Pieces): boolean {
  return (
    one.epoch === other.epoch &&
    one.index <= other.index &&
    other.index + other.pieces <= one.index + one.pieces
  );
}

function pad(value: number, digits: number): string {
  return String(value).padStart(digits, '0');
}
