/**
 * An agent's configuration: the stored schema and its defaults. The control plane patches and publishes it; a
 * worker gets it frozen in a call's plan. Secrets (webhook signing keys, keys of custom models and of custom
 * speech) are never part of it: they are stored separately, encrypted, and read back as `has_secret`.
 */
import { z } from 'zod';
import { analysisName } from './analysis-name.ts';
import { automatedLinesSection } from './automated-lines.ts';
import { customSpeech } from './custom-speech.ts';
import { keysField } from './keys-field.ts';
import { SPEAKING_LANGUAGES } from './languages.ts';
import { LIMITS } from './limits.ts';
import { scorecardSection } from './scorecard.ts';

const variableValue = z.union([z.string().max(LIMITS.variableChars), z.number(), z.boolean()]);

/** Name of a dynamic variable. */
export const variableName = z.string().regex(/^[A-Za-z][A-Za-z0-9_]*$/, 'must match [A-Za-z][A-Za-z0-9_]*');

/** Values of `{{placeholders}}`. */
export const variables = z.record(variableName, variableValue);
export type Variables = z.infer<typeof variables>;

/** Names that the store's library drops from every object: a default of that name would be lost. */
const LOST_NAMES = ['constructor', 'prototype'];
const storedVariables = variables.refine(
  (value) => !LOST_NAMES.some((name) => Object.hasOwn(value, name)),
  `must not be named ${LOST_NAMES.join(' or ')}`,
);

const promptSection = z.strictObject({
  system_prompt: z.string().max(LIMITS.systemPromptChars).default(''),
  first_message_mode: z.enum(['off', 'fixed', 'prompt']).default('prompt'),
  first_message: z.string().max(10_000).default('Hi! Thanks for calling — how can I help you today?'),
  first_message_prompt: z.string().max(10_000).default('Greet the caller and ask what you can help with.'),
});

const voiceSection = z.strictObject({
  voice_id: z.string().max(256).default('default'),
  speaking_language: z.enum(SPEAKING_LANGUAGES).default('en'),
  expressive: z.boolean().default(false),
  speed: z.number().min(0.5).max(2).default(1),
  pronunciation_dictionary_ids: z.array(z.string().max(256)).max(3).default([]),
});

const asrSection = z.strictObject({
  /** `<provider>:<model>`; `GET /v1/agent/models` lists those of the deployment. */
  model: z.string().max(128).default(''),
  multilingual: z.boolean().default(false),
  strict_language: z.boolean().default(false),
  keyterms: z.array(z.string().min(1).max(256)).max(50).default([]),
});

const transferDestination = z.strictObject({
  type: z.enum(['phone', 'sip', 'sip_phone']).default('phone'),
  label: z.string().max(64).default(''),
  description: z.string().max(500).default(''),
  phone_number: z.string().max(32).default(''),
  sip_uri: z.string().max(512).default(''),
  /** Pressed after the answer. Absent until set, so a destination without it hashes as before. */
  extension: keysField.exactOptional(),
  /** Of a phone that registers here; absent for other types. */
  phone_extension: z.string().max(6).optional(),
  mode: z.enum(['cold', 'warm']).default('cold'),
  warm_connect: z.enum(['confirm', 'direct', 'briefing']).default('confirm'),
  announcement_mode: z.enum(['generated', 'fixed', 'off']).default('generated'),
  announcement_message: z.string().max(500).default(''),
  warm_briefing_instructions: z.string().max(1_000).default(''),
  on_failure: z
    .strictObject({
      action: z.enum(['return_to_agent', 'end_call']).default('return_to_agent'),
      message: z.string().max(500).default(''),
    })
    .prefault({}),
});

const keypadOption = z.strictObject({
  key: z.string().regex(/^[0-9*#]$/),
  label: z.string().max(64),
  value: z.string().max(256),
});

const keypadMenu = z.strictObject({
  enabled: z.boolean().default(false),
  prompt: z.string().max(10_000).default(''),
  options: z
    .array(keypadOption)
    .max(12)
    .refine(
      (options) => new Set(options.map((option) => option.key)).size === options.length,
      'keys must be unique',
    )
    .default([]),
  accept_speech: z.boolean().default(true),
  variable: variableName.max(64).default('menu_choice'),
  no_input_timeout_seconds: z.number().min(1).max(30).default(5),
  max_attempts: z.number().int().min(1).max(5).default(2),
  retry_message: z.string().max(10_000).default(''),
  fallback_value: z.string().max(256).default(''),
});

const conversationSection = z.strictObject({
  max_duration_seconds: z.number().int().min(60).max(3_600).default(1_800),
  response_wait_ms: z.number().int().min(300).max(2_000).default(550),
  eagerness: z.enum(['relaxed', 'balanced', 'eager']).default('balanced'),
  response_max_wait_ms: z.number().int().min(0).max(4_000).nullable().default(null),
  interruptible: z.boolean().default(true),
  interruption_sensitivity: z.enum(['low', 'balanced', 'high']).default('balanced'),
  interruption_ignore_phrases: z.array(z.string().min(1).max(256)).max(50).default([]),
  speculative_response: z.boolean().default(true),
  reengage_enabled: z.boolean().default(false),
  hangup_after_seconds: z.number().int().min(10).max(3_600).default(60),
  hangup_farewell_enabled: z.boolean().default(false),
  record_audio: z.boolean().default(true),
  timezone: z.string().max(64).default(''),
  transfer_destinations: z.array(transferDestination).max(50).default([]),
  transfer_refuse_questions: z.boolean().default(true),
  outbound: z
    .strictObject({
      amd_enabled: z.boolean().default(true),
      voicemail: z
        .strictObject({
          action: z.enum(['hangup', 'leave_message', 'leave_prompt_message']).default('hangup'),
          message: z.string().max(10_000).default(''),
        })
        .prefault({}),
    })
    .prefault({}),
  keypad_menu: keypadMenu.prefault({}),
  keypad_input: z
    .strictObject({
      enabled: z.boolean().default(false),
      terminator: z.enum(['#', '*', '']).default('#'),
      inter_digit_timeout_seconds: z.number().min(1).max(10).default(2),
    })
    .prefault({}),
});

const toolsSection = z.strictObject({
  enabled: z.boolean().default(true),
  tool_ids: z.array(z.string().max(64)).max(100).default([]),
  system_tools: z
    .strictObject({
      hang_up_call: z.boolean().default(false),
      hang_up_call_farewell_mode: z.enum(['generated', 'fixed', 'off']).default('generated'),
      hang_up_call_farewell_message: z.string().max(500).default(''),
      hang_up_call_refuse_questions: z.boolean().default(false),
    })
    .prefault({}),
});

/** Events that an endpoint gets only if it asks for them. */
export const EXTRA_EVENTS = [
  'text_session.ended',
  'text_session.analyzed',
  'share.stopped',
  'scorecard.alert',
] as const;
/** Absent without any, so that an endpoint without them reads and hashes as before. */
export const extraEvents = z
  .array(z.enum(EXTRA_EVENTS))
  .min(1)
  .max(EXTRA_EVENTS.length)
  .refine((events) => new Set(events).size === events.length, 'an event is listed twice');

const webhookEndpoint = z.strictObject({
  url: z.string().min(1).max(LIMITS.urlChars),
  has_secret: z.boolean().default(false),
  extra_events: extraEvents.exactOptional(),
});

const webhooksSection = z.strictObject({
  conversation_init: z
    .strictObject({
      url: z.string().min(1).max(LIMITS.urlChars),
      has_secret: z.boolean().default(false),
      timeout_seconds: z.number().min(1).max(LIMITS.initWebhookSeconds).default(5),
    })
    .nullable()
    .default(null),
  post_call: z.array(webhookEndpoint).max(LIMITS.postCallEndpoints).default([]),
});

const knowledgeSection = z.strictObject({
  enabled: z.boolean().default(false),
  knowledge_source_ids: z.array(z.string().max(64)).max(LIMITS.knowledgeSources).default([]),
});

/** Absent unless the agent uses tools of MCP servers, so an agent without them reads and hashes as before. */
const toolServersSection = z.strictObject({
  tool_server_ids: z.array(z.string().max(64)).max(LIMITS.agentToolServers),
});

/** The model says what its questions expect. Absent until set, so an agent without it hashes as before. */
const answerHintsSection = z.strictObject({ enabled: z.boolean() });

/** The agent may press keys of the phone. Absent until set, so an agent without it hashes as before. */
export const pressKeysSection = z.strictObject({
  enabled: z.boolean(),
  /** The keys are dots in the timeline, the flight log and what the model is shown later. */
  hide_keys: z.boolean().default(false),
});

const dataField = z.strictObject({
  name: analysisName,
  type: z.enum(['boolean', 'text', 'number', 'enum']).default('text'),
  description: z.string().max(500).default(''),
  enum_options: z.array(z.string().min(1).max(256)).max(20).optional(),
});

const analysisSection = z.strictObject({
  summary: z
    .strictObject({
      enabled: z.boolean().default(true),
      prompt: z.string().max(1_000).nullable().default(null),
      language: z.enum(SPEAKING_LANGUAGES).default('en'),
    })
    .prefault({}),
  data_fields: z.array(dataField).max(20).default([]),
  criteria: z
    .array(z.strictObject({ name: analysisName, description: z.string().max(500).default('') }))
    .max(10)
    .default([]),
});

/** An agent's whole configuration, every field present except optional sections. */
export const agentConfig = z.strictObject({
  prompt: promptSection.prefault({}),
  voice: voiceSection.prefault({}),
  asr: asrSection.prefault({}),
  conversation: conversationSection.prefault({}),
  tools: toolsSection.prefault({}),
  webhooks: webhooksSection.prefault({}),
  knowledge_base: knowledgeSection.prefault({}),
  tool_servers: toolServersSection.exactOptional(),
  answer_hints: answerHintsSection.exactOptional(),
  press_keys: pressKeysSection.exactOptional(),
  automated_lines: automatedLinesSection.exactOptional(),
  analysis: analysisSection.prefault({}),
  scorecard: scorecardSection.exactOptional(),
  guardrails: z
    .strictObject({ focus: z.boolean().default(false), manipulation: z.boolean().default(false) })
    .prefault({}),
  llm: z
    .strictObject({
      /** `<provider>/<model>`; ignored while `custom` is set. */
      model: z.string().max(256).default(''),
      custom: z
        .strictObject({
          base_url: z.string().min(1).max(2_000),
          model: z.string().min(1).max(256),
          has_secret: z.boolean().default(false),
        })
        .nullable()
        .default(null),
    })
    .prefault({}),
  variables: z
    .strictObject({
      defaults: storedVariables.default({}),
      on_missing: z.enum(['keep', 'empty', 'reject']).default('keep'),
    })
    .prefault({}),
  /** Absent until set. */
  custom_speech: customSpeech.optional(),
});

export type AgentConfig = z.output<typeof agentConfig>;

/** Defaults of a deployment for new agents. */
export interface PlatformDefaults {
  readonly llmModel: string;
  readonly asrModel: string;
  readonly voiceId: string;
}

/** The configuration a new agent starts with. */
export function defaultAgentConfig(platform: PlatformDefaults): AgentConfig {
  return agentConfig.parse({
    llm: { model: platform.llmModel },
    asr: { model: platform.asrModel },
    voice: { voice_id: platform.voiceId },
  });
}
