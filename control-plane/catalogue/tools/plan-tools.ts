/**
 * Frozen tools in the form workers receive: credential headers decrypted, and each tool with a function name
 * valid for the model.
 */
import type { PlannedTool } from '#protocol/call-plan.ts';
import type { SecretBox } from '../../platform/secrets/secret-box.ts';
import type { AttachedTool } from '../agents/config-hash.ts';

const FUNCTION_NAME_CHARS = 64;

/**
 * Builds a plan's tools from a version's frozen ones. The result contains decrypted credentials and must be
 * sent to the worker only.
 */
export function planTools(box: SecretBox, tools: readonly AttachedTool[]): PlannedTool[] {
  const names = functionNames(tools);
  return tools.map((tool, index) => ({
    tool_id: tool.tool_id,
    function_name: names[index] ?? tool.name,
    name: tool.name,
    description: tool.description,
    tool_type: tool.tool_type,
    arguments: tool.arguments,
    method: tool.method,
    url: tool.url,
    content_type: tool.content_type,
    body_template: tool.body_template,
    headers: tool.headers
      .filter(isKnown)
      .map(({ name, kind, value }) => ({ name, value: kind === 'custom' ? value : box.open(value) })),
    timeout_seconds: tool.timeout_seconds,
    error_handling: tool.error_handling,
    expects_response: tool.expects_response,
    execution_mode: tool.execution_mode,
  }));
}

/** False for a credential that was cleared when the host changed. */
function isKnown({ kind, value }: AttachedTool['headers'][number]): boolean {
  return kind === 'custom' || value !== '';
}

/**
 * Function names in the order of the tools. A client tool uses its exact name; a webhook tool's name is
 * derived from its display name and made unique with a number.
 */
export function functionNames(tools: readonly Pick<AttachedTool, 'name' | 'tool_type'>[]): string[] {
  const taken = new Set(tools.filter((tool) => tool.tool_type === 'client').map((tool) => tool.name));
  return tools.map((tool) => {
    if (tool.tool_type === 'client') return tool.name;
    return uniqueName(slug(tool.name), taken);
  });
}

/** The name, cut to the permitted length, or with a number if it is taken. Adds it to `taken`. */
export function uniqueName(wanted: string, taken: Set<string>): string {
  const base = wanted.slice(0, FUNCTION_NAME_CHARS);
  let name = base;
  for (let copy = 2; taken.has(name); copy++)
    name = `${base.slice(0, FUNCTION_NAME_CHARS - String(copy).length - 1)}_${copy}`;
  taken.add(name);
  return name;
}

/** Converts a display name to match `^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`. */
export function slug(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^a-zA-Z0-9_-]+/g, '_')
    .replace(/^[^a-zA-Z]+|(?<!_)_+$/g, '')
    .toLowerCase();
  return (plain === '' ? 'tool' : plain).slice(0, FUNCTION_NAME_CHARS);
}
