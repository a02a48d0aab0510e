/**
 * Admission requests in drachtio-server's format: the INVITE as text, its source in the query, the workers'
 * token as the password.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readDrachtioQuestion } from '#control-plane/calls/admission/drachtio-question.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const INVITE = [
  'INVITE sip:%2B15550100001@203.0.113.1:5060;transport=udp SIP/2.0',
  'Via: SIP/2.0/UDP 203.0.113.9:5060;branch=z9hG4bK1',
  'f: "Ann, at home" <sip:+8190123456@carrier.example>;tag=1',
  'To: <sip:+15550100001@203.0.113.1>',
  'Call-ID: abc@203.0.113.9',
  'CSeq: 1 INVITE',
  'Diversion: <sip:+15550109999@carrier.example>',
  '  ;reason=unconditional',
  'X-Campaign: autumn',
  'Diversion: <sip:+15550109998@carrier.example>;reason=no-answer',
  'Content-Length: 4',
  '',
  'v=0',
].join('\r\n');

let api: TestCalls;
beforeEach(async () => {
  api = await openTestCalls({ SIP_TRUSTED: '203.0.113.0/24' });
});
afterEach(() => api.close());

describe('a request from drachtio-server', () => {
  it('is parsed into the same question that the embedded signalling asks', () => {
    expect(readDrachtioQuestion(INVITE, { source_address: '203.0.113.9', protocol: 'tcp' })).toEqual({
      call_id: 'abc@203.0.113.9',
      from_user: '+8190123456',
      to_user: '+15550100001',
      request_uri: 'sip:%2B15550100001@203.0.113.1:5060;transport=udp',
      source_address: '203.0.113.9',
      source_port: 0,
      transport: 'tcp',
      headers: {
        diversion:
          '<sip:+15550109999@carrier.example> ;reason=unconditional, ' +
          '<sip:+15550109998@carrier.example>;reason=no-answer',
        'x-campaign': 'autumn',
      },
    });
  });

  it('is null when it is not an INVITE', () => {
    for (const text of [
      '',
      'INVITE',
      'OPTIONS sip:a@b SIP/2.0\r\nCall-ID: x\r\n\r\n',
      'INVITE sip:a@b SIP/2.0\r\nno header\r\n\r\n',
    ])
      expect(readDrachtioQuestion(text, { source_address: '203.0.113.9', protocol: 'udp' })).toBeNull();
  });

  it('is rejected when it is longer than a datagram', async () => {
    expect((await ask(`${INVITE}${'x'.repeat(70_000)}`)).status).toBe(413);
  });

  it('is answered with the chosen worker, and only with a valid token', async () => {
    const user = await api.createUser();
    const agentId = await api.publishAgent(user);
    const number = { provider: 'managed', phone_number: '+15550100001', agent_id: agentId };
    await api.request('POST', '/v1/agent/phone-numbers', { key: user.key, body: number });
    expect((await ask(INVITE, 'wrong')).status).toBe(401);
    expect((await ask('nonsense')).status).toBe(400);
    const answer = await ask(INVITE);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ action: 'route', data: { tag: expect.any(String) } });
  });

  it('names its server at the end of the path, so that a worker of this server is chosen', async () => {
    const user = await api.createUser();
    const agentId = await api.publishAgent(user);
    const number = { provider: 'managed', phone_number: '+15550100001', agent_id: agentId };
    await api.request('POST', '/v1/agent/phone-numbers', { key: user.key, body: number });
    expect((await ask(INVITE, undefined, '10.0.0.5:9022/')).status).toBe(200);
    expect((await ask(INVITE.replace('abc@', 'def@'))).status).toBe(200);
    expect(api.dispatch.offers.map(({ route }) => route)).toEqual([
      { workerTags: null, server: '10.0.0.5:9022' },
      { workerTags: null, server: null },
    ]);
  });
});

/** Sends a request as drachtio-server does, with a slash before the query. */
function ask(raw: string, token = api.context.credentials.workerToken, server = '') {
  return api.request(
    'POST',
    `/internal/sip/drachtio/${server}?method=INVITE&source_address=203.0.113.9&protocol=udp&fromUser=x`,
    {
      headers: {
        authorization: `Basic ${Buffer.from(`drachtio:${token}`).toString('base64')}`,
        'content-type': 'text/plain; charset=UTF-8',
      },
      raw,
    },
  );
}
