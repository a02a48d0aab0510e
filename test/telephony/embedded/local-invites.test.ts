import { expect, it } from 'vitest';
import type { AdmissionRequest } from '#protocol/sip-admission.ts';
import { startTestSignalling } from '#test/fakes/signalling.ts';
import { openRawCaller } from './raw-caller.ts';

it.each([
  ['says that an INVITE is local if it listens on the loopback only', '127.0.0.1', true],
  ['never says that an INVITE is local if others can reach it', '0.0.0.0', undefined],
])('the embedded signalling %s', async (_, sipHost, isLocal) => {
  const asked: AdmissionRequest[] = [];
  const server = await startTestSignalling({
    sipHost,
    admit: async (request) => {
      asked.push(request);
      return { action: 'route', data: { tag: 'worker-1' } };
    },
  });
  const caller = await openRawCaller(server.sipPort);
  try {
    caller.request({});
    await expect.poll(() => asked.length).toBe(1);
    expect(asked[0]?.is_local).toBe(isLocal);
  } finally {
    caller.close();
    await server.close();
  }
});
