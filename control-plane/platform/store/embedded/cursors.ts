/**
 * Results in batches. Cursors live in the reader thread; the writer answers only what fits into one batch.
 */
import type { Clock } from '#base/clock.ts';
import { StoreError } from './store-error.ts';

/** A reply with a batch of documents, written to the wire as the stored bytes. */
export interface CursorReply {
  readonly kind: 'cursor';
  /** 0 when nothing is left. */
  readonly id: number;
  readonly namespace: string;
  readonly batch: 'firstBatch' | 'nextBatch';
  readonly documents: readonly Uint8Array[];
}

/** Documents on their way out, encoded. */
export type Rows = Iterator<Uint8Array>;

/** What is asked of the first batch. */
export interface FirstBatch {
  readonly namespace: string;
  readonly batchSize: number;
  /** Nothing is kept for a second one. */
  readonly isSingle: boolean;
}

/** Gives out a result's first batch, and keeps or refuses the rest. */
export interface CursorKeeper {
  first(rows: Rows, request: FirstBatch): CursorReply;
}

/** Thrown in the writer by a read that is long: the reader thread starts it anew. */
export class TooLong extends Error {}

/** Below MongoDB's limit of a message, with room for one more document of any size. */
const MAX_BATCH_BYTES = 16 * 1024 * 1024;
const IDLE_MS = 600_000;

/** The writer's keeper: what does not fit one batch is handed to the reader. */
export const singleBatches: CursorKeeper = {
  first(rows, { namespace, batchSize, isSingle }) {
    const { documents, isDone } = take(rows, batchSize);
    if (!isDone && !isSingle) throw new TooLong();
    return { kind: 'cursor', id: 0, namespace, batch: 'firstBatch', documents };
  },
};

/** The reader's keeper. */
export class Cursors implements CursorKeeper {
  readonly #clock: Clock;
  readonly #open = new Map<number, { readonly namespace: string; readonly rows: Rows; usedMs: number }>();
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  first(rows: Rows, { namespace, batchSize, isSingle }: FirstBatch): CursorReply {
    this.#dropIdle();
    const { documents, isDone } = take(rows, batchSize);
    let id = 0;
    if (!isDone && !isSingle) {
      id = ++this.#lastId;
      this.#open.set(id, { namespace, rows, usedMs: this.#clock.now() });
    }
    return { kind: 'cursor', id, namespace, batch: 'firstBatch', documents };
  }

  /** The next batch. Throws `CursorNotFound`. */
  next(id: number, batchSize: number): CursorReply {
    const cursor = this.#open.get(id);
    if (!cursor) throw new StoreError('CursorNotFound', `cursor id ${id} not found`);
    cursor.usedMs = this.#clock.now();
    let isDone = true;
    try {
      const batch = take(cursor.rows, batchSize);
      isDone = batch.isDone;
      return {
        kind: 'cursor',
        id: isDone ? 0 : id,
        namespace: cursor.namespace,
        batch: 'nextBatch',
        documents: batch.documents,
      };
    } finally {
      if (isDone) this.#open.delete(id);
    }
  }

  /** Forgets cursors. Returns the ones that were known. */
  kill(ids: readonly number[]): number[] {
    return ids.filter((id) => this.#open.delete(id));
  }

  #dropIdle(): void {
    const oldestMs = this.#clock.now() - IDLE_MS;
    for (const [id, cursor] of this.#open) if (cursor.usedMs < oldestMs) this.#open.delete(id);
  }
}

/**
 * Up to `batchSize` documents. Whether more follow is known only once one is asked for, so the end costs at
 * most one empty batch.
 */
function take(rows: Rows, batchSize: number): { readonly documents: Uint8Array[]; readonly isDone: boolean } {
  const documents: Uint8Array[] = [];
  let bytes = 0;
  while (documents.length < batchSize && bytes < MAX_BATCH_BYTES) {
    const next = rows.next();
    if (next.done) return { documents, isDone: true };
    documents.push(next.value);
    bytes += next.value.length;
  }
  return { documents, isDone: false };
}
