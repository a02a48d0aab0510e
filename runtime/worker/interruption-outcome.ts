/** Outcome of an interruption, from the decision that a call explains. */

/** Rules of decisions about interruptions: the agent has only paused, or no caller spoke. */
const UNSETTLED_OR_NOT_OF_CALLER: ReadonlySet<string> = new Set(['paused', 'leg_lost', 'taken_over']);

/** The outcome if the event decides about an interruption; null for any other event. */
export function interruptionOf({ type, about, rule }: Readonly<Record<string, unknown>>): string | null {
  if (type !== 'decision' || about !== 'interruption' || typeof rule !== 'string') return null;
  if (UNSETTLED_OR_NOT_OF_CALLER.has(rule)) return null;
  if (rule.startsWith('resumed_')) return 'resumed';
  return rule.endsWith('_before_speech') ? 'withdrawn' : 'interrupted';
}
