/**
 * The months of which sessions are archived, each in a collection of its own. The document `state` has the
 * lease of the replica that archives.
 */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** A month, such as `2026-03` (UTC). */
export interface SessionArchiveDocument {
  _id: string;
  /** When the month was announced; in `state`, when `before` was. */
  since: Date | null;
  /** In `state`: no session that was created later is in the archive. */
  before?: Date;
  lease_by: string | null;
  lease_until: Date | null;
}

/** Defines the model on a connection. */
export const defineSessionArchives = modelOf<SessionArchiveDocument>(
  'SessionArchive',
  () =>
    new Schema<SessionArchiveDocument>(
      {
        _id: { type: String, required: true },
        since: { type: Date, default: null },
        before: { type: Date, default: undefined },
        lease_by: { type: String, default: null },
        lease_until: { type: Date, default: null },
      },
      { collection: 'session_archives', versionKey: false },
    ),
);
