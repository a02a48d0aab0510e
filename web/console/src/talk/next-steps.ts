/** The three next steps after a first conversation, as commands that work as they are. */

/** One step, in three forms. */
export interface NextStep {
  readonly title: string;
  readonly forms: Readonly<Record<Form, string>>;
}

/** The forms of a step; `JavaScript` runs in Node as a module. */
export const FORMS = ['curl', 'JavaScript', 'Command line'] as const;
export type Form = (typeof FORMS)[number];

/** The agent that was talked with, and the address of its API. */
interface Installation {
  readonly origin: string;
  readonly agentId: string;
}

const GREETING = { prompt: { first_message_mode: 'fixed', first_message: 'Hello, this is my own agent.' } };
const TOOL = {
  name: 'Opening hours',
  description: 'Looks up when the shop is open.',
  method: 'GET',
  url: 'https://example.com/hours',
};
const NUMBER = '+15550100007';

/** The steps for this installation; they take the key from `PARLEY_API_KEY`. */
export function nextSteps({ origin, agentId }: Installation): NextStep[] {
  const agent = `/v1/agent/agents/${agentId}`;
  const number = { provider: 'managed', phone_number: NUMBER, agent_id: agentId };
  // Without `--no`, npx outside of Parley's folder would offer a foreign package of that name.
  const parley = `npx --no parley --url ${origin}`;
  const edit = (what: string) =>
    `${parley} agents export ${agentId} -o agent.yaml\n# ${what} in agent.yaml, then:\n` +
    `${parley} import --publish agent.yaml`;
  const curl = (method: string, path: string, json?: string) =>
    `curl -sS --fail-with-body -X ${method} ${origin}${path} -H "Authorization: Bearer $PARLEY_API_KEY"` +
    (json === undefined ? '' : ` \\\n  -H "Content-Type: application/json" -d '${json}'`);
  const script = (...lines: string[]) =>
    [
      'async function ask(method, path, body = {}) {',
      `  const response = await fetch('${origin}' + path, {`,
      '    method,',
      '    headers: {',
      "      authorization: 'Bearer ' + process.env.PARLEY_API_KEY,",
      "      'content-type': 'application/json',",
      '    },',
      '    body: JSON.stringify(body),',
      '  });',
      '  if (!response.ok) throw new Error(await response.text());',
      '  return response.json();',
      '}',
      '',
      ...lines,
    ].join('\n');
  const publish = {
    curl: curl('POST', `${agent}/publish`),
    script: `await ask('POST', '${agent}/publish');`,
  };
  return [
    {
      title: 'Change what it says',
      forms: {
        curl: `${curl('PATCH', `${agent}/config`, JSON.stringify(GREETING))}\n${publish.curl}`,
        JavaScript: script(
          `await ask('PATCH', '${agent}/config', ${JSON.stringify(GREETING)});`,
          publish.script,
        ),
        'Command line': edit('Change first_message'),
      },
    },
    {
      title: 'Give it a tool (instead of those it has)',
      forms: {
        curl:
          `TOOL=$(${curl('POST', '/v1/agent/tools', JSON.stringify(TOOL))}) &&\n` +
          `TOOL_ID=$(node -p 'JSON.parse(process.argv[1]).tool_id' "$TOOL") &&\n` +
          `${curl('PATCH', `${agent}/config`, `{"tools":{"tool_ids":["'$TOOL_ID'"]}}`)}\n${publish.curl}`,
        JavaScript: script(
          `const { tool_id } = await ask('POST', '/v1/agent/tools', ${JSON.stringify(TOOL)});`,
          `await ask('PATCH', '${agent}/config', { tools: { tool_ids: [tool_id] } });`,
          publish.script,
        ),
        'Command line': edit(`Add to the list of tools: ${JSON.stringify(TOOL)}`),
      },
    },
    {
      title: 'Give it a number',
      forms: {
        curl: curl('POST', '/v1/agent/phone-numbers', JSON.stringify(number)),
        JavaScript: script(`await ask('POST', '/v1/agent/phone-numbers', ${JSON.stringify(number)});`),
        'Command line': `${parley} numbers buy ${NUMBER} --agent ${agentId}`,
      },
    },
  ];
}
