/**
 * Journey: the control plane dies during a call and restarts; the caller notices nothing, and the call's data
 * is complete afterwards.
 */
import { afterAll, beforeAll, expect } from 'vitest';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene } from '#caller/scene.ts';
import { voicedSeconds } from '#caller/voiced.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import { transcribe } from './ear.ts';
import { type Product, startProduct } from './product.ts';
import { demoAgentId, Tenant } from './tenant.ts';

const NEEDED = ['pocketsphinx_continuous'];
const PORTS = { first: 41_150, last: 41_199 };
const RATE_HZ = 8_000;
/**
 * During the greeting, so that the question is asked while the control plane is down or has just restarted.
 */
const KILL_AFTER_MS = 6_000;
const ANSWER = 'we are open every day from noon until ten in the evening';
const scene = prepareScene({
  name: 'one question',
  steps: [
    { do: 'listen' },
    { do: 'say', text: 'What are your opening hours?' },
    { do: 'listen', quiet_ms: 1_500 },
  ],
});

let product: Product;
let tenant: Tenant;

describeNeeds(NEEDED)('a call whose control plane is killed', () => {
  beforeAll(async () => {
    [product, tenant] = await Promise.all([startProduct(), Tenant.open()]);
    await tenant.subscribe(product, await demoAgentId(product));
  });
  afterAll(async () => {
    await product?.close();
    await tenant?.close();
  });

  itNeeds(NEEDED)('continues, is answered, and has a complete transcript', { timeout: 90_000 }, async () => {
    const calling = new PhoneCaller({ ports: PORTS }).call({ target: product.sipAddress(), scene });
    await product.until('the call is active', async () => (await sessionsOf('active')).length === 1);
    const workers = product.parts('worker').map(({ pid }) => pid);
    await new Promise((resolve) => setTimeout(resolve, KILL_AFTER_MS));
    expect(product.kill('control-plane')).toBe(1);

    const record = await calling;
    expect(record.outcome).toEqual({ type: 'answered', endedBy: 'caller' });
    expect(product.parts('worker').map(({ pid }) => pid)).toEqual(workers);
    expect(voicedSeconds(record.heard, RATE_HZ)).toBeGreaterThan(9);
    expect(
      await transcribe(record.heard, [
        ANSWER,
        'you can ask for our opening hours',
        'would you like to book a table',
      ]),
    ).toContain(ANSWER);

    await product.until('the session is completed', async () => (await sessionsOf('completed')).length === 1);
    const [{ session_id: sessionId }] = await sessionsOf('completed');
    const session = await product.ask('GET', `/v1/agent/sessions/${sessionId}`);
    expect(session).toMatchObject({ end_reason: 'user_hangup', sip_call_id: record.callId });
    const said = session.items.map(
      (item: { role: string; content: string }) => `${item.role}: ${item.content}`,
    );
    expect(said).toEqual([
      expect.stringMatching(/^assistant: Hello, this is the Parley demo/),
      'user: what are your opening hours',
      expect.stringMatching(/^assistant: We are open every day/),
    ]);
    await product.until('the webhooks have arrived', () => tenant.eventsOf(sessionId).length >= 2);
    expect(tenant.eventsOf(sessionId).map(({ event }) => event)).toEqual(['call.ended', 'call.analyzed']);
  });
});

async function sessionsOf(status: string) {
  return (await product.ask('GET', `/v1/agent/sessions?status=${status}`)).sessions;
}
