/**
 * Journey: third-party phones call the number that the product prints, hear the demo agent, ask a question
 * and hear its answer, also over a rough network, with a colleague, and until they are transferred. The
 * product calls such phones, each over its own trunk; every dial outcome appears in the session, the wallet
 * and the webhooks.
 */
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { voicedSeconds } from '#caller/voiced.ts';
import { runParley } from '#test/command-line.ts';
import { type PhoneManner, type SippPhone, startSippPhone } from '#test/fakes/sipp-phone.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import { linesOf } from './asked-by-phone.ts';
import { callWithBaresip } from './baresip-caller.ts';
import { describeColleague } from './colleague.ts';
import { transcribe } from './ear.ts';
import { expectRecorded, expectWaterfall } from './kept.ts';
import { describePressedKeys } from './pressed-keys.ts';
import { type Product, startProduct } from './product.ts';
import { describeRoughNetwork } from './rough-network.ts';
import { callWithSipp } from './sipp-caller.ts';
import { demoAgentId, greetWith, Tenant } from './tenant.ts';
import { describeTransfer, ONE_CALL_A_MINUTE } from './transfer.ts';
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

const CALLED = '+4915112345678';

const stage = {} as { product: Product };
let product: Product;
let tenant: Tenant;
let agentId: string;
let next = 4930123000;

beforeAll(async () => {
  [product, tenant] = await Promise.all([startProduct({ environment: ONE_CALL_A_MINUTE }), Tenant.open()]);
  stage.product = product;
  await greetWith(product, GREETING);
  agentId = await demoAgentId(product);
  await tenant.subscribe(product, agentId);
});
afterAll(async () => {
  await product?.close();
  await tenant?.close();
});

describeNeeds(NEEDED)('a phone call to the demo agent', () => {
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

describeNeeds(NEEDED)('a colleague in a phone call', () => describeColleague(stage));

describeRoughNetwork(stage);

describeTransfer(stage);

describePressedKeys(stage);

describeNeeds(['sipp'])('an outbound call', { concurrent: true }, () => {
  itNeeds(['sipp'])('sends all three events when the callee hangs up', { timeout: 120_000 }, async () => {
    const { sessionId, phone } = await call({ does: 'hangUp', afterMs: 2_000 });
    await untilReported(sessionId, ['phone_call.dial_finished', 'call.ended', 'call.analyzed']);
    expect(await session(sessionId)).toMatchObject({
      status: 'completed',
      end_reason: 'user_hangup',
      dial_status: 'answered',
      answered_by: 'unknown',
    });
    expect((await session(sessionId)).sip_call_id).not.toBe(null);
    expect((await phone.ended).code).toBe(0);
  });

  itNeeds(['sipp'])(
    'answers a digest challenge, and is ended by the API with a BYE',
    { timeout: 120_000 },
    async () => {
      const { sessionId, phone } = await call({ does: 'answer', digest: 407 });
      await product.until('it is answered', async () => (await session(sessionId)).status === 'active');
      await product.ask('POST', `/v1/agent/sessions/${sessionId}/end`);
      await untilReported(sessionId, ['phone_call.dial_finished', 'call.ended', 'call.analyzed']);
      expect((await phone.ended).code).toBe(0);
    },
  );

  itNeeds(['sipp'])(
    'reports its progress on the command line, where Ctrl-C hangs up',
    { timeout: 120_000 },
    async () => {
      const { number, phone } = await importNumber({ does: 'answer' });
      const { code, out, err } = await runParley(
        ['call', CALLED, '--agent', agentId, '--from', number.phone_number],
        {
          folder: tmpdir(),
          environment: { PARLEY_URL: product.url, PARLEY_API_KEY: product.rootKey },
          interruptAt: 'Agent   ',
        },
      );
      expect([code, err]).toEqual([0, '']);
      const [, sessionId, progress] =
        new RegExp(
          `^Calling \\${CALLED} from \\${number.phone_number} \\(session (\\w+)\\)([\\s\\S]*)$`,
        ).exec(out) ?? [];
      expect(progress).toMatch(/Agent {3}[\s\S]*\nHanging up\n/);
      expect((await phone.ended).code).toBe(0);
      expect(await session(sessionId as string)).toMatchObject({
        status: 'completed',
        dial_status: 'answered',
      });
    },
  );

  for (const [status, dialStatus] of [
    [486, 'busy'],
    [480, 'no_answer'],
    [503, 'failed'],
  ] as const)
    itNeeds(['sipp'])(
      `sends one event with ${dialStatus} when the callee answers ${status}`,
      { timeout: 120_000 },
      async () => {
        const { sessionId, phone } = await call({ does: 'refuse', status });
        const cause = `The call was refused with SIP status ${status}`;
        await expectUnanswered(
          sessionId,
          { end_reason: 'dial_failed', dial_status: dialStatus, dial_error: cause },
          phone,
        );
      },
    );

  itNeeds(['sipp'])(
    'is cancelled at the phone when the API ends it while it rings',
    { timeout: 120_000 },
    async () => {
      const { sessionId, phone } = await call({ does: 'ring' });
      await product.until('it rings', () => product.log.includes(sessionId));
      await new Promise((done) => setTimeout(done, 1_500));
      await product.ask('POST', `/v1/agent/sessions/${sessionId}/end`);
      await expectUnanswered(sessionId, { end_reason: 'cancelled', dial_status: 'no_answer' }, phone);
    },
  );
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
  const said = linesOf(session.items);
  expect(said[0]).toBe(`assistant: ${GREETING}`);
  expect(said[1]).toBe('user: what are your opening hours');
  expect(said[2]).toMatch(/^assistant: We are open every day from noon until ten in the evening\./);
  expectWaterfall(session.turns[0]);
  await expectRecorded(product, sessionId, { agent: 4, user: 1 });
  expect(tenant.eventsOf(sessionId).map(({ event }) => event)).toEqual(['call.ended', 'call.analyzed']);
  expect(tenant.eventsOf(sessionId)[1]?.body.analysis).toMatchObject({ status: 'completed' });
}

/** Imports a number whose trunk leads to this phone. */
async function importNumber(manner: PhoneManner) {
  const phone = await startSippPhone(manner);
  const number = await product.ask('POST', '/v1/agent/phone-numbers', {
    provider: 'sip',
    phone_number: `+${next++}`,
    inbound_allowed_addresses: ['127.0.0.1'],
    termination_uri: phone.address,
    termination_auth_username: 'parley',
    termination_auth_password: 'secret',
  });
  return { number, phone };
}

/** Calls through a number whose trunk leads to this phone. */
async function call(manner: PhoneManner): Promise<{ readonly sessionId: string; readonly phone: SippPhone }> {
  const { number, phone } = await importNumber(manner);
  const body = { agent_id: agentId, phone_number_id: number.phone_number_id, to_number: CALLED };
  const placed = await product.ask('POST', '/v1/agent/phone-calls', body).catch((error: unknown) => {
    phone.giveUp();
    throw error;
  });
  return { sessionId: placed.session_id, phone };
}

function session(sessionId: string) {
  return product.ask('GET', `/v1/agent/sessions/${sessionId}`);
}

async function untilReported(sessionId: string, events: readonly string[]): Promise<void> {
  await product.until('the webhooks have arrived', () => tenant.eventsOf(sessionId).length >= events.length);
  expect(tenant.eventsOf(sessionId).map(({ event }) => event)).toEqual(events);
}

async function expectUnanswered(
  sessionId: string,
  expected: Record<string, unknown>,
  phone: SippPhone,
): Promise<void> {
  await untilReported(sessionId, ['phone_call.dial_finished']);
  const { code, screen } = await phone.ended;
  expect(code, screen).toBe(0);
  await product.until('the session has ended', async () => (await session(sessionId)).status === 'failed');
  expect(await session(sessionId)).toMatchObject({
    ...expected,
    answered_by: null,
    sip_call_id: null,
    duration_seconds: null,
    analysis: null,
  });
  expect(tenant.eventsOf(sessionId).map(({ event }) => event)).toEqual(['phone_call.dial_finished']);
}
