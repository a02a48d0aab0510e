/**
 * Placeholders in what an agent says and is told (supplement 4.3): rendered once when the call is assembled, in system prompt, first message and its prompt,
 * farewells and announcements. Tools have rules of their own (config/tool-template.ts).
 */
import type { AgentConfig, Variables } from '#config/agent-config.ts';
import type { SystemVariables } from '#config/call-plan.ts';

const PLACEHOLDER = /\{\{\s*([^{}]+?)\s*\}\}/g;

/** Where values come from and what becomes of a placeholder without one. */
export interface RenderingRules {
  /** Request or init-webhook values over the agent's defaults. */
  readonly variables: Variables;
  readonly systemVariables: Partial<SystemVariables>;
  /** `reject` was for the session's creation; a call that connects all the same reads it as `empty` (supplement 2.3). */
  readonly onMissing: AgentConfig['variables']['on_missing'];
}

/** Fills the placeholders of a text in one pass: what is filled in is never scanned again. */
export function renderText(template: string, rules: RenderingRules): string {
  return template.replace(PLACEHOLDER, (whole, name: string) => {
    const value = name.startsWith('system.') ? own(rules.systemVariables, name.slice('system.'.length)) : own(rules.variables, name);
    if (value !== undefined) return String(value);
    return rules.onMissing === 'keep' ? whole : '';
  });
}

function own(record: object, name: string): unknown {
  return Object.hasOwn(record, name) ? (record as Record<string, unknown>)[name] : undefined;
}
