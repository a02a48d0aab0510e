/**
 * Changes to a draft configuration: the strict schema of a patch, derived from the configuration's schema,
 * and the merge. Objects merge deeply; lists and `variables.defaults` are replaced; null is allowed only
 * where it is the field's default. A patch may contain secrets; the merged configuration contains only
 * `has_secret`.
 */
import { z } from 'zod';
import { type AgentConfig, agentConfig, extraEvents } from './agent-config.ts';
import { automatedLinesPatch, mergeAutomatedLines } from './automated-lines.ts';
import { customSpeechPatch, mergeCustomSpeech } from './custom-speech.ts';
import { LIMITS } from './limits.ts';
import { mergeScorecard, scorecardPatch } from './scorecard.ts';

/** Every field optional; lists and records are replaced as a whole. */
type DeepPartial<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? string extends keyof T
      ? T
      : { [K in keyof T]?: DeepPartial<T[K]> }
    : T;

/** Fields of a snapshot beside its sections: accepted when a snapshot is restored, never stored. */
const ignored = z.boolean().optional();
const secret = z.string().max(LIMITS.webhookSecretChars).nullable().optional();
const url = z.string().min(1).max(LIMITS.urlChars);

const postCallEntry = z.strictObject({
  url,
  secret,
  has_secret: ignored,
  extra_events: extraEvents.exactOptional(),
});
/** An endpoint of `webhooks.post_call` as sent by a client. */
type PostCallEntry = z.output<typeof postCallEntry>;

const webhooksPatch = z.strictObject({
  conversation_init: z
    .strictObject({
      url: url.optional(),
      secret,
      has_secret: ignored,
      timeout_seconds: z.number().min(1).max(LIMITS.initWebhookSeconds).optional(),
    })
    .nullable()
    .optional(),
  /** A single object counts as a list of one; null empties the list. */
  post_call: z
    .union([
      z
        .array(postCallEntry)
        .max(LIMITS.postCallEndpoints)
        .refine(
          (entries) => new Set(entries.map((entry) => entry.url)).size === entries.length,
          'post_call urls must be unique',
        ),
      postCallEntry.transform((entry) => [entry]),
      z.null().transform((): PostCallEntry[] => []),
    ])
    .optional(),
});

const llmPatch = z.strictObject({
  model: z.string().min(1).max(256).optional(),
  custom: z
    .strictObject({
      base_url: z.string().min(1).max(2_000).optional(),
      model: z.string().min(1).max(256).optional(),
      api_key: z.string().min(1).max(4_096).nullable().optional(),
      has_secret: ignored,
    })
    .nullable()
    .optional(),
});

/** Null and an empty list remove the section. */
const toolServersPatch = z
  .strictObject({ tool_server_ids: z.array(z.string().max(64)).max(LIMITS.agentToolServers) })
  .nullable();

/** Null and `enabled: false` remove the section. */
const answerHintsPatch = z.strictObject({ enabled: z.boolean() }).nullable();

/** Null and `enabled: false` remove the section. */
const pressKeysPatch = z
  .strictObject({ enabled: z.boolean().optional(), hide_keys: z.boolean().optional() })
  .nullable();

const {
  webhooks: _webhooks,
  llm: _llm,
  custom_speech: _speech,
  tool_servers: _toolServers,
  answer_hints: _hints,
  press_keys: _keys,
  automated_lines: _lines,
  scorecard: _scorecard,
  ...plainSections
} = agentConfig.shape;
type PlainSections = Pick<AgentConfig, keyof typeof plainSections>;

const plainSchema = z.strictObject(plainSections);

/** The body of `PATCH …/config`. */
export const agentConfigPatch = z.strictObject({
  ...(Object.fromEntries(
    Object.entries(plainSections).map(([name, section]) => [name, patchOf(section).optional()]),
  ) as {
    [K in keyof PlainSections]: z.ZodOptional<z.ZodType<DeepPartial<PlainSections[K]>>>;
  }),
  webhooks: webhooksPatch.optional(),
  llm: llmPatch.optional(),
  custom_speech: customSpeechPatch.optional(),
  tool_servers: toolServersPatch.optional(),
  answer_hints: answerHintsPatch.optional(),
  press_keys: pressKeysPatch.optional(),
  automated_lines: automatedLinesPatch.optional(),
  scorecard: scorecardPatch.optional(),
});
export type AgentConfigPatch = z.output<typeof agentConfigPatch>;

/**
 * Merges a patch into a configuration. Keeps `has_secret` of an unchanged URL; the caller, which stores the
 * secrets, corrects it.
 */
export function patchAgentConfig(config: AgentConfig, patch: AgentConfigPatch): AgentConfig {
  const {
    webhooks,
    llm,
    custom_speech,
    tool_servers,
    answer_hints,
    press_keys,
    automated_lines,
    scorecard,
    ...plain
  } = patch;
  const {
    custom_speech: currentSpeech,
    tool_servers: currentServers,
    answer_hints: currentHints,
    press_keys: currentKeys,
    automated_lines: currentLines,
    scorecard: currentScorecard,
    ...current
  } = config;
  const merged = merge(plainSchema, current, plain) as PlainSections;
  const sources = patch.knowledge_base;
  const speech = mergeCustomSpeech(currentSpeech, custom_speech);
  const servers = tool_servers === undefined ? currentServers : tool_servers;
  const hints = answer_hints === undefined ? currentHints : answer_hints;
  return {
    ...current,
    ...merged,
    // Sources sent without `enabled` are meant to be used.
    knowledge_base: {
      ...merged.knowledge_base,
      ...(sources && sources.enabled === undefined && (sources.knowledge_source_ids?.length ?? 0) > 0
        ? { enabled: true }
        : {}),
    },
    webhooks: mergeWebhooks(config.webhooks, webhooks),
    llm: mergeLlm(config.llm, llm),
    ...(speech ? { custom_speech: speech } : {}),
    ...(servers && servers.tool_server_ids.length > 0 ? { tool_servers: servers } : {}),
    ...(hints?.enabled ? { answer_hints: hints } : {}),
    ...mergePressKeys(currentKeys, press_keys),
    ...mergeAutomatedLines(currentLines, automated_lines),
    ...mergeScorecard(currentScorecard, scorecard),
  };
}

function mergePressKeys(
  current: AgentConfig['press_keys'],
  patch: AgentConfigPatch['press_keys'],
): Pick<AgentConfig, 'press_keys'> {
  if (patch === null) return {};
  const enabled = patch?.enabled ?? current?.enabled ?? false;
  const hide_keys = patch?.hide_keys ?? current?.hide_keys ?? false;
  return enabled ? { press_keys: { enabled, hide_keys } } : {};
}

function mergeWebhooks(
  current: AgentConfig['webhooks'],
  patch: AgentConfigPatch['webhooks'],
): AgentConfig['webhooks'] {
  if (!patch) return current;
  const init = patch.conversation_init;
  const known = new Map(current.post_call.map((entry) => [entry.url, entry.has_secret]));
  return {
    conversation_init:
      init === undefined
        ? current.conversation_init
        : init && {
            url: init.url ?? current.conversation_init?.url ?? '',
            has_secret: current.conversation_init?.has_secret ?? false,
            timeout_seconds: init.timeout_seconds ?? current.conversation_init?.timeout_seconds ?? 5,
          },
    post_call:
      patch.post_call?.map(({ url, extra_events }) => ({
        url,
        has_secret: known.get(url) ?? false,
        ...(extra_events ? { extra_events } : {}),
      })) ?? current.post_call,
  };
}

function mergeLlm(current: AgentConfig['llm'], patch: AgentConfigPatch['llm']): AgentConfig['llm'] {
  if (!patch) return current;
  const { custom } = patch;
  return {
    model: patch.model ?? current.model,
    custom:
      custom === undefined
        ? // Choosing a model of the platform replaces a custom one.
          patch.model === undefined
          ? current.custom
          : null
        : custom && {
            base_url: (custom.base_url ?? current.custom?.base_url ?? '')
              .replace(/(?<!\/)\/+$/, '')
              .replace(/\/chat\/completions$/, ''),
            model: custom.model ?? current.custom?.model ?? '',
            has_secret: current.custom?.has_secret ?? false,
          },
  };
}

/** A section's schema with every field optional and without defaults, so that absent fields stay absent. */
function patchOf(schema: z.core.$ZodType): z.ZodType {
  const inner = unwrap(schema);
  if (!(inner instanceof z.ZodObject)) return inner;
  return z.strictObject(
    Object.fromEntries(Object.entries(inner.shape).map(([name, field]) => [name, patchOf(field).optional()])),
  );
}

function merge(schema: z.core.$ZodType, current: unknown, patch: unknown): unknown {
  const inner = unwrap(schema);
  if (patch === undefined) return current;
  if (!(inner instanceof z.ZodObject) || typeof patch !== 'object' || patch === null) return patch;
  const fields = Object.entries(inner.shape).map(([name, field]) => [
    name,
    merge(field, (current as Record<string, unknown>)[name], (patch as Record<string, unknown>)[name]),
  ]);
  return Object.fromEntries(fields);
}

function unwrap(schema: z.core.$ZodType): z.ZodType {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
    ? unwrap(schema.def.innerType)
    : (schema as z.ZodType);
}
