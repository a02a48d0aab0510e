/**
 * Secrets of a draft: taken from the patch, encrypted beside the configuration, and exposed only as
 * `has_secret`.
 */
import type { AgentConfig } from '#config/agent-config.ts';
import type { AgentConfigPatch } from '#config/agent-config-patch.ts';
import { isOtherHost } from '#config/credential-host.ts';
import { type CustomSpeech, httpAddress } from '#config/custom-speech.ts';
import { reseal, type SecretBox } from '../../platform/secrets/secret-box.ts';
import type { SealedAgentSecrets } from '../../platform/store/models/agent-model.ts';

type KeyByUrl = SealedAgentSecrets['post_call'];

/** The secrets of a new agent. */
export const NO_SECRETS: SealedAgentSecrets = { post_call: [], conversation_init: [], llm_api_key: null };

/**
 * Applies a patch's secrets and sets `has_secret` accordingly. A key of a custom model or of custom speech is
 * kept only for the host it was given for.
 */
export function applySecrets(
  box: SecretBox,
  draft: { readonly config: AgentConfig; readonly secrets: SealedAgentSecrets },
  patch: AgentConfigPatch,
  config: AgentConfig,
): { config: AgentConfig; secrets: SealedAgentSecrets } {
  const { secrets: stored } = draft;
  const custom = config.llm.custom;
  const init = config.webhooks.conversation_init;
  const sentInit = patch.webhooks?.conversation_init;
  const sentByUrl = new Map(patch.webhooks?.post_call?.map((entry) => [entry.url, entry.secret]));
  const speechKeys = speechKeysOf(box, draft, patch, config);
  const secrets: SealedAgentSecrets = {
    post_call: config.webhooks.post_call.flatMap(({ url }) =>
      keep(box, stored.post_call, url, sentByUrl.get(url)),
    ),
    conversation_init: init ? keep(box, stored.conversation_init, init.url, sentInit?.secret) : [],
    llm_api_key:
      custom &&
      resolveSecret(box, modelKeyFor(custom.base_url, draft), patch.llm?.custom?.api_key ?? undefined),
    ...(Object.keys(speechKeys).length > 0 ? { custom_speech: speechKeys } : {}),
  };
  const hasKey = (keys: KeyByUrl, url: string) => keys.some((key) => key.url === url);
  return {
    secrets,
    config: {
      ...config,
      webhooks: {
        conversation_init: init && { ...init, has_secret: hasKey(secrets.conversation_init, init.url) },
        post_call: config.webhooks.post_call.map((entry) => ({
          ...entry,
          has_secret: hasKey(secrets.post_call, entry.url),
        })),
      },
      llm: { ...config.llm, custom: custom && { ...custom, has_secret: secrets.llm_api_key !== null } },
      ...(config.custom_speech ? { custom_speech: withHasSecret(config.custom_speech, speechKeys) } : {}),
    },
  };
}

/** The sealed key that signs the events for an endpoint; null without one. */
export function postCallSecret({ post_call: keys }: Pick<SealedAgentSecrets, 'post_call'>, url: string) {
  return keys.find((key) => key.url === url)?.sealed ?? null;
}

type SpeechKeys = NonNullable<SealedAgentSecrets['custom_speech']>;

function speechKeysOf(
  box: SecretBox,
  draft: { readonly config: AgentConfig; readonly secrets: SealedAgentSecrets },
  patch: AgentConfigPatch,
  config: AgentConfig,
): SpeechKeys {
  const keys: SpeechKeys = {};
  for (const part of ['asr', 'tts'] as const) {
    const after = config.custom_speech?.[part];
    if (!after) continue;
    const before = httpAddress(draft.config.custom_speech?.[part]?.url ?? '');
    const stored = draft.secrets.custom_speech?.[part] ?? null;
    const kept = isOtherHost(before, httpAddress(after.url)) ? null : stored;
    const key = resolveSecret(box, kept, patch.custom_speech?.[part]?.api_key ?? undefined);
    if (key !== null) keys[part] = key;
  }
  return keys;
}

function withHasSecret(speech: CustomSpeech, keys: SpeechKeys): CustomSpeech {
  const { asr, tts } = speech;
  return {
    ...(asr ? { asr: { ...asr, has_secret: keys.asr !== undefined } } : {}),
    ...(tts ? { tts: { ...tts, has_secret: keys.tts !== undefined } } : {}),
  };
}

/** The stored key, if it was given for the host of this address. */
function modelKeyFor(
  baseUrl: string,
  { config, secrets }: { readonly config: AgentConfig; readonly secrets: SealedAgentSecrets },
): string | null {
  return isOtherHost(config.llm.custom?.base_url ?? '', baseUrl) ? null : secrets.llm_api_key;
}

/** A missing or null secret keeps the one stored for the URL; an empty one removes it. */
function keep(box: SecretBox, stored: KeyByUrl, url: string, sent: string | null | undefined): KeyByUrl {
  if (sent === '') return [];
  const sealed = resolveSecret(box, stored.find((key) => key.url === url)?.sealed ?? null, sent ?? undefined);
  return sealed === null ? [] : [{ url, sealed }];
}

function resolveSecret(box: SecretBox, stored: string | null, sent: string | undefined): string | null {
  return sent === undefined ? stored : reseal(box, stored, sent);
}
