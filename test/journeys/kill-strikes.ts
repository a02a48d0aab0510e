/** The failures of the kill journey. */

/** Possible failures. */
export const STRIKES = [
  'control-plane',
  'worker',
  'supervisor',
  'link',
  'signalling',
  'stall',
  'machine',
] as const;

/** One of them. */
export type Strike = (typeof STRIKES)[number];

/** After these the next start calls back callers who are still there; the other calls have ended. */
export const LETHAL: readonly Strike[] = ['supervisor', 'machine'];

/** Titles of the runs. */
export const IN_WORDS: Record<Strike, string> = {
  'control-plane': 'kill -9 of the control plane: calls continue',
  worker: 'kill -9 of the worker: another one continues its calls',
  supervisor: 'kill -9 of the supervisor: the next start restores everything',
  link: 'the link to the control plane is cut: calls continue',
  signalling: 'kill -9 of the signalling: answered calls keep their audio',
  stall: 'the control plane is suspended for a moment: calls continue',
  machine: 'kill -9 of everything at once: the next start restores everything',
};
