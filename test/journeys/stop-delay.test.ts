/** Journey: a control plane that is started alone is stopped behind a load balancer. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Parts } from './parts.ts';
import type { Program } from './program.ts';

let parts: Parts;
let controlPlane: Program;

beforeAll(async () => {
  parts = await Parts.open({});
  controlPlane = await parts.start('control-plane', 'control-plane', {
    settings: { STOP_DELAY_SECONDS: '8' },
  });
}, 120_000);
afterAll(() => parts.close());

const statusOf = async (path: string) => {
  const headers = { authorization: `Bearer ${parts.rootKey}` };
  const answer = await fetch(`${parts.url}${path}`, { headers });
  await answer.arrayBuffer();
  return answer.status;
};

it('serves on while its readiness says no, until the load balancer has noticed', {
  timeout: 120_000,
}, async () => {
  expect(await statusOf('/readyz/requests')).toBe(200);
  controlPlane.signal('SIGTERM');
  await parts.until('readiness says no', async () => (await statusOf('/readyz/requests')) === 503);
  expect(await statusOf('/v1/account')).toBe(200);
  expect(controlPlane.hasEnded).toBe(false);
  expect(await controlPlane.ended()).toBe(0);
});
