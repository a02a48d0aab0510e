/**
 * Sends one real request of a webhook tool to test its endpoint: the stored URL, with headers and body
 * rendered from the given arguments.
 */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import type { PlannedTool } from '#protocol/call-plan.ts';
import { freeJson } from '#protocol/free-json.ts';
import { FilledTooLong } from '#protocol/placeholders.ts';
import { renderRequest } from '#protocol/tool-template.ts';
import type { Context } from '../../platform/context.ts';
import { invalidField } from '../../platform/http/problems.ts';
import { type triedRequest, tryRequest } from '../../platform/http/tried-request.ts';
import type { ToolDocument } from '../../platform/store/models/tool-model.ts';
import { planTools } from './plan-tools.ts';

/** Body of a test; `arguments.system` replaces the platform's variables. */
export const toolTestBody = z.strictObject({
  arguments: z
    .record(z.string(), z.unknown())
    .superRefine(freeJson(LIMITS.toolTestArgumentBytes))
    .default({}),
});

/**
 * Sends the request. Throws `InvalidRequest` for a client tool, which only a browser can run, and for
 * arguments that render to too much text.
 */
export async function testTool(
  context: Context,
  tool: ToolDocument,
  given: Readonly<Record<string, unknown>>,
): Promise<z.output<typeof triedRequest>> {
  const [planned] = planTools(context.secretBox, [{ ...tool, tool_id: tool._id }]);
  if (!planned || tool.tool_type !== 'webhook') throw invalidField([], 'only webhook tools can be tested');
  const { method, headers, body } = render(planned, given);
  return tryRequest(context, () =>
    context.egress.request(tool.url, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      timeoutMs: tool.timeout_seconds * 1_000,
      maxBytes: LIMITS.testedResponseBytes,
    }),
  );
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
