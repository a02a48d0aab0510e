/**
 * Calls of an agent with given settings: the configuration of the turn machine, and the machine in a call.
 */
import type { CallPlan } from '#protocol/call-plan.ts';
import { type TurnConfig, turnConfig } from '#runtime/turn/machine/turn-config.ts';
import { renderText } from '#runtime/turn/text/variables.ts';
import { transferRoute } from '../calls/transfer-route.ts';
import { testPlan } from '../test-plan.ts';
import { TurnScript } from './turn-script.ts';

const RECOGNIZER = {
  id: 'test',
  givesInterims: true,
  expectedFinalMs: 300,
  open: () => {
    throw new Error('the machine opens nothing');
  },
};

type Sections = Readonly<Record<string, object>>;

/**
 * A plan for a call with these settings, without a first message unless they contain one; every destination
 * is available for transfers.
 */
export function planOf(changes: Sections, channel: CallPlan['channel'] = 'phone_inbound'): CallPlan {
  const plan = testPlan({ ...changes, prompt: { first_message_mode: 'off', ...changes['prompt'] } });
  const { max_duration_seconds, transfer_destinations } = plan.config.conversation;
  const route = transferRoute({ dial_uri: 'sip:desk@example.com' });
  return {
    ...plan,
    channel,
    max_duration_seconds,
    transfer: { from_number: '', is_counted: false, routes: transfer_destinations.map(() => route) },
  };
}

/** Fills the placeholders of a text as a call would. */
export function renderFor(plan: CallPlan): (text: string) => string {
  const rules = {
    variables: plan.variables,
    systemVariables: plan.system_variables,
    onMissing: plan.config.variables.on_missing,
  };
  return (text) => renderText(text, rules);
}

/** The turn configuration of an agent with these settings. */
export function configOf(changes: Sections, channel?: CallPlan['channel']): TurnConfig {
  const plan = planOf(changes, channel);
  return turnConfig(plan, RECOGNIZER, renderFor(plan));
}

/** A call in the listening state that never ends by itself unless the settings make it. */
export function conversation(settings: object): TurnScript {
  const config = configOf({ conversation: settings });
  return TurnScript.listening(
    'max_duration_seconds' in settings ? config : { ...config, maxDurationMs: 1e9 },
  );
}
