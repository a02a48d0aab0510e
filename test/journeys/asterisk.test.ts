/**
 * Journey: the whole product registers at an Asterisk. The agent answers its callers, calls its numbers and
 * dials extensions at its menu.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { voicedSeconds } from '#caller/voiced.ts';
import { ASTERISK_ACCOUNTS, ASTERISK_MENU, type Asterisk, startAsterisk } from '#test/fakes/asterisk.ts';
import { describeWhereThere } from '#test/needs.ts';
import { type Product, startProduct } from './product.ts';
import { demoAgentId } from './tenant.ts';

const NUMBER = '+4930123457';
const RATE_HZ = 8_000;
const { rfc4733: FIRST, info: SECOND, inband: THIRD } = ASTERISK_ACCOUNTS;

describeWhereThere(['asterisk'])('an account at an Asterisk', { timeout: 120_000 }, () => {
  let product: Product;
  let pbx: Asterisk;
  let agentId: string;
  let numberId: string;

  const lines = async () => (await product.ask('GET', '/v1/agent/sip-registrations')).sip_registrations;
  /** The number's account from now on, in place of the one before. */
  const connect = async (account: object) => {
    for (const { sip_registration_id: id } of await lines())
      await product.ask('DELETE', `/v1/agent/sip-registrations/${id}`);
    const line = { registrar: pbx.address, phone_number_id: numberId, ...account };
    await product.ask('POST', '/v1/agent/sip-registrations', line);
  };
  const until = async (state: string) =>
    await product.until(`it is ${state}`, async () => (await lines())[0]?.state === state);

  beforeAll(async () => {
    [product, pbx] = await Promise.all([startProduct(), startAsterisk()]);
    agentId = await demoAgentId(product);
    const number = { provider: 'sip', phone_number: NUMBER, agent_id: agentId };
    const imported = { ...number, inbound_allowed_addresses: ['203.0.113.20'] };
    numberId = (await product.ask('POST', '/v1/agent/phone-numbers', imported)).phone_number_id;
  }, 120_000);
  afterAll(async () => {
    await product?.close();
    await pbx?.close();
  }, 60_000);

  it('says that the PBX does not accept a wrong password', async () => {
    await connect({ ...FIRST, password: 'wrong' });
    await until('refused');
    expect((await lines())[0].last_error.message).toContain('does not accept the username and password');
  });

  it('answers a call from the PBX, which hears the agent', async () => {
    await connect(FIRST);
    await until('registered');
    expect(await pbx.ask('pjsip show contacts')).toContain(FIRST.username);
    await pbx.call();
    await expect.poll(() => voicedSeconds(pbx.heard(), RATE_HZ), { timeout: 20_000 }).toBeGreaterThan(1);
  });

  it('calls a number at the PBX, which hears the agent', async () => {
    await callTo({ to_number: '+12125550123' });
    expect(voicedSeconds(pbx.heard(), RATE_HZ)).toBeGreaterThan(1);
  });

  it.each([
    { account: FIRST, way: 'as telephone events', keys: '2049' },
    { account: SECOND, way: 'by INFO', keys: '2059' },
  ])('dials an extension at a menu that takes keys $way', async ({ account, keys }) => {
    await dials(account, keys);
  });

  it('dials an extension by tones at a menu that refuses INFO', async () => {
    await pbx.ask('module unload res_pjsip_dtmf_info.so');
    await dials(THIRD, '206*');
  });

  async function dials(account: object, keys: string): Promise<void> {
    await connect(account);
    await until('registered');
    await callTo({ to_number: ASTERISK_MENU, extension: `,${keys}` });
    expect(await pbx.keys()).toBe(keys);
  }

  /** Calls until the PBX has hung up. */
  async function callTo(to: object): Promise<void> {
    const call = { agent_id: agentId, phone_number_id: numberId, ...to };
    const { session_id: id } = await product.ask('POST', '/v1/agent/phone-calls', call);
    await product.until('the PBX has hung up', async () => {
      const { ended_at } = await product.ask('GET', `/v1/agent/sessions/${id}`);
      return ended_at !== null;
    });
  }
});
