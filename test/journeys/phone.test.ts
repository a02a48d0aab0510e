/**
 * Journey: third-party phones call the number that the product prints, hear the demo agent, ask a question
 * and hear its answer.
 */
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { voicedSeconds } from '#caller/voiced.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import { callWithBaresip } from './baresip-caller.ts';
import { transcribe } from './ear.ts';
import { expectRecorded, expectWaterfall } from './kept.ts';
import { type Product, startProduct } from './product.ts';
import { callWithSipp } from './sipp-caller.ts';
import { demoAgentId, greetWith, Tenant } from './tenant.ts';
import { GREETING } from './web-conversation.ts';

const NEEDED = ['pocketsphinx_continuous'];
/** Leaves time for the greeting and the answer when two recognisers share a busy machine. */
const MICROPHONE = [5, 'What are your opening hours?', 18] as const;
const ANSWER = 'we are open every day from noon until ten in the evening';
const CANDIDATES = [
  ANSWER,
  'would you like to book a table',
  'thank you for calling goodbye',
  'gladly for how many people',
  'you are welcome is there anything else',
  'hello how can i help you',
];

let product: Product;
let tenant: Tenant;

describeNeeds(NEEDED)('a phone call to the demo agent', () => {
  beforeAll(async () => {
    [product, tenant] = await Promise.all([startProduct(), Tenant.open()]);
    await greetWith(product, GREETING);
    await tenant.subscribe(product, await demoAgentId(product));
  });
  afterAll(async () => {
    await product?.close();
    await tenant?.close();
  });

  describe('placed by several phones at once', { concurrent: true }, () => {
    itNeeds([...NEEDED, 'sipp', 'tcpdump'])(
      'is answered when sipp asks a question after the greeting',
      { timeout: 180_000 },
      async () => {
        const from = '+15557650001';
        const { exitStatus, heard } = await callWithSipp(product.sipAddress(), from, MICROPHONE);
        expect(exitStatus).toBe(0);
        await expectAnswered(heard, 8_000);
        await expectSettled(from);
      },
    );

    itNeeds([...NEEDED, 'baresip'])(
      'is answered when baresip asks a question after the greeting',
      { timeout: 180_000 },
      async () => {
        const from = '+15557650002';
        const { samples, rateHz } = await callWithBaresip(product.sipAddress(), from, MICROPHONE);
        expect(rateHz).toBe(8_000);
        await expectAnswered(samples, rateHz);
        await expectSettled(from);
      },
    );
  });
});

/** The greeting is heard before the question, the answer after it. */
async function expectAnswered(heard: Int16Array, rateHz: number): Promise<void> {
  const questionAt = MICROPHONE[0] * rateHz;
  expect(voicedSeconds(heard.subarray(0, questionAt), rateHz)).toBeGreaterThan(1);
  expect(await transcribe(heard.subarray(questionAt), CANDIDATES)).toContain(ANSWER);
}

/** The caller's session is complete, and the tenant was notified. */
async function expectSettled(callerNumber: string): Promise<void> {
  const find = async () => {
    const { sessions } = await product.ask('GET', '/v1/agent/sessions?status=completed');
    return sessions.find((item: { caller_number: string }) => item.caller_number === callerNumber);
  };
  await product.until('the session is completed', async () => (await find()) !== undefined);
  const sessionId: string = (await find()).session_id;
  await product.until('the webhooks have arrived', () => tenant.eventsOf(sessionId).length >= 2);

  const session = await product.ask('GET', `/v1/agent/sessions/${sessionId}`);
  expect(session).toMatchObject({
    status: 'completed',
    end_reason: 'user_hangup',
    source: 'phone',
    direction: 'inbound',
    dialed_number: product.number,
    media_quality: { jitter_ms: expect.any(Number), mos: expect.any(Number) },
  });
  // Most of 20 s at 50 packets a second.
  expect(session.media_quality.packets_received).toBeGreaterThan(500);
  expect(session.media_quality.packets_sent).toBeGreaterThan(500);
  const said = session.items.map(
    (item: { role: string; content: string }) => `${item.role}: ${item.content}`,
  );
  expect(said[0]).toBe(`assistant: ${GREETING}`);
  expect(said[1]).toBe('user: what are your opening hours');
  expect(said[2]).toMatch(/^assistant: We are open every day from noon until ten in the evening\./);
  expectWaterfall(session.turns[0]);
  await expectRecorded(product, sessionId, { agent: 4, user: 1 });
  expect(tenant.eventsOf(sessionId).map(({ event }) => event)).toEqual(['call.ended', 'call.analyzed']);
  expect(tenant.eventsOf(sessionId)[1]?.body.analysis).toMatchObject({ status: 'completed' });
}
