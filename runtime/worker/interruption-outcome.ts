/** What came of an interruption, from the decision that a call explains. */

/** Rules of decisions about interruptions: the agent has only paused, or no caller spoke. */
const UNSETTLED_OR_NOT_OF_CALLER: ReadonlySet<string> = new Set(['paused', 'leg_lost', 'taken_over']);

/** What came of the caller's voice over the agent's, if the event is the decision about it. */
export function interruptionOf({ type, about, rule }: Readonly<Record<string, unknown>>): string | null {
  if (type !== 'decision' || about !== 'interruption' || typeof rule !== 'string') return null;
  if (UNSETTLED_OR_NOT_OF_CALLER.has(rule)) return null;
  if (rule.startsWith('resumed_')) return 'resumed';
  return rule.endsWith('_before_speech') ? 'withdrawn' : 'interrupted';
}
