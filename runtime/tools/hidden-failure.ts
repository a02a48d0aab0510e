/**
 * Failures of tools whose `error_handling` is `hide`: the timeline has them whole, and wherever a model sees
 * a result, then or later, it learns only that the tool failed. Pure.
 */
import type { PlannedTool } from '#protocol/call-plan.ts';
import type { SessionItem } from '#protocol/session-record.ts';

type Tool = Pick<PlannedTool, 'function_name' | 'error_handling'>;

/** What a model is told of a hidden failure. */
export const HIDDEN_FAILURE = 'The tool failed.';

/** The items of a call as a model may see them. */
export function shownItems(tools: readonly Tool[], items: readonly SessionItem[]): SessionItem[] {
  return items.map((item) =>
    item.type === 'tool_result' && isHidden(tools, item)
      ? { ...item, output: HIDDEN_FAILURE, error: null }
      : item,
  );
}

/** The tool calls of a test as a model may see them. */
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
