/**
 * The inbound call webhook, called once before the agent answers. It can supply variables but never delays
 * the call beyond its timeout. One signed POST through the egress guard, without retries; an invalid entry in
 * the answer is dropped on its own.
 */
import type { Variables } from '#config/agent-config.ts';
import { LIMITS } from '#config/limits.ts';
import type { InboundCallEvent } from '#protocol/webhook-events.ts';
import type { Context } from '../../platform/context.ts';
import { postSigned } from '../webhooks/signed-post.ts';

/** Enough for the largest variables with their names and ordinary JSON escapes. */
const ANSWER_BYTES = 4 * 1024 * 1024;

/** The endpoint as published; `secret` is sealed. */
export interface InitEndpoint {
  readonly url: string;
  readonly timeoutSeconds: number;
  readonly secret: string | null;
}

/** Calls the endpoint; after any failure the call proceeds without variables. */
export async function askInitWebhook(
  context: Pick<Context, 'egress' | 'clock' | 'secretBox' | 'logger'>,
  endpoint: InitEndpoint,
  event: InboundCallEvent,
): Promise<Variables> {
  try {
    const secret = endpoint.secret === null ? null : context.secretBox.open(endpoint.secret);
    const response = await postSigned(context, {
      url: endpoint.url,
      secret,
      payload: Buffer.from(JSON.stringify(event)),
      timeoutMs: endpoint.timeoutSeconds * 1000,
      maxBytes: ANSWER_BYTES,
    });
    if (response.status < 200 || response.status > 299) throw new Error(`answered ${response.status}`);
    return readVariables(JSON.parse(response.body.toString('utf8')));
  } catch (error) {
    context.logger.warn(
      { agentId: event.call.agent_id, problem: error instanceof Error ? error.name : 'unknown' },
      'init webhook returned no variables',
    );
    return {};
  }
}

/** Extracts the valid variables of an answer: at most 500 entries and 1 MiB in total. */
export function readVariables(answer: unknown): Variables {
  const given = isObject(answer) ? answer['dynamic_variables'] : null;
  if (!isObject(given)) return {};
  const variables: Variables = {};
  let bytes = 0;
  for (const [name, value] of Object.entries(given).slice(0, LIMITS.variableEntries)) {
    if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name) || !isVariable(value)) continue;
    bytes += Buffer.byteLength(name) + Buffer.byteLength(String(value));
    if (bytes > LIMITS.variableBytes) break;
    variables[name] = value;
  }
  return variables;
}

function isVariable(value: unknown): value is Variables[string] {
  if (typeof value === 'string') return value.length <= LIMITS.variableChars;
  return typeof value === 'number' || typeof value === 'boolean';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
