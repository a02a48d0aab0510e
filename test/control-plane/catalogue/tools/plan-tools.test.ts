import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { AttachedTool } from '#control-plane/catalogue/agents/config-hash.ts';
import { functionNames, planTools } from '#control-plane/catalogue/tools/plan-tools.ts';
import { createSecretBox } from '#control-plane/platform/secrets/secret-box.ts';

const webhook = (name: string) => ({ name, tool_type: 'webhook' as const });
const client = (name: string) => ({ name, tool_type: 'client' as const });

describe('function names', () => {
  it.each([
    ['Look up order', 'look_up_order'],
    ['  Größe & Maß  ', 'gro_e_ma'],
    ['42 answers', 'answers'],
    ['_transfer_call', 'transfer_call'],
    ['予約', 'tool'],
    ['x'.repeat(120), 'x'.repeat(64)],
  ])('turn %s into %s', (name, functionName) => {
    expect(functionNames([webhook(name)])).toEqual([functionName]);
  });

  it('are made unique by a number; a client tool keeps its name', () => {
    expect(
      functionNames([webhook('Look up'), webhook('look up'), client('look_up'), webhook('Look-up')]),
    ).toEqual(['look_up_2', 'look_up_3', 'look_up', 'look-up']);
    const long = functionNames([webhook('y'.repeat(64)), webhook('y'.repeat(64))]);
    expect(long).toEqual(['y'.repeat(64), `${'y'.repeat(62)}_2`]);
  });
});

describe('the tools of a plan', () => {
  it('carry credential headers in plain text, and no fields a worker does not use', () => {
    const box = createSecretBox(randomBytes(32));
    const tool: AttachedTool = {
      tool_id: 't1',
      name: 'Look up',
      description: 'd',
      tool_type: 'webhook',
      arguments: [{ name: 'order', description: '' }],
      method: 'GET',
      url: 'https://a.example.com',
      content_type: 'application/json',
      body_template: '',
      headers: [
        { name: 'Authorization', kind: 'authorization_basic', value: box.seal('Basic abc') },
        { name: 'X-A', kind: 'custom', value: '{{a}}' },
      ],
      timeout_seconds: 30,
      error_handling: 'hide',
      mock_responses: [{ name: '', status_code: 200, content_type: 'application/json', body: '{}' }],
      expects_response: true,
      execution_mode: 'blocking',
    };
    const [planned] = planTools(box, [tool]);
    expect(planned).toMatchObject({
      function_name: 'look_up',
      headers: [
        { name: 'Authorization', value: 'Basic abc' },
        { name: 'X-A', value: '{{a}}' },
      ],
    });
    expect(planned).not.toHaveProperty('mock_responses');
  });
});
