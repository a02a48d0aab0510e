/**
 * Placeholders in what an agent says and is told: rendered once when the call is assembled, in system prompt,
 * first message and its prompt, farewells and announcements. Tools have rules of their own
 * (protocol/tool-template.ts).
 */
import type { AgentConfig, Variables } from '#config/agent-config.ts';
import { LIMITS } from '#config/limits.ts';
import type { SystemVariables } from '#protocol/call-plan.ts';
import { fillPlaceholders } from '#protocol/placeholders.ts';

/** Where values come from and what becomes of a placeholder without one. */
export interface RenderingRules {
  /** Request or init-webhook values over the agent's defaults. */
  readonly variables: Variables;
  readonly systemVariables: Partial<SystemVariables>;
  /** `reject` was for the session's creation; a call that connects all the same reads it as `empty`. */
  readonly onMissing: AgentConfig['variables']['on_missing'];
}

/**
 * Fills in the placeholders of a text. Values beyond its longest length are left out: a call goes on with
 * what it has.
 */
export function renderText(template: string, rules: RenderingRules): string {
  let room = LIMITS.renderedChars - template.length;
  return fillPlaceholders(template, ({ name, written }) => {
    const value = name.startsWith('system.')
      ? own(rules.systemVariables, name.slice('system.'.length))
      : own(rules.variables, name);
    if (value === undefined) return rules.onMissing === 'keep' ? written : '';
    const text = String(value);
    room -= text.length;
    return room < 0 ? '' : text;
  });
}

function own(record: object, name: string): unknown {
  return Object.hasOwn(record, name) ? (record as Record<string, unknown>)[name] : undefined;
}
