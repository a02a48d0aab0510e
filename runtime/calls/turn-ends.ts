/** Why the replies of a call end in its trace, read from the steps of the turn machine. */
import { OWN_ENDS, type TurnEnd } from '#config/gen-ai.ts';
import type { Decision, Effect } from '../turn/machine/turn-effects.ts';
import type { TurnInput } from '../turn/machine/turn-inputs.ts';
import type { StepResult } from '../turn/machine/turn-machine.ts';
import { answerIn } from './open-turns.ts';

/** Lines that the agent says besides its answer, by the rule of the decision to say them. */
const LINE_RULES = ['hold_line', 'tool_filler', 'gave_up_turn', 'gave_up_call'] as const;
export type LineRule = (typeof LINE_RULES)[number];

/** A fixed text said for a turn. */
export interface FixedLine {
  readonly turnId: number;
  /** Null for any other text, such as a farewell or the announcement of a transfer. */
  readonly rule: LineRule | null;
}

/** The text that a step says under this id; null if it is said for no turn. */
export function fixedLine(replyId: string, { effects, state }: StepResult): FixedLine | null {
  const { phase } = state;
  const utterance = 'utterance' in phase ? phase.utterance : null;
  const answer = answerIn(state);
  const isAnswer = answer?.generation.replyId === replyId;
  const turnId = utterance?.replyId === replyId ? utterance.turnId : isAnswer ? answer.turn.turnId : null;
  if (turnId === null) return null;
  const rules = new Set(decisionsIn(effects).map(({ rule }) => rule));
  return { turnId, rule: LINE_RULES.find((rule) => rules.has(rule)) ?? null };
}

/** Whether a line fills the wait for an answer. */
export function isHold(rule: LineRule | null): boolean {
  return rule === 'hold_line' || rule === 'tool_filler';
}

/** Whether a line stands in for an answer that failed. */
export function isApology(rule: LineRule | null): boolean {
  return rule === 'gave_up_turn' || rule === 'gave_up_call';
}

/** Why the step cuts a reply; null if the machine gives no reason. */
export function causeOfCut(input: TurnInput, { effects, state: { phase } }: StepResult): TurnEnd | null {
  const decisions = decisionsIn(effects);
  // The announcement of a transfer is cut by a timer only if it is not played.
  const isStalled =
    decisions.some(({ rule }) => rule === 'farewell_stalled') ||
    (phase.is === 'transferring' && input.type === 'timer.fired');
  if (isStalled) return 'stalled';
  if (phase.is === 'ending' || phase.is === 'ended') return 'session_closed';
  if (phase.is === 'transferring') return 'transferred';
  const rule = decisions.findLast(({ about }) => about === 'interruption')?.rule;
  // Every other rule is something that the caller said, keyed, typed or clicked.
  return rule === undefined ? null : (OWN_ENDS.find((own) => own === rule) ?? 'interrupted');
}

/** Whether the machine no longer waits for the leg to report what was heard of a cut reply. */
export function givesReportUp(effects: readonly Effect[]): boolean {
  return (
    effects.some((effect) => effect.do === 'hangUp') ||
    decisionsIn(effects).some(({ rule }) => rule === 'stalled_clearing')
  );
}

/** Whether a person has the caller now. */
export function isTransferred(input: TurnInput): boolean {
  return input.type === 'transfer.joined' || (input.type === 'transfer.finished' && input.isDone);
}

/** Whether the step got words of a turn that it had already taken on earlier ones. */
export function areLateWords({ effects }: StepResult): boolean {
  return decisionsIn(effects).some(({ rule }) => rule === 'late_final');
}

function decisionsIn(effects: readonly Effect[]): Decision[] {
  return effects.flatMap((effect) => (effect.do === 'explain' ? [effect.decision] : []));
}
