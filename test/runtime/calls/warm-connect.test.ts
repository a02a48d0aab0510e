/**
 * How a warm transfer joins caller and person (`warm_connect`), in virtual time: the called person answers
 * and stays silent.
 */
import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Recognizer } from '#media/speech/speech.ts';
import { consultPhrases } from '#runtime/calls/consult-phrases.ts';
import { startTransfer } from '#runtime/calls/transfer.ts';
import type { Within } from '#runtime/event-loop/session-attribution.ts';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { SimulatedClock } from '#test/simulation/simulated-clock.ts';
import { createSpokenWords, SIMULATED_RATE_HZ, SimulatedLeg } from '#test/simulation/simulated-leg.ts';
import { planOf } from '../turn/settings-script.ts';

/** Recognises nothing, because the person is silent. */
const EARS: Recognizer = {
  id: 'test',
  givesInterims: false,
  expectedFinalMs: 0,
  open: () => ({ write: () => undefined, finalise: () => undefined, close: () => undefined }),
};

it.each([
  ['confirm', { type: 'transfer.finished', isDone: false }],
  ['direct', { type: 'transfer.joined' }],
  ['briefing', { type: 'transfer.joined' }],
])('warm_connect %s: a silent person is joined, or asked and hung up on', async (warm_connect, outcome) => {
  const { facts, played } = await transferTo(warm_connect, EARS, () => undefined);
  expect(played).toBeGreaterThan(0);
  expect(facts).toMatchObject([outcome]);
});

it('the caller returns to the agent when the person hangs up at the moment of their answer', async () => {
  const { facts } = await transferTo('direct', null, (human) => human.close('remote'));
  expect(facts).toEqual([
    { type: 'transfer.finished', isDone: false, message: 'The person was reached and hung up.' },
  ]);
});

it.each<[string, (human: SimulatedLeg, clock: SimulatedClock) => void]>([
  ['before it is dialled', (human) => human.close('remote')],
  ['while it is dialled', (human, clock) => clock.after(900, () => human.close('remote'))],
])('a person behind an extension who hangs up %s is not briefed', async (_, onAnswer) => {
  const { facts, played } = await transferTo('confirm', EARS, onAnswer, { extension: ',,204#' });
  expect(facts).toEqual([
    { type: 'transfer.finished', isDone: false, message: 'The person was reached and hung up.' },
  ]);
  expect(played).toBe(0);
});

it('the briefing is made for this caller; the repeated question is the same in every call', async () => {
  const { lines } = await transferTo('confirm', EARS, () => undefined);
  const { declined, question } = consultPhrases('en');
  const fixed = lines.filter(({ isFixed }) => isFixed).map(({ text }) => text);
  expect([...new Set(fixed)].join(' ')).toBe([question, declined].join(' '));
  expect(lines[0]?.isFixed).toBe(false);
});

it('security 3: synthesis of a briefing and events of the person’s leg are attributed to the call', async () => {
  const { named } = await transferTo('briefing', EARS, () => undefined);
  expect(new Set(named.wordings)).toEqual(new Set([true]));
  const gone = await transferTo('direct', EARS, (human) => human.close('remote'));
  expect(gone.named.goings).toEqual([true]);
});

it('the person is reported again when another SIP server has their dialog', async () => {
  const { persons, move } = await transferTo('direct', null, () => undefined);
  move('10.0.0.2:9022');
  expect(persons).toEqual([
    { isJoined: false, server: undefined },
    { isJoined: true, server: undefined },
    { isJoined: true, server: '10.0.0.2:9022' },
  ]);
});

/** Transfers a caller and waits for the first result. */
async function transferTo(
  warm_connect: string,
  recognizer: Recognizer | null,
  onAnswer: (human: SimulatedLeg, clock: SimulatedClock) => void,
  ofRoute: { readonly extension?: string } = {},
): Promise<{
  readonly facts: readonly TurnFact[];
  readonly played: number;
  readonly lines: readonly { readonly text: string; readonly isFixed: boolean | undefined }[];
  /** For every piece synthesised and every person who left: whether the work was attributed to the call. */
  readonly named: { readonly wordings: readonly boolean[]; readonly goings: readonly boolean[] };
  /** The person as reported. */
  readonly persons: readonly { readonly isJoined: boolean; readonly server: string | undefined }[];
  /** Another SIP server takes their dialog over. */
  readonly move: (server: string) => void;
}> {
  const clock = new SimulatedClock();
  const words = createSpokenWords();
  const openLeg = () => new SimulatedLeg({ clock, words, latencyMs: 1 });
  const human = openLeg();
  const facts: TurnFact[] = [];
  const lines: { text: string; isFixed: boolean | undefined }[] = [];
  const [wordings, goings]: [boolean[], boolean[]] = [[], []];
  const persons: { isJoined: boolean; server: string | undefined }[] = [];
  let move: (server: string) => void = () => undefined;
  let isNamed = false;
  const within: Within = (work) => {
    const before = isNamed;
    isNamed = true;
    try {
      return work();
    } finally {
      isNamed = before;
    }
  };
  const plan = planOf({ conversation: { transfer_destinations: [{ mode: 'warm', warm_connect }] } });
  Object.assign(plan.transfer?.routes[0] ?? {}, ofRoute);
  startTransfer({
    plan,
    clock,
    logger: pino({ level: 'silent' }),
    caller: openLeg(),
    line: null,
    findPhones: null,
    mayTransfer: null,
    placeCall: async () => {
      const party = {
        localParty: '',
        remoteParty: '',
        remoteTarget: '',
        localContact: '',
        localSdp: '',
        remoteSdp: '',
      };
      const dialog = { sipCallId: 'y', localTag: '', remoteTag: '', ...party, routeSet: [], localCseq: 1 };
      onAnswer(human, clock);
      // Events of the leg arrive before anyone listens.
      await clock.sleep(5);
      return {
        outcome: 'answered',
        leg: human,
        dialog,
        refer: () => undefined,
        onMoved: (listener) => {
          move = (server) => listener({ ...dialog, server });
        },
      };
    },
    recognizer,
    synthesizer: {
      id: 'test',
      voices: [],
      get needsWords() {
        wordings.push(isNamed);
        return false;
      },
      async *synthesise(text, { isFixed }) {
        lines.push({ text, isFixed });
        yield {
          samples: new Int16Array(2_000).fill(words.add('briefing', 2_000)),
          sampleRateHz: SIMULATED_RATE_HZ,
          words: null,
        };
      },
    },
    destination: 0,
    notes: 'A refund.',
    tell: (fact) => facts.push(fact),
    onPerson: (person) => {
      if (person) persons.push({ isJoined: person.isJoined, server: person.dialog.server });
      else goings.push(isNamed);
    },
    onRecording: () => undefined,
    within,
  });
  await clock.run(() => facts.length > 0, 120_000);
  return { facts, played: human.played.length, lines, named: { wordings, goings }, persons, move };
}
