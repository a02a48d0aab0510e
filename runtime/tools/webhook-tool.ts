/**
 * One call of a webhook tool: renders the request from its templates and sends it through the egress guard. A
 * redirect is an answer like any other. Nothing is retried, because a tool may have side effects.
 */

import type { EgressGuard } from '#base/egress.ts';
import { LIMITS } from '#config/limits.ts';
import type { PlannedTool } from '#protocol/call-plan.ts';
import { renderRequest, type TemplateValues } from '#protocol/tool-template.ts';
import type { RawOutcome } from './raw-outcome.ts';

/** Sends the request and reads at most 256 KB of the answer. Throws what the egress guard throws. */
export async function runWebhookTool(
  tool: PlannedTool,
  values: TemplateValues,
  context: { readonly egress: EgressGuard; readonly signal: AbortSignal },
): Promise<RawOutcome> {
  const { url, ...request } = renderRequest(tool, values);
  const response = await context.egress.request(url, {
    ...request,
    timeoutMs: tool.timeout_seconds * 1_000,
    maxBytes: LIMITS.toolOutputBytes,
    signal: context.signal,
  });
  const ok = response.status >= 200 && response.status < 300;
  return {
    ok,
    output: response.body.toString('utf8'),
    outputTruncated: response.isTruncated,
    error: ok ? null : `HTTP ${response.status}`,
  };
}
