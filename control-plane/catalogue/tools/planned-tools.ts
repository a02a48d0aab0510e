/**
 * Frozen tools as a worker is told them: credential headers opened, and every tool with a function name the
 * model can use.
 */
import type { PlannedTool } from '#protocol/call-plan.ts';
import type { SecretBox } from '../../platform/secrets/secret-box.ts';
import type { AttachedTool } from '../agents/config-hash.ts';

const FUNCTION_NAME_CHARS = 64;

/**
 * The tools of a call's plan, from a version's frozen ones. The result holds credentials in the clear: it
 * goes to the worker and nowhere else.
 */
export function plannedTools(box: SecretBox, tools: readonly AttachedTool[]): PlannedTool[] {
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

/** False for a credential that was forgotten with the host it was for. */
function isKnown({ kind, value }: AttachedTool['headers'][number]): boolean {
  return kind === 'custom' || value !== '';
}

/**
 * Function names in the order of the tools: a client tool's is its name exactly, a webhook tool's is derived
 * from its name and made unique by a number.
 */
export function functionNames(tools: readonly Pick<AttachedTool, 'name' | 'tool_type'>[]): string[] {
  const taken = new Set(tools.filter((tool) => tool.tool_type === 'client').map((tool) => tool.name));
  return tools.map((tool) => {
    if (tool.tool_type === 'client') return tool.name;
    const base = slug(tool.name);
    let name = base;
    for (let copy = 2; taken.has(name); copy++)
      name = `${base.slice(0, FUNCTION_NAME_CHARS - String(copy).length - 1)}_${copy}`;
    taken.add(name);
    return name;
  });
}

/** A display name as `^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`. */
function slug(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^a-zA-Z0-9_-]+/g, '_')
    .replace(/^[^a-zA-Z]+|(?<!_)_+$/g, '')
    .toLowerCase();
  return (plain === '' ? 'tool' : plain).slice(0, FUNCTION_NAME_CHARS);
}
