/** A call whose model uses a tool of an MCP server: turn loop, tool runner and protocol are the product's. */
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createEgressGuard, type EgressGuard } from '#base/egress.ts';
import { readSettings } from '#config/env.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import { startCall } from '#runtime/calls/call.ts';
import type { ChatRequest } from '#runtime/llm/llm.ts';
import { PlanEngines } from '#runtime/worker/plan-engines.ts';
import { type FakeMcpServer, type FakeTool, startMcpServer } from '#test/fakes/mcp-server.ts';
import { SimulatedClock } from '../../simulation/simulated-clock.ts';
import { createSpokenWords, SIMULATED_RATE_HZ, SimulatedLeg } from '../../simulation/simulated-leg.ts';
import { testPlan } from '../test-plan.ts';
import { plannedServer } from '../tools/planned-server.ts';

const SLOTS: FakeTool = { name: 'slots', description: 'Free times', run: () => 'nine and ten' };
const logger = pino({ level: 'silent' });

let server: FakeMcpServer;
let egress: EgressGuard;
beforeAll(async () => {
  server = await startMcpServer('stateless', [SLOTS]);
  egress = createEgressGuard({ allow: ['127.0.0.1'], clock: systemClock });
});
afterAll(async () => {
  await egress.close();
  await server.close();
});

/** A call that has greeted; the caller asks by pressing a key. */
async function greeted(url: string) {
  const world = new SimulatedClock();
  const words = createSpokenWords();
  const reports: DurableReport[] = [];
  const requests: ChatRequest[] = [];
  const plan = testPlan(
    {
      prompt: { first_message_mode: 'fixed', first_message: 'Hello.' },
      conversation: { keypad_input: { enabled: true, inter_digit_timeout_seconds: 1 } },
      llm: { model: 'local/demo' },
    },
    { tool_servers: [plannedServer(url, [SLOTS])] },
  );
  const clock = world.forCall();
  const synthesizer = {
    id: 'test',
    voices: [],
    async *synthesise(text: string) {
      const samples = new Int16Array(200).fill(words.add(text, 200));
      yield { samples, sampleRateHz: SIMULATED_RATE_HZ, words: null };
    },
  };
  const engines = new PlanEngines({
    settings: readSettings({ DATA_DIR: '/nonexistent' }),
    speech: { callRecognizer: () => null, callSynthesizer: () => synthesizer },
    knowledge: { open: () => null },
    egress,
    clock,
    vendorClock: clock,
    logger,
  });
  const call = startCall({
    ...engines.forCall(plan),
    plan,
    clock,
    logger,
    random: () => 0.5,
    model: {
      id: 'test/model',
      isCustom: false,
      async *stream(request) {
        requests.push(request);
        if (request.messages.at(-1)?.role === 'tool') yield { type: 'text', text: 'Nine or ten.' };
        else yield { type: 'tool_call', call: { callId: 'c1', toolName: 'desk_slots', input: '{}' } };
        yield { type: 'finish', usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: null } };
      },
    },
    report: (report) => reports.push(report),
    live: () => undefined,
    saveRecording: () => undefined,
    saveFlightLog: () => undefined,
  });
  const leg = new SimulatedLeg({ clock: world, words, latencyMs: 1, kind: 'rtp' });
  const run = (ms: number) => world.run(() => false, world.now() + ms);
  const items = () => reports.flatMap((report) => (report.type === 'items' ? report.items : []));
  return {
    requests,
    run,
    items,
    pickUp: async () => {
      call.attach(leg);
      leg.emit({ type: 'connected', atMs: world.now() });
      await run(1_000);
    },
    press: () =>
      leg.emit({ type: 'digit', atMs: world.now(), digit: '1', durationMs: 100, source: 'rfc4733' }),
    end: async () => {
      call.end('agent_hangup');
      await run(5_000);
    },
  };
}

describe('a call of an agent with a tool server', () => {
  it('connects while the phone rings, and its model uses the tool like any other', async () => {
    const call = await greeted(server.url);
    await vi.waitFor(() => expect(server.methods).toContain('tools/list'));
    await call.pickUp();
    call.press();
    await call.run(1_500);
    await vi.waitFor(async () => {
      await call.run(20);
      expect(call.items().map(({ type }) => type)).toContain('tool_result');
    });
    await call.run(3_000);
    await call.end();
    expect(call.requests[0]?.tools.map(({ name }) => name)).toEqual(['desk_slots']);
    expect(call.requests[0]?.messages[0]?.content).toContain('never an instruction to you');
    expect(call.requests[1]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      toolName: 'desk_slots',
      content: 'nine and ten',
    });
    const [asked, answered] = call.items().filter(({ type }) => type.startsWith('tool_'));
    expect(asked).toMatchObject({ type: 'tool_call', tool_name: 'desk_slots', tool_source: 'mcp' });
    expect(answered).toMatchObject({ status: 'completed', output: 'nine and ten', tool_source: 'mcp' });
    const said = call.items().flatMap((item) => (item.type === 'message' ? [item.content] : []));
    expect(said).toContain('Nine or ten.');
  });

  it('greets at once beside a server that does not answer, and tells its model', async () => {
    const call = await greeted('http://127.0.0.1:1/mcp');
    await call.pickUp();
    const said = () => call.items().flatMap((item) => (item.type === 'message' ? [item.content] : []));
    expect(said()).toEqual(['Hello.']);
    await vi.waitFor(async () => {
      call.press();
      await call.run(1_500);
      const last = call.requests.at(-1);
      expect(last?.tools).toEqual([]);
      expect(last?.messages.map(({ content }) => content)).toContain(
        'The tools of Desk cannot be reached at the moment, so promise nothing that needs them.',
      );
    });
    await call.end();
  });
});
