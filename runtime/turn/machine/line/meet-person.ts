/** A person is there: they are greeted, if nobody was yet, and answered otherwise. */

import { type Draft, recordMessage } from '../draft.ts';
import { mergedTurn } from '../endpointing/merged-turn.ts';
import { admitJudged } from '../endpointing/turn-admission.ts';
import { dropSpeculation } from '../floor/generating.ts';
import { changeLine, noteLine } from '../line-change.ts';
import { greet, prepareGreeting } from '../opening/greeting.ts';
import type { Turn } from '../turn-state.ts';

/** Answers the words of a person. The greeting waits until the agent has said what it is saying. */
export function meetPerson(draft: Draft, turn: Turn, rule: string): void {
  const { line } = draft;
  if (!line) return;
  const isGreeted = !line.owesGreeting || (draft.texts.greeting.mode === 'off' && !draft.config.disclosure);
  if (!isGreeted && draft.phase.is !== 'listening') {
    noteLine(draft, { heard: [...line.heard, turn] });
    return;
  }
  changeLine(draft, 'person', { rule, endedBy: 'person' });
  noteLine(draft, { pending: null, owesGreeting: false });
  const whole = line.pending ? mergedTurn(line.pending.turn, turn) : turn;
  if (isGreeted) {
    admitJudged(draft, whole);
    return;
  }
  dropSpeculation(draft);
  const { startMs, text, turnId } = whole;
  draft.lastTurn = Math.max(draft.lastTurn, turnId);
  recordMessage(draft, { role: 'user', content: text, turnId, createdAtMs: startMs });
  draft.history = [...draft.history, { role: 'user', content: text }];
  greet(draft, prepareGreeting(draft), whole.speechEndMs);
}
