/**
 * Builds the `CallPlan` of a session from the frozen configuration of a version: applies overrides, merges
 * variables and decrypts the required secrets.
 */
import { type AgentConfig, agentConfig, type Variables } from '#config/agent-config.ts';
import { callTraceparent } from '#config/tracing.ts';
import {
  CALL_PLAN_VERSION,
  type CallChannel,
  type CallPlan,
  type SystemVariables,
} from '#protocol/call-plan.ts';
import { isE164 } from '#telephony/e164.ts';
import { planToolServers } from '../../catalogue/tool-servers/plan-tool-servers.ts';
import { planTools } from '../../catalogue/tools/plan-tools.ts';
import type { Context } from '../../platform/context.ts';
import { invalidField } from '../../platform/http/problems.ts';
import type { AgentDocument, OverrideField } from '../../platform/store/models/agent-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { dateIn } from './session-timezone.ts';

/** Maximum duration of a preview call, seconds. */
const PREVIEW_SECONDS = 600;

/** Configuration fields a request may override for one session. */
export interface Overrides {
  readonly first_message?: string | undefined;
  readonly first_message_prompt?: string | undefined;
  readonly system_prompt?: string | undefined;
  readonly voice_id?: string | undefined;
  readonly language?: AgentConfig['voice']['speaking_language'] | undefined;
}

/** Inputs for the plan of one session. */
export interface PlanInput {
  readonly sessionId: string;
  readonly agent: Pick<AgentDocument, '_id' | 'name'>;
  readonly version: Pick<VersionDocument, 'config' | 'secrets' | 'tools' | 'tool_servers'>;
  /** Contents of the knowledge attached to the version (`planKnowledge`). */
  readonly knowledge: CallPlan['knowledge'];
  readonly channel: CallChannel;
  readonly transport: CallPlan['transport'];
  readonly timezone: string | null;
  /** As supplied by the carrier. */
  readonly callerNumber: string;
  readonly dialedNumber: string;
  readonly overrides: Overrides;
  readonly variables: Variables;
  readonly endUserId: string | null;
  readonly llmExtraBody: Record<string, unknown> | null;
  readonly recordAudio: boolean | null;
  readonly toolEvents: boolean;
  readonly worldContext: boolean;
  readonly isPreview: boolean;
  /** The model that plays the caller of an agent test. */
  readonly simulatedUserModel?: string | null;
  /** The earlier conversation of caller and agent in writing. */
  readonly earlierTexts?: string | null;
  /** Set for phone calls only. */
  readonly transfer?: CallPlan['transfer'];
  /** Set for batch calls only. */
  readonly outreach?: CallPlan['outreach'];
}

/** The allow-list entries required by a set of overrides; `first_message_prompt` requires `first_message`. */
export function overrideFields(overrides: Overrides): OverrideField[] {
  const fields = Object.entries(overrides).flatMap(([field, value]) => (value === undefined ? [] : [field]));
  return [
    ...new Set(
      fields.map((field) => (field === 'first_message_prompt' ? 'first_message' : (field as OverrideField))),
    ),
  ];
}

/** Builds the plan. */
export function buildPlan(
  context: Pick<Context, 'secretBox' | 'clock' | 'tracing' | 'localModels' | 'settings'>,
  input: PlanInput,
): CallPlan {
  // Workers get these sections in another form; a worker of an earlier release knows none of them.
  const {
    answer_hints,
    press_keys,
    automated_lines,
    custom_speech,
    tool_servers: _attached,
    scorecard: _scored,
    ...stored
  } = parsedConfig(input.version.config);
  const config = withOverrides(withoutExtensions(withoutExtraEvents(stored)), input.overrides);
  return {
    version: CALL_PLAN_VERSION,
    session_id: input.sessionId,
    agent_id: input.agent._id,
    agent_name: input.agent.name,
    channel: input.channel,
    config,
    variables: { ...config.variables.defaults, ...input.variables },
    system_variables: systemVariablesOf(context, input, config),
    first_message_override: input.overrides.first_message ?? null,
    ...plannedTools(context, input.version, config),
    knowledge: input.knowledge,
    ...(input.earlierTexts ? { earlier_texts: input.earlierTexts } : {}),
    llm_api_key: openSecret(context, config.llm.custom === null ? null : input.version.secrets.llm_api_key),
    ...speechOf(context, custom_speech, input.version.secrets),
    ...(answer_hints?.enabled ? { answer_hints: true } : {}),
    ...(press_keys?.enabled ? { press_keys: { hide_keys: press_keys.hide_keys } } : {}),
    ...(automated_lines && input.channel === 'phone_outbound' ? { automated_lines } : {}),
    local_models: localModelsOf(context, [config.llm.model, input.simulatedUserModel]),
    llm_extra_body: input.llmExtraBody,
    end_user_id: input.endUserId,
    record_audio: input.recordAudio ?? config.conversation.record_audio,
    tool_events: input.toolEvents,
    world_context: input.worldContext,
    max_duration_seconds: sessionSeconds(config, input.isPreview),
    is_preview: input.isPreview,
    traceparent: context.tracing ? callTraceparent(input.sessionId) : null,
    transfer: input.transfer ?? null,
    outreach: input.outreach ?? null,
    transport: input.transport,
  };
}

/** Workers send no webhooks, and one of an earlier release refuses a field that it does not know. */
function withoutExtraEvents<Config extends Pick<AgentConfig, 'webhooks'>>(config: Config): Config {
  const { webhooks } = config;
  const post_call = webhooks.post_call.map(({ url, has_secret }) => ({ url, has_secret }));
  return { ...config, webhooks: { ...webhooks, post_call } };
}

/**
 * Workers read keys and phones from the routes of the transfers; one of an earlier release knows neither, and
 * no such type.
 */
function withoutExtensions<Config extends Pick<AgentConfig, 'conversation'>>(config: Config): Config {
  const { conversation } = config;
  const transfer_destinations = conversation.transfer_destinations.map(
    ({ extension: _, phone_extension: phone, ...destination }) =>
      destination.type === 'sip_phone'
        ? { ...destination, type: 'sip' as const, sip_uri: `sip:${phone}@phones.invalid` }
        : destination,
  );
  return { ...config, conversation: { ...conversation, transfer_destinations } };
}

/** The engines on the owner's servers, with their keys. */
function speechOf(
  context: Pick<Context, 'secretBox'>,
  custom: AgentConfig['custom_speech'],
  { custom_speech: keys }: PlanInput['version']['secrets'],
): Pick<CallPlan, 'custom_speech'> {
  if (!custom) return {};
  const { asr, tts } = custom;
  return {
    custom_speech: {
      ...(asr ? { asr: { ...asr, api_key: openSecret(context, keys?.asr ?? null) } } : {}),
      ...(tts ? { tts: { ...tts, api_key: openSecret(context, keys?.tts ?? null) } } : {}),
    },
  };
}

function plannedTools(
  { secretBox }: Pick<Context, 'secretBox'>,
  version: PlanInput['version'],
  config: AgentConfig,
): Pick<CallPlan, 'tools' | 'tool_servers'> {
  if (!config.tools.enabled) return { tools: [], tool_servers: [] };
  const tools = planTools(secretBox, version.tools);
  const taken = tools.map(({ function_name }) => function_name);
  return { tools, tool_servers: planToolServers(secretBox, version.tool_servers ?? [], taken) };
}

/** The local models that a call may use: those of `ids`, and the default that replaces a vanished model. */
function localModelsOf(
  { localModels, settings }: Pick<Context, 'localModels' | 'settings'>,
  ids: readonly (string | null | undefined)[],
): CallPlan['local_models'] {
  const used = [...ids, settings.LLM_DEFAULT];
  return localModels.known().filter(({ id }) => used.includes(id));
}

/** Maximum duration of a session, seconds. */
export function sessionSeconds(config: AgentConfig, isPreview: boolean): number {
  const { max_duration_seconds: seconds } = config.conversation;
  return isPreview ? Math.min(PREVIEW_SECONDS, seconds) : seconds;
}

/**
 * Throws `InvalidRequest` when `variables.on_missing` is `reject` and a text of the call uses a variable
 * without a value.
 */
export function refuseMissingVariables(plan: CallPlan): void {
  if (plan.config.variables.on_missing !== 'reject') return;
  const missing = spokenTexts(plan).some((text) =>
    [...text.matchAll(/\{\{\s*([A-Za-z][A-Za-z0-9_]*)\s*\}\}/g)].some(
      ([, name]) => !Object.hasOwn(plan.variables, name ?? ''),
    ),
  );
  if (missing) throw invalidField(['dynamic_variables'], 'a variable the agent requires has no value');
}

/** Digits grouped for reading aloud: `+1; 4 1 5; 5 5 5; 0 1 2 3`. */
export function spokenNumber(number: string): string {
  if (!isE164(number)) return '';
  const digits = number.slice(1);
  const [country, rest] =
    digits.startsWith('1') && digits.length === 11
      ? ['1', digits.slice(1)]
      : [digits.slice(0, 2), digits.slice(2)];
  const groups: string[] = [];
  for (let at = 0; at < rest.length; ) {
    const left = rest.length - at;
    const size = left <= 4 ? left : 3;
    groups.push([...rest.slice(at, at + size)].join(' '));
    at += size;
  }
  return [`+${country}`, ...groups].join('; ');
}

const parsedConfigs = new WeakMap<object, AgentConfig>();

/**
 * Parsed stored configurations. The live version of an agent is the same object for every call, so it is
 * parsed once.
 */
function parsedConfig(stored: AgentConfig): AgentConfig {
  const known = parsedConfigs.get(stored);
  if (known) return known;
  const parsed = agentConfig.parse(stored);
  parsedConfigs.set(stored, parsed);
  return parsed;
}

function withOverrides(config: AgentConfig, overrides: Overrides): AgentConfig {
  const { first_message, first_message_prompt, system_prompt, voice_id, language } = overrides;
  return {
    ...config,
    prompt: {
      ...config.prompt,
      ...(system_prompt === undefined ? {} : { system_prompt }),
      ...(first_message === undefined ? {} : { first_message, first_message_mode: 'fixed' as const }),
      ...(first_message_prompt === undefined
        ? {}
        : { first_message_prompt, first_message_mode: 'prompt' as const }),
    },
    voice: {
      ...config.voice,
      ...(voice_id === undefined ? {} : { voice_id }),
      ...(language === undefined ? {} : { speaking_language: language }),
    },
  };
}

function systemVariablesOf(
  context: Pick<Context, 'clock'>,
  input: PlanInput,
  config: AgentConfig,
): SystemVariables {
  const timezone = input.timezone ?? 'UTC';
  // The session record keeps the carrier's value; the agent only gets a valid number.
  const caller = isE164(input.callerNumber) ? input.callerNumber : '';
  return {
    channel: input.channel,
    timezone,
    today: dateIn(timezone, context.clock.wallTime()),
    language: config.voice.speaking_language,
    caller_number: caller,
    dialed_number: input.dialedNumber,
    caller_number_spoken: spokenNumber(caller),
  };
}

/**
 * Texts rendered at the start of a call. Tools are not included: their missing values are empty whatever
 * `on_missing` is.
 */
function spokenTexts(plan: CallPlan): string[] {
  const { prompt, conversation } = plan.config;
  const opening = { off: [], fixed: [prompt.first_message], prompt: [prompt.first_message_prompt] }[
    prompt.first_message_mode
  ];
  const phone =
    plan.channel === 'web_voice'
      ? []
      : conversation.transfer_destinations.flatMap((destination) => [
          destination.announcement_message,
          destination.warm_briefing_instructions,
        ]);
  const voicemail = plan.channel === 'phone_outbound' ? [conversation.outbound.voicemail.message] : [];
  const introduction = plan.automated_lines ? [plan.automated_lines.introduction] : [];
  const disclosure = plan.outreach ? [plan.outreach.disclosure] : [];
  return [prompt.system_prompt, ...disclosure, ...opening, ...phone, ...voicemail, ...introduction];
}

function openSecret(context: Pick<Context, 'secretBox'>, sealed: string | null): string | null {
  return sealed === null ? null : context.secretBox.open(sealed);
}
