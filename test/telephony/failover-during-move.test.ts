import { afterEach, beforeEach, expect, it } from 'vitest';
import { connectTestWorker } from '#test/fakes/signalling.ts';
import { OUR_SDP, openTwoServers, PATIENCE, type TwoServers } from './two-servers.ts';

let two: TwoServers;
beforeEach(async () => {
  two = await openTwoServers();
});
afterEach(() => two.close());

it('a failover that the peer refuses hangs up, although the dead worker had begun to move the call', async () => {
  const { servers, links, phones } = two.parts;
  const [phone] = phones;
  const { facts } = await two.call();
  await two.loseFirst();
  await expect.poll(() => two.reinvites().length, PATIENCE).toBe(1);
  links[1].cut();
  const successor = await connectTestWorker(servers[1], 'worker-2');
  const failover = successor.failOver({ ...facts, server: undefined }, OUR_SDP);
  const failed = expect(failover).rejects.toThrow();
  await expect.poll(() => two.reinvites().length, PATIENCE).toBe(2);
  phone.answer(two.reinvites()[1]!, 500);
  await failed;
  phone.answer(await two.byeThrough(1), 200);
  await expect.poll(() => two.dialogs()[1], PATIENCE).toBe(0);
  successor.close();
});
