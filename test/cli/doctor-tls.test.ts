import { once } from 'node:events';
import { createServer as createPlain } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkSipTls } from '#cli/doctor-tls.ts';
import { readSettings } from '#config/env.ts';
import { makeCertificate, type TestCertificate } from '../fakes/certificate.ts';
import { describeNeeds } from '../needs.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

describeNeeds(['openssl'])('the doctor on SIP over TLS', () => {
  let ours: TestCertificate;
  let server: Server;
  let port: number;

  beforeEach(async () => {
    ours = makeCertificate();
    server = createServer({ cert: ours.certificate, key: ours.key }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as { port: number }).port;
  });
  afterEach(async () => {
    ours.remove();
    await new Promise((resolve) => server.close(resolve));
  });

  /**
   * Test certificates are valid for two days; the long-lived case is checked relative to the day of expiry.
   */
  const check = (over: Record<string, string> = {}, { isRunning = true, daysOn = 0, canBind = true } = {}) =>
    checkSipTls(
      readSettings({ SIP_TLS_CERT: ours.file, SIP_TLS_KEY: ours.key, SIP_TLS_PORT: String(port), ...over }),
      {
        host: '127.0.0.1',
        isRunning,
        nowMs: Date.now() + daysOn * DAY_MS,
        canBind: async () => canBind,
      },
    );

  it('reports nothing if TLS is not in use', async () => {
    expect(await check({ SIP_TLS_CERT: '', SIP_TLS_KEY: '' })).toBeNull();
    expect(await check({ DRACHTIO_HOST: '10.0.0.1' })).toBeNull();
  });

  it('finds the certificate served, one that expires soon, and an expired one', async () => {
    expect(await check({}, { daysOn: -30 })).toMatchObject({
      verdict: 'ok',
      result: expect.stringContaining(`port ${port} presents the certificate`),
    });
    expect(await check({}, { daysOn: -30, isRunning: false })).toMatchObject({
      verdict: 'ok',
      result: expect.stringContaining('is free'),
    });
    expect(await check()).toMatchObject({ verdict: 'note', result: expect.stringContaining('expires on') });
    expect(await check({}, { daysOn: 3 })).toMatchObject({
      verdict: 'failed',
      result: expect.stringContaining('expired on'),
    });
    expect(await check({ SIP_TLS_PORT: '0' })).toMatchObject({ verdict: 'note' });
  });

  it('reports a foreign key, an invalid or different certificate, no server, and a port in use', async () => {
    const other = makeCertificate();
    try {
      expect((await check({ SIP_TLS_KEY: other.key }))?.result).toBe(
        'SIP_TLS_KEY is not the key of SIP_TLS_CERT',
      );
      expect((await check({ SIP_TLS_CERT: '/nowhere.pem' }))?.result).toBe(
        'SIP_TLS_CERT: the file it names cannot be read',
      );
      expect((await check({ SIP_TLS_CERT: other.file, SIP_TLS_KEY: other.key }))?.result).toContain(
        'does not present the certificate',
      );
      expect((await check({}, { isRunning: false, canBind: false }))?.result).toContain('is not available');
      const mute = createPlain((socket) => socket.destroy()).listen(0, '127.0.0.1');
      await once(mute, 'listening');
      const answer = await check({ SIP_TLS_PORT: String((mute.address() as { port: number }).port) });
      mute.close();
      expect(answer).toMatchObject({ verdict: 'failed', result: expect.stringContaining('nothing answers') });
    } finally {
      other.remove();
    }
  });
});
