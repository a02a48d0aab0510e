/** Inputs and outputs of read commands. */
import type { Document } from './bson-values.ts';
import type { CursorKeeper, CursorReply } from './cursors.ts';
import type { Store } from './documents.ts';
import type { OnExamined } from './scan.ts';

/** Dependencies of a read command. */
export interface ReadContext {
  readonly store: Store;
  readonly cursors: CursorKeeper;
  readonly onExamined?: OnExamined;
}

/** A reply: a plain document or a batch. */
export type Reply = Document | CursorReply;

/** True if the reply is a batch of documents. */
export function isCursorReply(reply: Reply): reply is CursorReply {
  return reply['kind'] === 'cursor';
}
