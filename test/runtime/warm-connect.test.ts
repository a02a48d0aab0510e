/** How a warm transfer joins the two (supplement 2.3 warm_connect), in virtual time: the person called answers and says nothing. */
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { startTransfer } from '#runtime/transfer.ts';
import type { TurnFact } from '#runtime/turn/turn-inputs.ts';
import { SimulatedClock } from '#test/simulation/simulated-clock.ts';
import { createSpokenWords, SIMULATED_RATE_HZ, SimulatedLeg } from '#test/simulation/simulated-leg.ts';
import { planOf } from './turn/settings-script.ts';

it.each([
  ['confirm', { type: 'transfer.finished', isDone: false }],
  ['direct', { type: 'transfer.joined' }],
  ['briefing', { type: 'transfer.joined' }],
])('supplement 4.7 warm_connect %s: whoever says nothing is joined, or asked and hung up on', async (warm_connect, outcome) => {
  const clock = new SimulatedClock();
  const words = createSpokenWords();
  const openLeg = () => new SimulatedLeg({ clock, words, latencyMs: 1 });
  const human = openLeg();
  const facts: TurnFact[] = [];
  startTransfer({
    plan: planOf({ conversation: { transfer_destinations: [{ mode: 'warm', warm_connect }] } }),
    clock,
    logger: pino({ level: 'silent' }),
    caller: openLeg(),
    line: null,
    placeCall: async () => {
      const party = { localParty: '', remoteParty: '', remoteTarget: '', localContact: '', localSdp: '', remoteSdp: '' };
      const dialog = { sipCallId: 'y', localTag: '', remoteTag: '', ...party, routeSet: [], localCseq: 1 };
      return { outcome: 'answered', leg: human, dialog, refer: () => undefined };
    },
    recognizer: {
      id: 'test',
      givesInterims: false,
      expectedFinalMs: 0,
      open: () => ({ write: () => undefined, finalise: () => undefined, close: () => undefined }),
    },
    synthesizer: {
      id: 'test',
      voices: [],
      async *synthesise() {
        yield { samples: new Int16Array(2_000).fill(words.add('briefing', 2_000)), sampleRateHz: SIMULATED_RATE_HZ, words: null };
      },
    },
    destination: 0,
    notes: 'A refund.',
    tell: (fact) => facts.push(fact),
    onJoined: () => undefined,
    onRecording: () => undefined,
  });
  await clock.run(() => facts.length > 0, 120_000);
  expect(human.played.length).toBeGreaterThan(0);
  expect(facts).toMatchObject([outcome]);
});
