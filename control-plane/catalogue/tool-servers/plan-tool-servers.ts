/** Pinned tool servers in the form workers receive: credentials decrypted, tools with names for the model. */
import { LIMITS } from '#config/limits.ts';
import type { PlannedToolServer } from '#protocol/call-plan.ts';
import type { SecretBox } from '../../platform/secrets/secret-box.ts';
import type { PinnedToolServer } from '../../platform/store/models/tool-server-model.ts';
import { slug, uniqueName } from '../tools/plan-tools.ts';

/** Characters of a server's name in front of its tools' names. */
const PREFIX_CHARS = 20;

/**
 * Builds a plan's tool servers. A tool is called `<server>_<tool>`, and no name is one of `taken`. The result
 * contains decrypted credentials and must be sent to the worker only.
 */
export function planToolServers(
  box: SecretBox,
  servers: readonly PinnedToolServer[],
  taken: readonly string[],
): PlannedToolServer[] {
  const names = new Set(taken);
  let left: number = LIMITS.agentServerTools;
  return servers.map((server) => {
    const prefix = slug(server.name).slice(0, PREFIX_CHARS);
    // Only a draft can have more: publication refuses it.
    const tools = server.tools.slice(0, left);
    left -= tools.length;
    return {
      tool_server_id: server.tool_server_id,
      name: server.name,
      url: server.url,
      headers: openHeaders(box, server.headers),
      oauth: openOauth(box, server.oauth),
      timeout_seconds: server.timeout_seconds,
      tools: tools.map((tool) => ({
        ...tool,
        function_name: uniqueName(`${prefix}_${slug(tool.name)}`, names),
        execution_mode: server.background_tools.includes(tool.name) ? 'background' : 'blocking',
      })),
    };
  });
}

/** Headers with decrypted credentials, without those that were cleared when the host changed. */
export function openHeaders(
  box: SecretBox,
  headers: PinnedToolServer['headers'],
): PlannedToolServer['headers'] {
  return headers
    .filter(({ kind, value }) => kind === 'custom' || value !== '')
    .map(({ name, kind, value }) => ({ name, value: kind === 'custom' ? value : box.open(value) }));
}

/** Client credentials with the decrypted secret; null if it was cleared when the host changed. */
export function openOauth(box: SecretBox, oauth: PinnedToolServer['oauth']): PlannedToolServer['oauth'] {
  if (!oauth || oauth.client_secret === '') return null;
  return { ...oauth, client_secret: box.open(oauth.client_secret) };
}
