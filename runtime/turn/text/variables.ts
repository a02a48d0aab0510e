/**
 * Placeholders in an agent's texts: rendered once when the call is assembled, in system prompt, first message
 * and its prompt, farewells and announcements. Tools have rules of their own (protocol/tool-template.ts).
 */
import type { AgentConfig, Variables } from '#config/agent-config.ts';
import { LIMITS } from '#config/limits.ts';
import type { SystemVariables } from '#protocol/call-plan.ts';
import { fillPlaceholders } from '#protocol/placeholders.ts';

/** The values, and the rule for placeholders without one. */
export interface RenderingRules {
  /** Values from the request or the init webhook, merged over the agent's defaults. */
  readonly variables: Variables;
  readonly systemVariables: Partial<SystemVariables>;
  /** `reject` applied when the session was created; a call that connects anyway reads it as `empty`. */
  readonly onMissing: AgentConfig['variables']['on_missing'];
}

/**
 * Fills a text's placeholders. Values that would exceed the longest text are left out: the call continues
 * without them.
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
