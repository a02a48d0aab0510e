/**
 * Journey: the whole product registers at an Asterisk, whose callers the agent answers, and whose numbers it
 * calls.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { voicedSeconds } from '#caller/voiced.ts';
import { ASTERISK_ACCOUNT, type Asterisk, startAsterisk } from '#test/fakes/asterisk.ts';
import { describeWhereThere } from '#test/needs.ts';
import { type Product, startProduct } from './product.ts';
import { demoAgentId } from './tenant.ts';

const NUMBER = '+4930123457';
const RATE_HZ = 8_000;

describeWhereThere(['asterisk'])('an account at an Asterisk', { timeout: 120_000 }, () => {
  let product: Product;
  let pbx: Asterisk;
  let agentId: string;
  let numberId: string;

  const stateOf = async (id: string) => await product.ask('GET', `/v1/agent/sip-registrations/${id}`);
  const connect = async (account: object) => {
    const line = { registrar: pbx.address, phone_number_id: numberId, ...account };
    return (await product.ask('POST', '/v1/agent/sip-registrations', line)).sip_registration_id as string;
  };

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
    const id = await connect({ ...ASTERISK_ACCOUNT, password: 'wrong' });
    await product.until('it is refused', async () => (await stateOf(id)).state === 'refused');
    expect((await stateOf(id)).last_error.message).toContain('does not accept the username and password');
    await product.ask('DELETE', `/v1/agent/sip-registrations/${id}`);
  });

  it('answers a call from the PBX, which hears the agent', async () => {
    const id = await connect(ASTERISK_ACCOUNT);
    await product.until('it is registered', async () => (await stateOf(id)).state === 'registered');
    expect(await pbx.ask('pjsip show contacts')).toContain(ASTERISK_ACCOUNT.username);
    await pbx.call();
    await expect.poll(() => voicedSeconds(pbx.heard(), RATE_HZ), { timeout: 20_000 }).toBeGreaterThan(1);
  });

  it('calls a number at the PBX, which hears the agent', async () => {
    const call = { agent_id: agentId, phone_number_id: numberId, to_number: '+12125550123' };
    const { session_id: id } = await product.ask('POST', '/v1/agent/phone-calls', call);
    await product.until('the PBX has hung up', async () => {
      const { ended_at } = await product.ask('GET', `/v1/agent/sessions/${id}`);
      return ended_at !== null;
    });
    expect(voicedSeconds(pbx.heard(), RATE_HZ)).toBeGreaterThan(1);
  });
});
