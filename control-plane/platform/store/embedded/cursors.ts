/**
 * Batched query results. The reader thread holds the cursors; the writer only answers queries that fit into
 * one batch.
 */
import type { Clock } from '#base/clock.ts';
import { StoreError } from './store-error.ts';

/** A reply with a batch of documents, whose stored bytes are written to the wire unchanged. */
export interface CursorReply {
  readonly kind: 'cursor';
  /** 0 when there are no more documents. */
  readonly id: number;
  readonly namespace: string;
  readonly batch: 'firstBatch' | 'nextBatch';
  readonly documents: readonly Uint8Array[];
}

/** Encoded documents to send. */
export type Rows = Iterator<Uint8Array>;

/** Options of the first batch. */
export interface FirstBatch {
  readonly namespace: string;
  readonly batchSize: number;
  /** The client wants a single batch; no cursor is kept. */
  readonly isSingle: boolean;
}

/** Returns the first batch of a result, and keeps or refuses the rest. */
export interface CursorKeeper {
  first(rows: Rows, request: FirstBatch): CursorReply;
}

/** Thrown in the writer when a read takes too long; the reader thread then restarts it. */
export class TooLong extends Error {}

/** Below MongoDB's message limit, leaving room for one more document of maximum size. */
const MAX_BATCH_BYTES = 16 * 1024 * 1024;
const IDLE_MS = 600_000;

/** The writer's keeper: a result larger than one batch goes to the reader. */
export const singleBatches: CursorKeeper = {
  first(rows, { namespace, batchSize, isSingle }) {
    const { documents, isDone } = take(rows, batchSize);
    if (!isDone && !isSingle) throw new TooLong();
    return { kind: 'cursor', id: 0, namespace, batch: 'firstBatch', documents };
  },
};

/** The reader's cursors. */
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

  /** Returns the next batch. Throws `CursorNotFound`. */
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

  /** Closes cursors and returns the ids that existed. */
  kill(ids: readonly number[]): number[] {
    return ids.filter((id) => this.#open.delete(id));
  }

  #dropIdle(): void {
    const oldestMs = this.#clock.now() - IDLE_MS;
    for (const [id, cursor] of this.#open) if (cursor.usedMs < oldestMs) this.#open.delete(id);
  }
}

/**
 * Takes up to `batchSize` documents. It does not look ahead for more, so a result may end with an empty
 * batch.
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
