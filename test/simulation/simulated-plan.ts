/** The agents of simulated calls: every conversation setting at random, on every channel. */

import { defaultAgentConfig } from '#config/agent-config.ts';
import { automatedLinesSection } from '#config/automated-lines.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { transferRoute } from '../runtime/calls/transfer-route.ts';
import { testPlan } from '../runtime/test-plan.ts';
import type { Random } from './random.ts';

type Channel = CallPlan['channel'];

const TRANSPORTS: Readonly<Record<Channel, CallPlan['transport']>> = {
  web_voice: { type: 'webrtc' },
  phone_inbound: { type: 'sip_inbound', sip_call_id: 'x', from_number: '', to_number: '', is_tenants: false },
  phone_outbound: {
    type: 'sip_outbound',
    guard: null,
    to_uri: 'sip:x@127.0.0.1',
    from_number: '',
    to_number: '',
    username: null,
    password: null,
    headers: {},
    ring_seconds: 30,
  },
};

/** Parsed once: for calls of a minute, parsing would be a tenth of the work. */
const { config, ...NEW_AGENT } = testPlan(
  defaultAgentConfig({ llmModel: 'simulated/model', asrModel: 'simulated', voiceId: 'default' }),
);
/** Each call gets a copy of its own. */
const NEW_CONFIG = JSON.stringify(config);

/** Draws a random plan. `meetsLines`: the agent calls out, and expects automated lines. */
export function simulatedPlan(random: Random, meetsLines = false): CallPlan {
  const drawn: Channel = random.pick([
    'phone_inbound',
    'phone_inbound',
    'web_voice',
    'phone_outbound',
  ] as const);
  const channel = meetsLines ? 'phone_outbound' : drawn;
  const canTransfer = !meetsLines && channel !== 'web_voice' && random.chance(0.3);
  const drawnConfig = simulatedConfig(random, canTransfer);
  return {
    ...NEW_AGENT,
    config: meetsLines ? outgoing(drawnConfig) : drawnConfig,
    ...(meetsLines ? { automated_lines: LINES } : {}),
    system_variables: { ...NEW_AGENT.system_variables, channel },
    channel,
    record_audio: false,
    world_context: false,
    max_duration_seconds: random.chance(0.1) ? 60 : 300,
    transfer: canTransfer
      ? {
          from_number: '+15550100001',
          is_counted: false,
          routes: [transferRoute({ number: '+15550100002', dial_uri: 'sip:sales@127.0.0.1' })],
        }
      : null,
    transport: TRANSPORTS[channel],
  };
}

const LINES = automatedLinesSection.parse({ hold_max_seconds: 120, menu_max_repeats: 2 });

/** An agent that neither hangs up by itself nor has to wait for slow judgement. */
function outgoing(config: CallPlan['config']): CallPlan['config'] {
  config.tools.system_tools.hang_up_call = false;
  config.conversation.hangup_after_seconds = 20;
  config.conversation.response_wait_ms = 500;
  config.conversation.outbound.amd_enabled = true;
  // Without a first message the agent waits for more than a person's hello.
  if (config.prompt.first_message_mode === 'off') config.prompt.first_message_mode = 'fixed';
  return config;
}

function simulatedConfig(random: Random, canTransfer: boolean): CallPlan['config'] {
  const config = JSON.parse(NEW_CONFIG) as CallPlan['config'];
  const { conversation, tools } = config;
  config.prompt.first_message_mode = random.pick(['off', 'fixed', 'prompt'] as const);
  Object.assign(conversation, {
    response_wait_ms: Math.round(random.between(300, 1_500)),
    response_max_wait_ms: random.pick([null, null, 0, 2_000, 4_000]),
    eagerness: random.pick(['relaxed', 'balanced', 'eager'] as const),
    interruptible: random.chance(0.85),
    interruption_sensitivity: random.pick(['low', 'balanced', 'high'] as const),
    interruption_ignore_phrases: random.chance(0.3) ? ['go on', 'no wait'] : [],
    speculative_response: random.chance(0.7),
    reengage_enabled: random.chance(0.5),
    hangup_after_seconds: Math.round(random.between(10, 60)),
    hangup_farewell_enabled: random.chance(0.5),
  });
  conversation.keypad_input.enabled = random.chance(0.5);
  Object.assign(conversation.keypad_menu, {
    enabled: random.chance(0.2),
    prompt: 'Press one for tables or two for hours.',
    options: [
      { key: '1', label: 'table', value: 'tables' },
      { key: '2', label: 'hours', value: 'hours' },
    ],
    accept_speech: random.chance(0.5),
    no_input_timeout_seconds: Math.round(random.between(1, 10)),
    max_attempts: Math.round(random.between(1, 3)),
  });
  conversation.outbound.amd_enabled = random.chance(0.5);
  Object.assign(conversation.outbound.voicemail, {
    action: random.pick(['hangup', 'leave_message', 'leave_prompt_message'] as const),
    message: 'Please call us back.',
  });
  if (canTransfer) conversation.transfer_destinations = [destination(random)];
  conversation.transfer_refuse_questions = random.chance(0.5);
  Object.assign(tools.system_tools, {
    hang_up_call: random.chance(0.4),
    hang_up_call_farewell_mode: random.pick(['generated', 'fixed', 'off'] as const),
    hang_up_call_farewell_message: 'Good bye to you.',
    hang_up_call_refuse_questions: random.chance(0.3),
  });
  return config;
}

function destination(random: Random): CallPlan['config']['conversation']['transfer_destinations'][number] {
  return {
    type: 'phone',
    label: 'Sales',
    description: '',
    phone_number: '+15550100002',
    sip_uri: '',
    mode: 'cold',
    warm_connect: 'direct',
    warm_briefing_instructions: '',
    announcement_mode: random.pick(['generated', 'fixed', 'off'] as const),
    announcement_message: 'One moment please.',
    on_failure: {
      action: random.pick(['return_to_agent', 'end_call'] as const),
      message: random.pick(['', 'Nobody is there.']),
    },
  };
}
