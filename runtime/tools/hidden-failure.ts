/**
 * Failures of tools with `error_handling: hide`: the timeline has the full failure, while models only ever
 * learn that the tool failed. Pure.
 */
import type { PlannedTool } from '#protocol/call-plan.ts';
import type { SessionItem } from '#protocol/session-record.ts';

type Tool = Pick<PlannedTool, 'function_name' | 'error_handling'>;

/** The text a model sees for a hidden failure. */
export const HIDDEN_FAILURE = 'The tool failed.';

/** A call's items with hidden failures masked, for a model. */
export function shownItems(tools: readonly Tool[], items: readonly SessionItem[]): SessionItem[] {
  return items.map((item) =>
    item.type === 'tool_result' && isHidden(tools, item)
      ? { ...item, output: HIDDEN_FAILURE, error: null }
      : item,
  );
}

/** A test's tool calls with hidden failures masked, for a model. */
export function shownCalls<
  Call extends { readonly tool_name: string; readonly status: string; readonly output: string | null },
>(tools: readonly Tool[], calls: readonly Call[]): Call[] {
  return calls.map((call) => (isHidden(tools, call) ? { ...call, output: HIDDEN_FAILURE } : call));
}

function isHidden(
  tools: readonly Tool[],
  result: { readonly tool_name: string; readonly status: string },
): boolean {
  return (
    result.status === 'failed' &&
    tools.some((tool) => tool.function_name === result.tool_name && tool.error_handling === 'hide')
  );
}
