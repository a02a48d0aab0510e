/**
 * Journey: the product calls third-party phones, each over its own trunk; every dial outcome appears in the
 * session, the wallet and the webhooks.
 */
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect } from 'vitest';
import { runParley } from '#test/command-line.ts';
import { type PhoneManner, type SippPhone, startSippPhone } from '#test/fakes/sipp-phone.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import { type Product, startProduct } from './product.ts';
import { demoAgentId, Tenant } from './tenant.ts';

const NEEDED = ['sipp'];
const CALLED = '+4915112345678';
let product: Product;
let tenant: Tenant;
let agentId: string;
let next = 4930123000;

describeNeeds(NEEDED)('an outbound call', { concurrent: true }, () => {
  beforeAll(async () => {
    [product, tenant] = await Promise.all([startProduct(), Tenant.open()]);
    agentId = await demoAgentId(product);
    await tenant.subscribe(product, agentId);
  });
  afterAll(async () => {
    await product?.close();
    await tenant?.close();
  });

  itNeeds(NEEDED)('sends all three events when the callee hangs up', { timeout: 120_000 }, async () => {
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

  itNeeds(NEEDED)(
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

  itNeeds(NEEDED)(
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
    itNeeds(NEEDED)(
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

  itNeeds(NEEDED)(
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
