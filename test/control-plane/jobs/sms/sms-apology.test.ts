import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { phrasesFor } from '#runtime/turn/text/phrases.ts';
import { openSms, type Sms } from './open-sms.ts';

const SORRY = phrasesFor('de').trouble;

let sms: Sms;
beforeEach(async () => {
  sms = await openSms({ voice: { speaking_language: 'de' } });
  await sms.bind();
});
afterEach(() => sms.close());

/** The worker of the newest turn is killed, as often as a turn may lose one. */
async function killsItsWorkers(): Promise<void> {
  const { api, idle } = sms;
  for (let death = 0; death < 2; death++) {
    await api.sink.workerDead('worker-1', new Date(api.clock.wallTime()));
    await idle();
  }
}
const turns = () => sms.api.context.models.textTurns.find({}).sort({ number: 1 }).lean();

describe('the person whose message is lost', () => {
  it('with its workers gets one apology in the language of the agent, and the message is not charged', async () => {
    const before = await sms.api.balance(sms.user.userId);
    await sms.arrives('Hallo?');
    await killsItsWorkers();
    expect(sms.sent()).toEqual([SORRY]);
    expect(await turns()).toMatchObject([{ status: 'failed', billing: 'returned' }]);
    expect(await sms.api.balance(sms.user.userId)).toBe(before);
  });

  it('gets no second apology before an answer', async () => {
    await sms.arrives('Hallo?');
    await killsItsWorkers();
    await sms.arrives('Hallo??');
    await killsItsWorkers();
    await sms.arrives('Hallo???');
    await sms.answers('Guten Tag!');
    await sms.arrives('Ein Tisch, bitte');
    await killsItsWorkers();
    expect(sms.sent()).toEqual([SORRY, 'Guten Tag!', SORRY]);
  });

  it('because no worker was free for ten minutes gets one', async () => {
    sms.api.dispatch.room = 0;
    const arriving = sms.arrives('Hallo?');
    while ((await sms.api.context.models.textTurns.countDocuments({ billing: 'paid' })) === 0)
      await new Promise((resolve) => setTimeout(resolve, 1));
    await sms.api.clock.advance(11 * 60_000);
    await arriving;
    expect(sms.sent()).toEqual([SORRY]);
  });

  it('by an internal error of a worker, which has no words for it, gets one', async () => {
    await sms.arrives('Hallo?');
    await sms.answers('', { error: 'The turn was interrupted by an internal error', items: [] });
    expect(sms.sent()).toEqual([SORRY]);
  });

  it('gets one apology even if the process that settles the message is killed again and again', async () => {
    await sms.arrives('Hallo?');
    await killsItsWorkers();
    for (let times = 0; times < 2; times++) {
      await sms.api.context.models.textTurns.updateMany({}, { $set: { is_unsettled: true } });
      await sms.restart();
    }
    expect(sms.sent()).toEqual([SORRY]);
  });

  it('gets none after they wanted no messages', async () => {
    await sms.arrives('Hallo?');
    await sms.arrives('STOP', { OptOutType: 'STOP' });
    await killsItsWorkers();
    expect(sms.sent()).toEqual([]);
  });
});
