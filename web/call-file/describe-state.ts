/** The state of the turn machine in words. */
import { meaningOf } from '../../protocol/turn-rules.ts';
import { type Phase, speechText, type TurnState } from '../../runtime/turn/machine/turn-state.ts';
import { milliseconds } from '../console/src/parts/format.ts';
import type { Moment } from './machine-run.ts';

const PHASES: Readonly<Record<Phase['is'], string>> = {
  connecting: 'connecting; the opening is prepared',
  menu: 'plays the keypad menu, or waits for a key',
  voicemail: 'leaves a message in a mailbox',
  listening: 'listens',
  answering: 'prepares an answer',
  speaking: 'speaks',
  paused: 'pauses, because the caller spoke',
  clearing: 'was cut off and stops speaking',
  pressing: 'presses keys',
  transferring: 'transfers the caller',
  joined: 'has left: the caller talks with a person',
  withHuman: 'is silent: a colleague talks with the caller',
  ending: 'ends the call',
  ended: 'has hung up',
};

/** Describes what both sides do at a wall time, and what the machine waits for. */
export function describeMoment(
  { state, input, zeroMs, decision }: Moment,
  atMs: number,
): Record<string, string> {
  const nowMs = atMs - zeroMs;
  return {
    Agent: `${PHASES[state.phase.is]}${saying(state)}`,
    Caller: callerWords(state, nowMs),
    'Last input': input.type.replaceAll(/[._]/g, ' '),
    'Last decision': decision
      ? `${decision.about}: ${meaningOf(decision.rule)}${rejectedWords(decision.rejected)}`
      : '',
    Tools: Object.values(state.runningTools)
      .map(({ call }) => call.toolName)
      .join(', '),
    Waiting: state.waiting.length === 0 ? '' : `${state.waiting.length} turns to answer`,
  };
}

function saying({ phase }: TurnState): string {
  const utterance = 'utterance' in phase ? phase.utterance : null;
  return utterance && utterance.text !== '' ? `: “${utterance.text}”` : '';
}

function callerWords({ caller }: TurnState, nowMs: number): string {
  if (caller.is === 'silent') return 'silent';
  const words = speechText(caller.speech);
  const said = words === '' ? '' : `: “${words}”`;
  if (caller.is === 'talking') return `talks${said}`;
  const { endpoint, endMs } = caller;
  const leftMs = endpoint.dueMs - nowMs;
  const wait =
    leftMs > 0
      ? `the agent waits ${milliseconds(leftMs)} more (${meaningOf(endpoint.rule)})`
      : `the wait is over (${meaningOf(endpoint.rule)})`;
  return `stopped ${milliseconds(nowMs - endMs)} ago; ${wait}${said}`;
}

function rejectedWords(rejected: NonNullable<Moment['decision']>['rejected'] = []): string {
  if (rejected.length === 0) return '';
  return ` (not ${rejected.map(({ rule, because }) => `${meaningOf(rule)}, ${because}`).join('; not ')})`;
}
