/**
 * Sends one real request of a webhook tool to test its endpoint: the stored URL, with headers and body
 * rendered from the given arguments.
 */
import { z } from 'zod';
import { EgressRefused, EgressTimeout } from '#base/egress.ts';
import { LIMITS } from '#config/limits.ts';
import type { PlannedTool } from '#protocol/call-plan.ts';
import { freeJson } from '#protocol/free-json.ts';
import { FilledTooLong } from '#protocol/placeholders.ts';
import { renderRequest } from '#protocol/tool-template.ts';
import type { Context } from '../../platform/context.ts';
import { invalidField } from '../../platform/http/problems.ts';
import type { ToolDocument } from '../../platform/store/models/tool-model.ts';
import { planTools } from './plan-tools.ts';

/** Body of a test; `arguments.system` replaces the platform's variables. */
export const toolTestBody = z.strictObject({
  arguments: z
    .record(z.string(), z.unknown())
    .superRefine(freeJson(LIMITS.toolTestArgumentBytes))
    .default({}),
});

/** Result of the test; without a response, `error` gives the reason and the response fields are empty. */
export const toolTestRecord = z.object({
  status_code: z.number().int().nullable(),
  latency_ms: z.number().int(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
  response_truncated: z.boolean(),
  error: z.string().nullable(),
});

/**
 * Sends the request. Throws `InvalidRequest` for a client tool, which only a browser can run, and for
 * arguments that render to too much text.
 */
export async function testTool(
  context: Context,
  tool: ToolDocument,
  given: Readonly<Record<string, unknown>>,
): Promise<z.output<typeof toolTestRecord>> {
  const [planned] = planTools(context.secretBox, [{ ...tool, tool_id: tool._id }]);
  if (!planned || tool.tool_type !== 'webhook') throw invalidField([], 'only webhook tools can be tested');
  const { method, headers, body } = render(planned, given);
  const startedMs = context.clock.now();
  const latency = () => ({ latency_ms: Math.round(context.clock.now() - startedMs) });
  try {
    const response = await context.egress.request(tool.url, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      timeoutMs: tool.timeout_seconds * 1_000,
      maxBytes: LIMITS.toolTestResponseBytes,
    });
    return {
      status_code: response.status,
      ...latency(),
      headers: { ...response.headers },
      body: response.body.toString('utf8'),
      response_truncated: response.isTruncated,
      error: null,
    };
  } catch (error) {
    return {
      status_code: null,
      ...latency(),
      headers: {},
      body: '',
      response_truncated: false,
      error: wordsFor(error),
    };
  }
}

/** Throws `InvalidRequest` when a rendered text is too long. */
function render(
  planned: PlannedTool,
  given: Readonly<Record<string, unknown>>,
): ReturnType<typeof renderRequest> {
  try {
    return renderRequest(planned, {
      variables: {},
      systemVariables: objectOr(given['system']),
      arguments: given,
    });
  } catch (error) {
    if (error instanceof FilledTooLong) throw invalidField(['arguments'], error.message);
    throw error;
  }
}

function objectOr(value: unknown): object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

/**
 * Returns only text that cannot contain a credential, because HTTP clients may quote an invalid header in
 * their errors.
 */
function wordsFor(error: unknown): string {
  if (error instanceof EgressRefused || error instanceof EgressTimeout) return error.message;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? `The request failed (${code})` : 'The request could not be sent';
}
