/**
 * The facts of a call as another sensitivity would have reported them. The detector says that the caller's
 * voice is long enough once, at the length that it is asked for; this is the only fact of the caller that
 * depends on a setting. The time of another length follows from start, end and length of the voice.
 */
import {
  INTERRUPTION_VOICE_MS,
  type TurnConfig,
  WORDLESS_INTERRUPTION_MS,
} from '../../turn/machine/turn-config.ts';
import type { TurnInput } from '../../turn/machine/turn-inputs.ts';

type Sensitivity = TurnConfig['sensitivity'];
type Fact<Type extends TurnInput['type']> = Extract<TurnInput, { type: Type }>;

/** Moves, adds and removes these reports; the same list without a change of sensitivity. */
export function heardWith(
  inputs: readonly TurnInput[],
  { from, to }: { readonly from: Sensitivity; readonly to: Sensitivity },
): readonly TurnInput[] {
  if (from === to) return inputs;
  const reachMs = INTERRUPTION_VOICE_MS[to];
  const heard: TurnInput[] = [];
  let started: Fact<'voice.started'> | null = null;
  let reached: Fact<'voice.reached'>[] = [];
  for (const input of inputs) {
    if (input.type === 'voice.reached' && input.voicedMs < WORDLESS_INTERRUPTION_MS) reached.push(input);
    else heard.push(input);
    if (input.type === 'voice.started') [started, reached] = [input, []];
    if (input.type !== 'voice.stopped') continue;
    heard.push(...reportOf({ started, reached, stopped: input }, reachMs));
    [started, reached] = [null, []];
  }
  // A voice that the log does not see end keeps its own reports.
  return [...heard, ...reached].sort((a, b) => a.atMs - b.atMs);
}

function reportOf(
  voice: {
    readonly started: Fact<'voice.started'> | null;
    readonly reached: readonly Fact<'voice.reached'>[];
    readonly stopped: Fact<'voice.stopped'>;
  },
  reachMs: number,
): TurnInput[] {
  const { started, stopped, reached } = voice;
  if (stopped.voicedMs < reachMs) return [];
  const [own] = reached;
  const atMs = own ? own.atMs + reachMs - own.voicedMs : (started?.speechStartMs ?? stopped.atMs) + reachMs;
  const within = Math.min(stopped.atMs, Math.max(started?.atMs ?? atMs, atMs));
  return [{ type: 'voice.reached', voicedMs: reachMs, atMs: within }];
}
