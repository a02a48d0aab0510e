/**
 * Journey: WhatsApp calls by SIP, with a stand-in of Meta's server that speaks as its documentation shows. A
 * WhatsApp user calls the business number and hears the agent, and the agent calls a WhatsApp user.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { voicedSeconds } from '#caller/voiced.ts';
import { makeCertificate, type TestCertificate } from '#test/fakes/certificate.ts';
import type { MetaCall } from '#test/fakes/meta-call.ts';
import { type MetaServer, startMetaServer } from '#test/fakes/meta-server.ts';
import { freeTcpPort } from '#test/free-port.ts';
import { describeNeeds } from '#test/needs.ts';
import { type Product, startProduct } from './product.ts';
import { demoAgentId } from './tenant.ts';

const NUMBER = '+12145551869';
const DOMAIN = 'meta-voip.example.com';
const PASSWORD = 'made by Meta';
const PATIENCE = { timeout: 30_000 };

describeNeeds(['openssl'])('a WhatsApp call', { timeout: 120_000 }, () => {
  let ours: TestCertificate;
  let theirs: TestCertificate;
  let meta: MetaServer;
  let product: Product;
  let tlsPort: number;
  let agentId: string;
  let numberId: string;
  let next = 12195550714;

  const freshUser = () => `+${next++}`;
  const trunk = () => ({
    inbound_auth_username: NUMBER.slice(1),
    inbound_auth_password: PASSWORD,
    termination_uri: meta.address,
    termination_transport: 'tls',
    termination_from_domain: DOMAIN,
    termination_auth_username: NUMBER.slice(1),
    termination_auth_password: PASSWORD,
  });

  beforeAll(async () => {
    [ours, theirs] = [makeCertificate(DOMAIN), makeCertificate()];
    const business = { number: NUMBER, domain: DOMAIN, password: PASSWORD };
    meta = await startMetaServer(theirs, { ...business, authority: ours.certificate });
    tlsPort = await freeTcpPort();
    product = await startProduct({
      environment: {
        EGRESS_ALLOW: '127.0.0.1,localhost',
        SIP_TLS_CERT: ours.certificate,
        SIP_TLS_KEY: ours.key,
        SIP_TLS_PORT: String(tlsPort),
        SIP_TLS_CA: theirs.certificate,
      },
    });
    agentId = await demoAgentId(product);
    const imported = { provider: 'sip', phone_number: NUMBER, agent_id: agentId, ...trunk() };
    numberId = (await product.ask('POST', '/v1/agent/phone-numbers', imported)).phone_number_id;
  }, 180_000);
  afterAll(async () => {
    await product?.close();
    meta?.close();
    ours?.remove();
    theirs?.remove();
  }, 60_000);

  const sessionOf = async (caller: string) => {
    const { sessions } = await product.ask('GET', `/v1/agent/sessions?caller_number=%2B${caller.slice(1)}`);
    return product.ask('GET', `/v1/agent/sessions/${sessions[0].session_id}`);
  };

  async function callFrom(user: string): Promise<MetaCall> {
    const call = await meta.callBusiness(tlsPort, user);
    if (typeof call === 'number') throw new Error(`the call was refused with ${call}`);
    return call;
  }

  const expectHeard = (call: MetaCall) =>
    expect.poll(() => voicedSeconds(call.audio.heard(), 8_000), PATIENCE).toBeGreaterThan(1);

  const call = async (user: string) => {
    const request = { agent_id: agentId, phone_number_id: numberId, to_number: user };
    return (await product.ask('POST', '/v1/agent/phone-calls', request)).session_id as string;
  };

  it('of a user is answered over TLS after a challenge, in Opus with keys of the description', async () => {
    const user = freshUser();
    const call = await callFrom(user);
    await expectHeard(call);
    await call.hangUp();
    await product.until('it is over', async () => (await sessionOf(user)).status === 'completed');
    const session = await sessionOf(user);
    expect(session).toMatchObject({
      end_reason: 'user_hangup',
      dialed_number: NUMBER,
      sip_headers: {
        'x-fb-external-domain': 'wa.meta.vc',
        'x-wa-meta-wacid': expect.stringMatching(/^wacid\./),
      },
    });
    expect(session.media_quality.packets_received).toBeGreaterThan(50);
    expect(session.media_quality.unheard).toBeUndefined();
  });

  it('of a user ends with the agent’s BYE, although the connection of the call is gone', async () => {
    const user = freshUser();
    const call = await callFrom(user);
    await expectHeard(call);
    await call.disconnect();
    const { session_id: id } = await sessionOf(user);
    await product.ask('POST', `/v1/agent/sessions/${id}/end`);
    expect(await call.hungUp).toEqual([
      `<sip:${meta.address};transport=tls;lr>`,
      '<sip:onevc-sip-proxy.fbinfra.net:8191;transport=tls;lr>',
    ]);
  });

  it('with media as for browsers is refused with 488, and listed with the reason', async () => {
    const user = freshUser();
    expect(await meta.callBusiness(tlsPort, user, 'webrtc')).toBe(488);
    const { refusals } = await product.ask('GET', '/v1/agent/refusals?page_size=5');
    expect(refusals).toContainEqual(
      expect.objectContaining({ caller_number: user, reason: 'no_common_codec' }),
    );
  });

  it('to a user comes from the number at its domain, proves the password, and is heard', async () => {
    const user = freshUser();
    const id = await call(user);
    await product.until('it is answered', () => meta.answered.length > 0);
    const [answered] = meta.answered as [MetaCall];
    const invite = meta.invites.at(-1);
    expect(invite?.requestUri).toBe(`sip:${user}@${meta.address};transport=tls`);
    expect(invite?.headers.get('from')?.[0]).toContain(`<sip:${NUMBER}@${DOMAIN}>`);
    expect(invite?.headers.get('to')).toEqual([`<sip:${user}@${meta.address}>`]);
    await expectHeard(answered);
    await answered.hangUp();
    await product.until('it is over', async () => {
      const { status } = await product.ask('GET', `/v1/agent/sessions/${id}`);
      return status === 'completed';
    });
    const { media_quality: quality } = await product.ask('GET', `/v1/agent/sessions/${id}`);
    expect(quality.packets_received).toBeGreaterThan(50);
  });

  it('to a user from another domain fails, with the status of Meta’s refusal', async () => {
    const { termination_from_domain: _, ...without } = trunk();
    const path = `/v1/agent/phone-numbers/${numberId}/sip-config`;
    await product.ask('PUT', path, without);
    const id = await call(freshUser());
    await product.until('it has failed', async () => {
      const { dial_error: error } = await product.ask('GET', `/v1/agent/sessions/${id}`);
      return error === 'The call was refused with SIP status 403';
    });
    expect((await product.ask('PUT', path, trunk())).termination_from_domain).toBe(DOMAIN);
  });
});
