/**
 * Secrets of a draft: taken from the patch, encrypted beside the configuration, and exposed only as
 * `has_secret`.
 */
import type { AgentConfig } from '#config/agent-config.ts';
import type { AgentConfigPatch } from '#config/agent-config-patch.ts';
import { isOtherHost } from '#config/credential-host.ts';
import { reseal, type SecretBox } from '../../platform/secrets/secret-box.ts';
import type { SealedAgentSecrets } from '../../platform/store/models/agent-model.ts';

type KeyByUrl = SealedAgentSecrets['post_call'];

/** The secrets of a new agent. */
export const NO_SECRETS: SealedAgentSecrets = { post_call: [], conversation_init: [], llm_api_key: null };

/**
 * Applies a patch's secrets and sets `has_secret` accordingly. The key of a custom model is kept only for the
 * host it was given for.
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
  const secrets: SealedAgentSecrets = {
    post_call: config.webhooks.post_call.flatMap(({ url }) =>
      keep(box, stored.post_call, url, sentByUrl.get(url)),
    ),
    conversation_init: init ? keep(box, stored.conversation_init, init.url, sentInit?.secret) : [],
    llm_api_key:
      custom &&
      resolveSecret(box, modelKeyFor(custom.base_url, draft), patch.llm?.custom?.api_key ?? undefined),
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
    },
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
