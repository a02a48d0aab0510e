import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EgressGuard } from '#base/egress.ts';
import { acceptBodies } from '#control-plane/platform/http/request-bodies.ts';
import type { ApiServer } from '#control-plane/platform/http/server.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { createCustomModel } from '#runtime/llm/custom.ts';
import { collect } from '#test/collect.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { chatRequest } from '#test/runtime/llm/chat-request.ts';
import { growthInTurns, MOST_GROWTH, repeated } from './growth.ts';
import { HOSTILE_TOKENS, USUAL_CHARS } from './tokens.ts';

const MOST_BYTES = 1_048_576;
const TOKENS = {
  ...HOSTILE_TOKENS,
  lines: '\n',
  'ends of lines': '\r\n',
  'empty events': 'data:\n\n',
  'lines of an event': 'data: x\n',
  letters: 'a',
};

/** Checks the worst of all tokens. */
async function expectLinear(
  tokens: Readonly<Record<string, string>>,
  run: (text: string) => Promise<unknown>,
): Promise<void> {
  for (const [name, token] of Object.entries(tokens))
    expect(
      await growthInTurns({ make: (size) => repeated(token, size), run, longest: USUAL_CHARS }),
      name,
    ).toBeLessThanOrEqual(MOST_GROWTH);
}

describe('a multipart form is read in linear time', () => {
  const app = Fastify();
  beforeAll(async () => {
    acceptBodies(app as unknown as ApiServer, {
      kinds: ['multipart'],
      json: false,
      mostBytes: MOST_BYTES,
      mostFieldBytes: MOST_BYTES,
    });
    app.post('/', async () => 'taken');
    await app.ready();
  });
  afterAll(() => app.close());

  const part = (head: string, text: string) =>
    `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
  const PLACES: Readonly<Record<string, (text: string) => string>> = {
    'a field': (text) => part('name="f"', text),
    'a file': (text) => part('name="f"; filename="a.txt"', text),
    'the name of a field': (text) => part(`name="${text}"`, 'x'),
    'the head of a part': (text) => `--b\r\n${text}\r\n\r\nx\r\n`,
    'what stands before the first part': (text) => text,
    'many parts': (text) => text.replace(/.{1,200}/gs, (value) => part('name="f"', value)),
  };
  const tokens = {
    ...TOKENS,
    'almost ends of parts': '\r\n--',
    'ends of parts': '\r\n--b',
    'heads of parts': 'A: b\r\n',
  };

  it.each(Object.entries(PLACES))('%s', async (_, place) => {
    await expectLinear(tokens, async (text) => {
      const payload = `${place(text)}--b--\r\n`;
      const { statusCode } = await app.inject({
        method: 'POST',
        url: '/',
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
        payload,
      });
      expect(statusCode).toBeLessThan(500);
    });
  });
});

describe('a model’s stream is read in linear time', () => {
  const event = (delta: object) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
  const inEvents = (text: string, chars: number, deltaOf: (part: string) => object) =>
    (text.match(new RegExp(`.{1,${chars}}`, 'gs')) ?? []).map((value) => event(deltaOf(value))).join('');
  const tool = (args: string, name?: string) => ({
    tool_calls: [
      { index: 0, ...(name === undefined ? {} : { id: 'a' }), function: { name, arguments: args } },
    ],
  });
  const PLACES: Readonly<Record<string, (text: string) => string>> = {
    'no event at all': (text) => text,
    'one event': (text) => `data: ${text}\n\n`,
    'long texts': (text) => inEvents(text, 4_000, (content) => ({ content })),
    'short texts': (text) => inEvents(text, 40, (content) => ({ content })),
    reasoning: (text) => inEvents(text, 40, (part) => ({ reasoning_content: part })),
    'arguments of a tool': (text) =>
      event(tool('{"a":"', 'book')) + inEvents(text.slice(0, text.length / 4), 10, (part) => tool(part)),
  };
  const CHUNK_BYTES = 65_536;

  it.each(Object.entries(PLACES))('%s', async (_, place) => {
    await expectLinear(TOKENS, async (text) => {
      const bytes = Buffer.from(place(text));
      const chunks = Array.from({ length: Math.ceil(bytes.length / CHUNK_BYTES) }, (_, index) =>
        bytes.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
      );
      const fetch = async () =>
        new Response(ReadableStream.from(chunks), { headers: { 'content-type': 'text/event-stream' } });
      const model = createCustomModel({
        custom: { base_url: 'https://model.example.com', model: 'mine' } as NonNullable<
          CallPlan['config']['llm']['custom']
        >,
        apiKey: null,
        egress: { fetch } as unknown as EgressGuard,
        clock: new ManualClock(),
      });
      // Invalid answers are refused, which is not checked here.
      await collect(model.stream(chatRequest())).catch(() => undefined);
    });
  });
});
