/** Analysis of a demo call: quotes what was said. The demo's rules judge nothing, and the result says so. */
import type { AgentConfig } from '#config/agent-config.ts';
import type { AnalysisResult, SessionItem } from '#protocol/session-record.ts';

const QUOTED_TURNS = 6;
const QUOTE_CHARS = 120;
const RATIONALE = 'The rule-based demo model cannot judge this; choose a language model.';

/** Quotes the caller; every field is null and every criterion `unknown`. */
export function extractiveAnalysis(
  analysis: AgentConfig['analysis'],
  items: readonly SessionItem[],
): AnalysisResult {
  return {
    status: 'completed',
    summary: analysis.summary.enabled ? summarise(items) : null,
    data: analysis.data_fields.map(({ name, type }) => ({ name, type, value: null, rationale: RATIONALE })),
    criteria_results: analysis.criteria.map(({ name }) => ({
      name,
      result: 'unknown',
      rationale: RATIONALE,
    })),
    error: null,
  };
}

function summarise(items: readonly SessionItem[]): string {
  const messages = items.filter((item) => item.type === 'message');
  const caller = messages.filter((message) => message.role === 'user').map((message) => message.content);
  const quotes = caller.slice(0, QUOTED_TURNS).map((content) => `“${content.slice(0, QUOTE_CHARS)}”`);
  const rest = caller.length > QUOTED_TURNS ? ` and ${caller.length - QUOTED_TURNS} more` : '';
  const last = messages.findLast((message) => message.role === 'assistant')?.content;
  const ending = last === undefined ? '' : ` The agent's last words: “${last.slice(0, QUOTE_CHARS)}”`;
  return `Extract by the rule-based demo model. The caller said: ${quotes.join(', ')}${rest}.${ending}`;
}
