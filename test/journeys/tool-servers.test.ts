/**
 * Journey: an agent uses the tools of a server that was written by others. Its visitors hear what the tools
 * answer; the session and the console show the tools. Then a person attaches a server at the console, and a
 * coding assistant makes such an agent, whose callers hear the tools on the phone.
 */
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type EverythingServer, startEverythingServer } from '#test/fakes/everything-server.ts';
import {
  type ChatBody,
  type ChatScript,
  callTool,
  type OpenaiServer,
  say,
  startOpenaiServer,
} from '#test/fakes/openai-server.ts';
import { itNeeds } from '#test/needs.ts';
import { type AssistantStage, describeAssistant } from './assistant.ts';
import { ConsolePage } from './console-page.ts';
import { type Product, startProduct } from './product.ts';
import { launchBrowser, TalkPage } from './talk-page.ts';
import { describeToolServerPages } from './tool-server-pages.ts';
import { AUDIBLE, MANY_VISITORS, settled } from './web-conversation.ts';

const GREETING = 'Hello, this is the calculator.';
const ASKED = 'What is two and three?';
const SUM = 'everything_get-sum';
const LONG = 'everything_trigger-long-running-operation';
/** As the reference server words it. */
const SUM_ANSWER = 'The sum of 2 and 3 is 5.';
const LONG_ANSWER = 'Long running operation completed. Duration: 4 seconds, Steps: 8.';
/** Longer than the server’s timeout in the agent: only its progress keeps it alive. */
const LONG_INPUT = { duration: 4, steps: 8 };
const TIMEOUT_SECONDS = 3;

let everything: EverythingServer;
let vendor: OpenaiServer;
let product: Product;
let agentId: string;
const stage = { asked: ASKED, tool: SUM, answer: SUM_ANSWER } as AssistantStage;

beforeAll(async () => {
  everything = await startEverythingServer();
  vendor = await startOpenaiServer({ transcripts: [ASKED], chat: answer });
  product = await startProduct({
    environment: {
      ...MANY_VISITORS,
      ASR_PROVIDER: 'openai',
      OPENAI_BASE_URL: vendor.url,
      LLM_DEFAULT: 'openai/test-model',
    },
  });
  Object.assign(stage, { product, everything });
  agentId = await agentWith(everything.url);
});
afterAll(async () => {
  await product?.close();
  await vendor?.close();
  await everything?.close();
});

/** A model that calls the tool it was asked for, and says each result word by word. */
function answer({ messages, tools }: ChatBody): ChatScript {
  if (!Array.isArray(tools) || tools.length === 0) return say('OK.');
  const last = messages.at(-1);
  const content = String(last?.content);
  if (last?.role === 'tool') return say(content.startsWith('Running') ? 'It has begun.' : content);
  const later = /^\[The background tool \S+ has answered: (.*)\]$/s.exec(content)?.[1];
  if (later !== undefined) return say(later);
  return content.includes('long') ? callTool(LONG, LONG_INPUT) : callTool(SUM, { a: 2, b: 3 });
}

/** Creates a published agent for visitors, with two tools of the server; returns its id. */
async function agentWith(url: string): Promise<string> {
  const { tool_server_id } = await product.ask('POST', '/v1/agent/tool-servers', {
    name: 'Everything',
    url,
    allowed_tools: ['get-sum', 'trigger-long-running-operation'],
    background_tools: ['trigger-long-running-operation'],
    timeout_seconds: TIMEOUT_SECONDS,
  });
  await product.ask('POST', `/v1/agent/tool-servers/${tool_server_id}/refresh`);
  const { agent_id } = await product.ask('POST', '/v1/agent/agents', {
    name: 'Calculator',
    config: {
      prompt: { system_prompt: 'You add.', first_message_mode: 'fixed', first_message: GREETING },
      llm: { model: 'openai/test-model' },
      tool_servers: { tool_server_ids: [tool_server_id] },
    },
  });
  await product.ask('POST', `/v1/agent/agents/${agent_id}/publish`);
  await product.ask('PATCH', `/v1/agent/agents/${agent_id}`, {
    public_enabled: true,
    allowed_origins: [product.url],
  });
  return agent_id;
}

/** The tools of a session’s timeline, in order. */
function toolsIn(session: { readonly items: readonly Record<string, unknown>[] }) {
  return session.items
    .filter(({ type }) => String(type).startsWith('tool_'))
    .map(({ type, tool_name, tool_source, status, output }) => ({
      type,
      tool_name,
      tool_source,
      ...(status === undefined ? {} : { status, output }),
    }));
}

const SUM_IN_TIMELINE = [
  { type: 'tool_call', tool_name: SUM, tool_source: 'mcp' },
  { type: 'tool_result', tool_name: SUM, tool_source: 'mcp', status: 'completed', output: SUM_ANSWER },
];

describe('the tools of a server written by others', () => {
  itNeeds(['chromium'])(
    'answer in the browser, at once or later as an event, and the console shows them',
    { timeout: 240_000 },
    async () => {
      const browser = await launchBrowser();
      try {
        const visitor = await TalkPage.open(browser, product);
        await visitor.page.route('**/demo.json', async (route) => {
          const response = await route.fetch();
          await route.fulfill({ response, json: { ...(await response.json()), agent_id: agentId } });
        });
        await visitor.page.reload();
        await visitor.press('Type instead');
        await visitor.line('Agent', GREETING);
        await visitor.type(ASKED);
        await visitor.line('Agent', SUM_ANSWER);
        expect(await visitor.receivedEnergy()).toBeGreaterThan(AUDIBLE);
        await visitor.type('Now the one that takes long.');
        await visitor.line('Agent', 'It has begun.');
        await visitor.line('Agent', LONG_ANSWER);
        await visitor.press('Hang up');
        const session = await settled(product, await visitor.sessionId());
        expect(toolsIn(session)).toEqual([
          ...SUM_IN_TIMELINE,
          { type: 'tool_call', tool_name: LONG, tool_source: 'background' },
          {
            type: 'tool_result',
            tool_name: LONG,
            tool_source: 'background',
            status: 'completed',
            output: LONG_ANSWER,
          },
        ]);
        const person = await ConsolePage.open(browser, product, { key: product.rootKey });
        await person.go(`/calls/${session.session_id}`);
        const transcript = person.page.getByRole('list', { name: 'Transcript' });
        for (const text of [SUM, SUM_ANSWER, LONG, LONG_ANSWER])
          await transcript.getByText(text).first().waitFor();
      } finally {
        await browser.close();
      }
    },
  );
});

describeToolServerPages(stage);
describeAssistant(stage);
