/**
 * Journey: a coding assistant, with the official client, makes an agent that answers a phone: from a
 * template, with a tool server, tested, published and at a number. It reads why a turn was slow, mends that,
 * and the next call is faster.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene } from '#caller/scene.ts';
import type { EverythingServer } from '#test/fakes/everything-server.ts';
import { itNeeds } from '#test/needs.ts';
import { transcribe } from './ear.ts';
import type { Product } from './product.ts';

/** Ports of the caller. */
const PORTS = { first: 30_280, last: 30_299 };
const FROM = '+15557650656';
/** A setting under which every answer is slow, and one under which it is not. */
const SLOW_WAIT_MS = 2_000;
const MENDED_WAIT_MS = 400;

const SPOKEN = 'the sum of two and three is five';
/** Sentences for the ear, which hears one of them in each utterance. */
const CANDIDATES = [
  'hello this is bella vista how can i help you',
  SPOKEN,
  'the sum of two and three is nine',
  'the sum of seven and three is ten',
  'the tool cannot be reached at the moment',
];

/** The parts of the assistant's work. */
export interface AssistantStage {
  product: Product;
  everything: EverythingServer;
  /** The callers' words, the name of the tool that answers them, and its answer. */
  asked: string;
  tool: string;
  answer: string;
}

/** A turn’s latency as a session has it. */
interface Turn {
  readonly total_ms: number;
  readonly explanation: string;
}

/** Describes it on a shared product. */
export function describeAssistant(stage: AssistantStage): void {
  describe('an assistant with the official client', { timeout: 240_000 }, () => {
    let client: Client;
    const made = { agentId: '', serverId: '', number: '', slow: 0 };
    /** The words that the last caller heard. */
    let heard: Int16Array;

    beforeAll(async () => {
      client = new Client({ name: 'assistant', version: '1' });
      const headers = { authorization: `Bearer ${stage.product.rootKey}` };
      const transport = new StreamableHTTPClientTransport(new URL(`${stage.product.url}/mcp`), {
        requestInit: { headers },
      });
      // Its own type lacks `undefined` where exact optional properties want it.
      await client.connect(transport as never);
    });
    afterAll(() => client?.close());

    /** Calls a tool; returns its answer. Throws with the answer if the tool refuses. */
    // biome-ignore lint/suspicious/noExplicitAny: answers of the API have any shape
    const call = async (name: string, input: Record<string, unknown> = {}): Promise<any> => {
      const { content, isError } = await client.callTool({ name, arguments: input });
      const [first] = content as readonly { readonly text: string }[];
      const text = first?.text ?? '';
      if (isError) throw new Error(`${name}: ${text}`);
      return /^[{[]/.test(text) ? JSON.parse(text) : text;
    };

    /** Phones the agent and asks; returns the session’s only measured turn. */
    const phone = async (): Promise<Turn> => {
      const scene = prepareScene({
        name: 'question',
        steps: [{ do: 'listen' }, { do: 'say', text: stage.asked }, { do: 'listen', quiet_ms: 1_500 }],
      });
      const before = (await call('list_sessions', { caller_number: FROM })).sessions.length;
      const target = stage.product.sipAddress(made.number);
      const record = await new PhoneCaller({ ports: PORTS, from: FROM }).call({ target, scene });
      expect(record.outcome).toEqual({ type: 'answered', endedBy: 'caller' });
      heard = record.heard;
      const sessions = async () => (await call('list_sessions', { caller_number: FROM })).sessions;
      await stage.product.until('the call is over', async () => {
        const [newest, ...others] = await sessions();
        return others.length === before && newest.status === 'completed';
      });
      const [{ session_id }] = await sessions();
      const session = await call('get_session_with_its_timeline', { session_id });
      const tools = session.items.filter(({ type }: { type: string }) => type === 'tool_result');
      const { tool: tool_name, answer: output } = stage;
      expect(tools).toMatchObject([{ tool_name, tool_source: 'mcp', status: 'completed', output }]);
      expect(session.turns).toHaveLength(1);
      return session.turns[0];
    };

    it('creates an agent and its tests from a template', async () => {
      const { contents } = await client.readResource({ uri: 'parley://templates/front-desk' });
      const template = JSON.parse((contents[0] as { readonly text: string }).text);
      const { agent_id } = await call('create_agent', { body: template.create_agent });
      for (const test of template.create_agent_test)
        await call('create_agent_test', { body: { ...test, agent_ids: [agent_id] } });
      made.agentId = agent_id;
      expect((await call('list_agent_tests', { agent_id })).tests).toHaveLength(2);
    });

    it('adds a tool server, after the person has agreed that it is contacted', async () => {
      const server = { name: 'Everything', url: stage.everything.url, allowed_tools: ['get-sum'] };
      const { tool_server_id } = await call('create_tool_server', { body: server });
      await expect(call('read_tool_server_tools', { tool_server_id })).rejects.toThrow('confirm: true');
      const { tools } = await call('read_tool_server_tools', { tool_server_id, confirm: true });
      expect(tools.map(({ name }: { name: string }) => name)).toContain('get-sum');
      made.serverId = tool_server_id;
      await call('change_agent_draft_configuration', {
        agent_id: made.agentId,
        body: {
          tool_servers: { tool_server_ids: [tool_server_id] },
          llm: { model: 'openai/test-model' },
          conversation: { response_wait_ms: SLOW_WAIT_MS },
        },
      });
    });

    it('tests the draft: the model chooses the tool of the server', async () => {
      const { agentId: agent_id, serverId } = made;
      const { test_id } = await call('create_agent_test', {
        body: {
          name: 'Adds',
          test_type: 'tool',
          agent_ids: [agent_id],
          conversation: [{ role: 'user', text: stage.asked }],
          referenced_tool: { id: `${serverId}/get-sum`, type: 'mcp' },
        },
      });
      const { batch_id } = await call('run_tests_against_agent_draft', {
        agent_id,
        body: { test_ids: [test_id] },
      });
      const runs = async () => (await call('list_test_runs', { batch_id })).test_runs;
      await stage.product.until('the test is over', async () =>
        (await runs()).every(({ status }: { status: string }) => !['queued', 'running'].includes(status)),
      );
      expect(await runs()).toMatchObject([{ test_id, status: 'passed' }]);
    });

    it('publishes it and buys it a test number', async () => {
      const { agentId: agent_id } = made;
      await call('publish_agent_draft', { agent_id, confirm: true });
      const { available_phone_numbers: offered } = await call('search_for_phone_numbers_to_buy');
      const [{ phone_number }] = offered;
      const body = { provider: 'managed', phone_number, agent_id };
      await expect(call('buy_or_import_phone_number', { body })).rejects.toThrow('confirm: true');
      await call('buy_or_import_phone_number', { body, confirm: true });
      made.number = phone_number;
    });

    it('phones it, and reads why a turn was slow: the agent waited for the caller to go on', async () => {
      const { messages } = await client.getPrompt({
        name: 'why_was_this_call_slow',
        arguments: { session_id: 'the last one' },
      });
      expect(JSON.stringify(messages)).toContain('get_session_with_its_timeline');
      const turn = await phone();
      expect(turn.explanation).toMatch(/^waited .* for the caller to go on/);
      made.slow = turn.total_ms;
    });

    it('mends it with the setting that the documentation names, and the next call is faster', async () => {
      const { contents } = await client.readResource({ uri: 'parley://docs/turn-taking.md' });
      expect(JSON.stringify(contents)).toContain('response_wait_ms');
      const { agentId: agent_id } = made;
      const body = { conversation: { response_wait_ms: MENDED_WAIT_MS } };
      await call('change_agent_draft_configuration', { agent_id, body });
      await call('publish_agent_draft', { agent_id, confirm: true });
      expect((await phone()).total_ms).toBeLessThan(made.slow);
    });

    itNeeds(['pocketsphinx_continuous'])('and its caller has heard what the tool answered', async () => {
      expect(await transcribe(heard, CANDIDATES)).toContain(SPOKEN);
    });
  });
}
