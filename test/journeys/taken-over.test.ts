/** Journey: a worker dies in mid-sentence; another one takes its calls over, says so, answers what is asked next, and it stays one call with one price. */
import { afterAll, beforeAll, expect } from 'vitest';
import { PhoneCaller } from '#bench/caller/phone-caller.ts';
import { prepareScene } from '#bench/caller/scene.ts';
import { parseMoney, perMinute } from '#config/money.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import { transcribe } from './ear.ts';
import { type Product, startProduct } from './product.ts';
import { demoAgentId, Tenant } from './tenant.ts';

const NEEDED = ['pocketsphinx_continuous'];
const PORTS = { first: 31_500, last: 31_549 };
/** Of the README's table, micro-dollars a minute. */
const PRICE_PHONE = 70_000;
/** Well into the greeting. */
const KILL_AFTER_MS = 3_000;
const ANSWER = 'we are open every day from noon until ten in the evening';

let product: Product;
let tenant: Tenant;

describeNeeds(NEEDED)('a call whose worker is killed', () => {
  beforeAll(async () => {
    [product, tenant] = await Promise.all([startProduct(), Tenant.open()]);
    await tenant.subscribe(product, await demoAgentId(product));
  });
  afterAll(async () => {
    await product?.close();
    await tenant?.close();
  });

  itNeeds(NEEDED)('is taken over in mid-sentence: one session, one price, one story', { timeout: 180_000 }, async () => {
    const scene = prepareScene({
      name: 'a question after the gap',
      steps: [
        { do: 'listen', quiet_ms: 8_000 },
        { do: 'say', text: 'What are your opening hours?' },
        { do: 'listen', quiet_ms: 3_000 },
      ],
    });
    const before = await balance();
    const calling = new PhoneCaller({ ports: PORTS }).call({ target: product.sipAddress(), scene });
    await product.until('the call is active', async () => (await sessionsOf('active')).length === 1);
    await new Promise((resolve) => setTimeout(resolve, KILL_AFTER_MS));
    expect(product.kill('worker')).toBeGreaterThan(0);

    const record = await calling;
    expect(record.outcome).toEqual({ type: 'answered', endedBy: 'caller' });
    expect(await transcribe(record.heard, [ANSWER, 'sorry i lost you for a second', 'you can ask for our opening hours'])).toContain(ANSWER);

    await product.until('the session is completed', async () => (await sessionsOf('completed')).length === 1);
    const [{ session_id: sessionId }] = await sessionsOf('completed');
    const session = await product.ask('GET', `/v1/agent/sessions/${sessionId}`);
    expect(session).toMatchObject({ end_reason: 'user_hangup', sip_call_id: record.callId });
    const said = session.items.map((item: { role: string; content: string }) => `${item.role}: ${item.content}`);
    // The greeting as far as it was heard, and what followed on both workers, in one story.
    expect(said[0]).toMatch(/^assistant: Hello, this is the/);
    expect(said).toContain('assistant: Sorry, I lost you for a second.');
    expect(said.slice(-2)).toEqual(['user: what are your opening hours', expect.stringMatching(/^assistant: We are open every day/)]);
    // One call, charged once, from its first word to its last.
    const spent = before - (await balance());
    expect(spent).toBe(costOf(session.duration_seconds));
    const { tracks } = await product.ask('GET', `/v1/agent/sessions/${sessionId}/recording`);
    // The killed worker takes its last segment of 5 s with it, the gap is up to 3 s, and the length is rounded up to a second.
    for (const { duration_ms } of tracks) expect(duration_ms).toBeGreaterThan((session.duration_seconds - 9) * 1_000);
    await product.until('the tenant was told', () => tenant.eventsOf(sessionId).length >= 2);
    expect(tenant.eventsOf(sessionId).map(({ event }) => event)).toEqual(['call.ended', 'call.analyzed']);
  });
});

/** Micro-dollars. */
async function balance(): Promise<number> {
  return parseMoney((await product.ask('GET', '/wallet/self/api-credit')).credit) ?? 0;
}

/** A phone call's price: the first minute is the least that is held, and the rest is to the second. */
function costOf(seconds: number): number {
  return perMinute(PRICE_PHONE, seconds);
}

async function sessionsOf(status: string) {
  return (await product.ask('GET', `/v1/agent/sessions?status=${status}`)).sessions;
}
