/**
 * Turns of ended calls that a rehearsal asks again. Answers and reason are sealed with the session's key, and
 * removed when their caller is forgotten; the verdict stays counted.
 */
import { Schema } from 'mongoose';
import type { Verdict } from '#protocol/judged-rehearsal.ts';
import { modelOf } from '../schema.ts';
import type { StoredBytes } from './session-model.ts';

/** One turn of one rehearsal. */
export interface JudgedTurnDocument {
  /** `<rehearsal>:<order>` */
  _id: string;
  rehearsal_id: string;
  team_id: string;
  agent_id: string;
  /** Null once its caller is forgotten. */
  session_id: string | null;
  /** In which turns are asked. */
  order: number;
  /** Number of its call in this rehearsal: turns of one call are alike. */
  call: number;
  /** `again`: the version of the call answers once more, which shows how much the judge's verdict varies. */
  kind: 'draft' | 'again';
  /** Entries of the timeline before the answer. */
  item: number;
  language: string;
  number: string;
  /** When the answer was due. */
  at: Date;
  /** Since the start of the call; null if that is unknown. */
  second: number | null;
  /** `gone`: its call can no longer be read. */
  state: 'drawn' | 'answered' | 'judged' | 'failed' | 'gone';
  /** Questions in vain, one after another. */
  attempts: number;
  /** Price that a worker has named for the next question, micro-dollars; null before. */
  needs_micros: number | null;
  /**
   * Questions whose outcome is stored; of the last one the list price, and the most that it may have cost
   * without a report, micro-dollars.
   */
  asks: number;
  last_micros: number;
  last_lost_micros: number;
  verdict: Verdict | null;
  /** `JudgedContent` as sealed JSON. */
  content: StoredBytes | null;
}

/** Defines the model on a connection. */
export const defineJudgedTurns = modelOf<JudgedTurnDocument>('JudgedTurn', () => {
  const schema = new Schema<JudgedTurnDocument>(
    {
      _id: { type: String, required: true },
      rehearsal_id: { type: String, required: true },
      team_id: { type: String, required: true },
      agent_id: { type: String, required: true },
      session_id: { type: String, default: null },
      order: { type: Number, required: true },
      call: { type: Number, required: true },
      kind: { type: String, required: true },
      item: { type: Number, required: true },
      language: { type: String, required: true },
      number: { type: String, required: true },
      at: { type: Date, required: true },
      second: { type: Number, default: null },
      state: { type: String, required: true },
      attempts: { type: Number, default: 0 },
      needs_micros: { type: Number, default: null },
      asks: { type: Number, default: 0 },
      last_micros: { type: Number, default: 0 },
      last_lost_micros: { type: Number, default: 0 },
      verdict: { type: String, default: null },
      content: { type: Buffer, default: null } as never,
    },
    { collection: 'judged_turns', versionKey: false, minimize: false },
  );
  schema.index({ rehearsal_id: 1, order: 1 });
  schema.index({ agent_id: 1 });
  schema.index({ team_id: 1, session_id: 1 });
  return schema;
});
