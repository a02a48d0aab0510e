/** A call in which the agent has asked something. */
import { TurnScript } from './turn-script.ts';

export const DEFAULTS = { responseWaitMs: 550, responseMaxWaitMs: null };
export type Changes = ConstructorParameters<typeof TurnScript>[0];

/** A call in which the agent has just asked `question`. */
export function asked(question: string, changes: Changes = {}): TurnScript {
  const script = TurnScript.speaking(question, DEFAULTS);
  // The caller's first turn is taken at the usual time whatever the settings are.
  script.state = { ...script.state, config: { ...script.state.config, ...changes } };
  return script.take({ type: 'playout.finished', replyId: 'r1', heard: question });
}
