/**
 * Journey: a tenant tests an agent before publishing it. A language model speaks, calls a tool, plays the
 * caller and judges, over the real protocol through a real worker.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type ChatBody, type ChatScript, callTool, say } from '#test/fakes/openai-server.ts';
import { openWebhookReceiver, type WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import type { VendorStage } from './vendor-stage.ts';

let stage: VendorStage;
let receiver: WebhookReceiver;
let agentId: string;
let toolId: string;

/** Plays the agent, the caller and the judge. */
function answer({ messages }: ChatBody): ChatScript {
  const text = messages.map((message) => String(message.content)).join('\n');
  if (text.includes('You judge a test'))
    return say(
      JSON.stringify({
        result: 'success',
        reasoning: 'Yes.',
        conditions: [{ name: 'booked', result: 'success' }],
        summary: 'Booked.',
      }),
    );
  if (text.includes('You play a person'))
    return say(text.includes('It is booked') ? 'Thanks. [HANG UP]' : 'A table for Friday, please.');
  return text.includes('a free table') ? say('It is booked.') : callTool('book_table', { day: 'Friday' });
}

async function setUp(): Promise<void> {
  stage.answer = answer;
  receiver = await openWebhookReceiver();
  receiver.answer = () => ({ status: 200, body: 'a free table' });
  const tool = {
    name: 'Book table',
    url: `${receiver.url}/book`,
    body_template: '{"day":"{{day}}"}',
    arguments: [{ name: 'day' }],
  };
  toolId = (await stage.product.ask('POST', '/v1/agent/tools', tool)).tool_id;
  const config = {
    tools: { tool_ids: [toolId] },
    prompt: { first_message_mode: 'off' },
    llm: { model: 'openai/test-model' },
  };
  agentId = (await stage.product.ask('POST', '/v1/agent/agents', { name: 'Tested', config })).agent_id;
}

const create = async (test: object): Promise<string> =>
  (await stage.product.ask('POST', '/v1/agent/tests', { agent_ids: [agentId], ...test })).test_id;
const conversation = [{ role: 'user', text: 'A table for Friday, please.' }];

/** Runs these tests and waits for the end; returns the batch and its runs. */
async function run(testIds: string[], meanwhile: () => Promise<void> = async () => undefined) {
  const at = `/v1/agent/agents/${agentId}`;
  const { batch_id } = await stage.product.ask('POST', `${at}/tests/run`, { test_ids: testIds });
  await meanwhile();
  let batch = { status: 'running', passed: 0, pass_rate: 0 };
  const isCompleted = async () => {
    batch = await stage.product.ask('GET', `${at}/test-batches/${batch_id}`);
    return batch.status === 'completed';
  };
  await stage.product.until('the batch is completed', isCompleted);
  return {
    batch,
    runs: (await stage.product.ask('GET', `/v1/agent/test-runs?batch_id=${batch_id}`)).test_runs,
  };
}

/** Describes them on a shared product. */
export function describeAgentTests(on: VendorStage): void {
  describe('agent tests', () => {
    beforeAll(() => {
      stage = on;
      return setUp();
    });
    afterAll(() => receiver?.close());

    it('run on a worker, on the draft, with a mock and with the real tool, whatever their kind', {
      timeout: 60_000,
    }, async () => {
      const simulation = {
        scenario: 'Wants a table on Friday',
        success_conditions: [{ name: 'booked', description: 'A table is booked' }],
        assertions: {
          tool_calls: [{ tool: toolId, params: { day: { value: 'Friday' } } }],
          ended_by: 'user',
        },
      };
      const real = { ...simulation, tool_mocks: { real_tools: [toolId] } };
      const mocked = {
        ...simulation,
        tool_mocks: { tools: [{ tool: 'book_table', result: 'a free table' }] },
      };
      const { batch, runs } = await run([
        await create({
          name: 'tool',
          test_type: 'tool',
          conversation,
          referenced_tool: { id: toolId, type: 'webhook' },
          tool_parameters: [{ name: 'day', value: 'Friday' }],
        }),
        await create({ name: 'mocked', test_type: 'simulation', simulation: mocked }),
        await create({ name: 'real', test_type: 'simulation', simulation: real }),
      ]);
      expect([batch, runs.map((each: { error: string | null }) => each.error)]).toMatchObject([
        { passed: 3, pass_rate: 1 },
        [null, null, null],
      ]);
      // Only the test configured for it reaches the real tool.
      expect(receiver.received.map(({ body }) => body)).toEqual([{ day: 'Friday' }]);
    });

    it('run again when their worker is killed', { timeout: 60_000 }, async () => {
      const content = 'A table for Saturday, please.';
      const test = await create({
        name: 'lost',
        test_type: 'tool',
        conversation: [{ role: 'user', text: content }],
        referenced_tool: { id: toolId, type: 'webhook' },
      });
      const isAsked = () => stage.vendor.requests.some(({ body }) => body.includes(content));
      stage.vendor.fault = { halfOpen: 'headers' };
      onTestFinished(() => {
        stage.vendor.fault = null;
      });
      const { batch } = await run([test], async () => {
        await stage.product.until('the model is asked', isAsked);
        stage.vendor.fault = null;
        stage.product.kill('worker');
      });
      expect(batch.passed).toBe(1);
    });

    it('report that local/demo cannot judge, and give no verdict', { timeout: 60_000 }, async () => {
      await stage.product.ask('PATCH', `/v1/agent/agents/${agentId}/config`, {
        llm: { model: 'local/demo' },
      });
      const { batch, runs } = await run([
        await create({ name: 'demo', test_type: 'next_reply', conversation, expectation: 'Polite' }),
      ]);
      expect(batch).toMatchObject({ passed: 0, errors: 1, pass_rate: null });
      expect(runs[0]).toMatchObject({
        status: 'error',
        error: expect.stringContaining('local/demo cannot judge'),
      });
    });
  });
}
