import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { CommandError, EXIT } from '#cli/api.ts';
import type { CheckResult } from '#cli/check-result.ts';
import { checkCalls } from '#cli/doctor-call.ts';
import { findSip, type SipAddress } from '#cli/test-call-permit.ts';

const SETTINGS = { SIP_HOST: '127.0.0.1', SIP_PORT: 5070 };
const CALL = {
  phone_number: '+15550100000',
  agent_id: 'a',
  session_id: 's',
  header: { name: 'X-Parley-Test-Call', value: 'proof' },
};

/** The API of a product at this address, whose answer to `GET /admin/test-call` is `answer`. */
function apiOf(answer: () => unknown, url = 'http://127.0.0.1:8080') {
  const get = async (path: string) => (path === '/v1/account' ? { is_operator: true } : answer());
  return { url, get };
}
const refusing = (reason: string | null) =>
  apiOf(() => {
    throw new CommandError('refused', EXIT.refused, reason);
  });

describe('the address that the doctor calls', () => {
  it('is the reported one', async () => {
    const api = apiOf(() => ({ sip: { host: '192.0.2.1', port: 5080 }, call: null }));
    expect(await findSip(SETTINGS, api, undefined)).toEqual({ host: '192.0.2.1', port: 5080 });
  });

  it('is that of the settings if the product refuses to say', async () => {
    expect(await findSip(SETTINGS, refusing('rate_limited'), undefined)).toEqual({
      host: '127.0.0.1',
      port: 5070,
    });
  });

  it('has the host of the API if a product on another machine listens on all of its addresses', async () => {
    const any = () => ({ sip: { host: '0.0.0.0', port: 5080 }, call: null });
    const remote = apiOf(any, 'http://203.0.113.7:8080');
    expect(await findSip(SETTINGS, remote, undefined)).toEqual({ host: '203.0.113.7', port: 5080 });
    expect(await findSip(SETTINGS, apiOf(any), undefined)).toEqual({ host: '0.0.0.0', port: 5080 });
  });

  it('is resolved', async () => {
    expect(await findSip(SETTINGS, null, 'localhost:5090')).toEqual({ host: '127.0.0.1', port: 5090 });
  });
});

describe('the doctor’s test call from the loopback', () => {
  const closers: (() => void)[] = [];
  afterEach(() => {
    for (const close of closers.splice(0)) close();
  });

  async function result(api: ReturnType<typeof apiOf>, sip: SipAddress): Promise<CheckResult | undefined> {
    for await (const result of checkCalls(api, sip, undefined))
      if (result.subject === 'Test call from 127.0.0.1') return result;
    return undefined;
  }

  it('suggests another number only if no agent answers this one', async () => {
    const sip = { host: '127.0.0.1', port: 5060 };
    expect(await result(refusing('number_not_found'), sip)).toMatchObject({
      verdict: 'failed',
      fix: 'pass another number with --number',
    });
    expect(await result(refusing('rate_limited'), sip)).not.toHaveProperty('fix');
  });

  it('has failed if it is refused with 403, although other machines may call', async () => {
    const server = createSocket('udp4');
    closers.push(() => server.close());
    server.on('message', (datagram, { port, address }) => {
      const lines = datagram.toString().split('\r\n');
      if (!lines[0]?.startsWith('INVITE')) return;
      const copied = lines.filter((line) => /^(via|from|to|call-id|cseq):/i.test(line));
      server.send(
        ['SIP/2.0 403 Forbidden', ...copied, 'Content-Length: 0', '', ''].join('\r\n'),
        port,
        address,
      );
    });
    server.bind(0, '127.0.0.1');
    await once(server, 'listening');
    const sip = { host: '0.0.0.0', port: server.address().port };
    expect(
      await result(
        apiOf(() => ({ sip, call: CALL })),
        sip,
      ),
    ).toMatchObject({
      verdict: 'failed',
      result: '+15550100000 refused it: 403 Forbidden',
    });
  });
});
