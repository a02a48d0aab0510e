import { afterEach, expect, it } from 'vitest';
import { Meters } from '#base/meters.ts';
import { ControlPlaneContact, healthOfSignalling } from '#processes/signalling-health.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';

const PATIENCE = { timeout: 20_000 };
let server: EmbeddedSignalling;
let worker: Signalling | undefined;
afterEach(async () => {
  worker?.close();
  await server.close();
});

it('signalling takes calls while a worker is connected and the last request to a control plane was answered', async () => {
  server = await startTestSignalling({
    admit: async () => ({ action: 'reject', data: { status: 404 } }) as never,
  });
  const contact = new ControlPlaneContact();
  const { missing, meters } = healthOfSignalling(server, contact, new Meters());
  expect(missing()).toEqual(['no worker is connected']);
  worker = await connectTestWorker(server);
  await expect.poll(missing, PATIENCE).toEqual([]);
  expect((await meters.scrape()).body).toContain('\nparley_sip_workers 1\n');
  let isThere = false;
  const ask = contact.counted(async (question: string) => {
    if (!isThere) throw new Error('nobody there');
    return question;
  });
  await expect(ask('a')).rejects.toThrow('nobody there');
  expect(missing()).toEqual(['no control plane answers']);
  isThere = true;
  expect(await ask('b')).toBe('b');
  expect(missing()).toEqual([]);
});
