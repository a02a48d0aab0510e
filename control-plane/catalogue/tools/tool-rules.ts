/** Validation of a tool beyond its schema. */
import { type EgressGuard, EgressRefused } from '#base/egress.ts';
import { LIMITS } from '#config/limits.ts';
import { placeholderProblem } from '#protocol/placeholders.ts';
import { InvalidRequest, invalidField } from '../../platform/http/problems.ts';
import type { ToolDefinition } from '../../platform/store/models/tool-model.ts';

/** Throws `InvalidRequest` with all problems of a tool to be saved; expects decrypted header values. */
export function checkTool(egress: EgressGuard, tool: ToolDefinition): void {
  const problems = [...kindProblems(egress, tool), ...placeholderProblems(tool)];
  if (problems.length > 0)
    throw new InvalidRequest(problems.flatMap(({ loc, text }) => invalidField(loc, text).entries));
}

interface Problem {
  readonly loc: (string | number)[];
  readonly text: string;
}

function kindProblems(egress: EgressGuard, tool: ToolDefinition): Problem[] {
  const problems: Problem[] = [];
  if (tool.tool_type === 'webhook' && tool.url === '')
    problems.push({ loc: ['url'], text: 'is required for webhook tools' });
  const unreachable = tool.url === '' ? null : urlProblem(egress, tool.url);
  if (unreachable !== null) problems.push({ loc: ['url'], text: unreachable });
  if (tool.tool_type === 'client' && !/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/.test(tool.name))
    problems.push({
      loc: ['name'],
      text: 'the name of a client tool must match ^[a-zA-Z][a-zA-Z0-9_-]{0,63}$',
    });
  if (tool.tool_type === 'client' && tool.execution_mode !== 'blocking')
    problems.push({ loc: ['execution_mode'], text: 'is for webhook tools only' });
  if (tool.execution_mode !== 'background' && tool.timeout_seconds > LIMITS.toolTimeoutSeconds)
    problems.push({
      loc: ['timeout_seconds'],
      text: `more than ${LIMITS.toolTimeoutSeconds} is for background tools only`,
    });
  for (const [index, header] of tool.headers.entries()) {
    if (header.kind !== 'custom' && header.value === '')
      problems.push({ loc: ['headers', index, 'value'], text: 'a credential needs its value' });
  }
  return problems;
}

function placeholderProblems(tool: ToolDefinition): Problem[] {
  const texts: [Problem['loc'], string][] = [
    [['url'], tool.url],
    [['body_template'], tool.body_template],
    ...tool.headers.map((header, index): [Problem['loc'], string] => [
      ['headers', index, 'value'],
      header.value,
    ]),
  ];
  return texts.flatMap(([loc, text]) => {
    const problem = placeholderProblem(text);
    return problem === null ? [] : [{ loc, text: problem }];
  });
}

/**
 * Checks a URL as text: scheme, credentials, local and private hosts. Placeholders may stand for any valid
 * host, port or path; resolved addresses are checked at every call.
 */
function urlProblem(egress: EgressGuard, url: string): string | null {
  if (url.startsWith('{{')) return null;
  const filled = url.replace(/:\{\{[^{}]*\}\}(?=[/?#]|$)/, '').replace(/\{\{[^{}]*\}\}/g, 'x');
  try {
    egress.checkText(filled);
    return null;
  } catch (error) {
    if (error instanceof EgressRefused) return error.message;
    throw error;
  }
}
