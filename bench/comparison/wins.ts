/**
 * Where another side is better than the first one, by rule: in the sum of all rounds by more than noise, and
 * in no round worse. Pure.
 */
import type { SideResults } from './results.ts';
import { COST_ROWS, type Figure, HEARD_ROWS, type Row } from './rows.ts';

/** A row in which others are better. */
export interface Win {
  readonly row: Row;
  readonly winners: readonly SideResults[];
}

/**
 * How the sides differ in what a row measures; for those rows for which that is known. These texts are no
 * results: each is true whatever the figures are, and whichever side is better.
 */
const REASONS: Readonly<Record<string, string>> = {
  answers:
    'The sides wait for different silences: see the waits above. Compare the rows of cut-offs: a short ' +
    'wait for every sentence also interrupts the caller who only thinks.',
  'at-once':
    'By speech alone, a side waits the same short time after every silence, finished sentence or not. ' +
    'Parley judges the words, and the models of the others judge the voice.',
  premature:
    'A longer wait at every pause cuts off less. Parley judges the words, and the models of the others ' +
    'judge the voice, which may tell that more is to come.',
  dictation:
    'Parley judges the words: a few digits or a street can be a whole answer, and are answered after ' +
    '300 ms. A longer wait after every silence, or a voice that tells that more is to come, cuts off less.',
  dictated: 'Parley waits for the rest of a number or an address that may still be unfinished.',
  short:
    'By speech alone, a side waits the same short time after every silence. Parley may wait longer after a ' +
    'lone word.',
  stops: 'The sides need different amounts of voice to be interrupted: see the thresholds above.',
  missed: 'The sides need different amounts of voice to be interrupted: see the thresholds above.',
  'broken-off':
    'The sides need different amounts of voice to be interrupted, and not in all of them speech without ' +
    'words ends the answer.',
  held:
    'A sound pauses Parley after 256 ms of voice. A side that needs 500 ms of it does not notice shorter ' +
    'sounds, and stops later when it is interrupted.',
  television:
    'The sides need different amounts of voice to be interrupted. The more is needed, the less often does ' +
    'speech in the background do it.',
  'television-answers': 'The sides’ detectors of speech take different sounds for the caller’s voice.',
  words:
    'A word counts in Parley’s transcript once it has ended, so half a word is missing on average. The ' +
    'other sides count in ways of their own.',
  greeting:
    'The other sides’ agents are called to the room before the caller joins it. Parley’s worker joins with ' +
    'the caller.',
  'idle-cpu':
    'Parley includes control plane, store, phone signalling and recording, which the frameworks do not ' +
    'have.',
  'idle-memory':
    'Parley includes control plane, store, phone signalling and recording, which the frameworks do not ' +
    'have. Its processes are started whether or not there are calls.',
  most: 'See what a call costs in the rows above.',
};
const COST_REASONS: readonly (readonly [RegExp, string])[] = [
  [/-answers$/, 'The waits are those of the table of answers above; here all questions are complete.'],
  [/-cpu$/, 'Parley records the call, keeps its store and runs its media in a process of its own.'],
  [/-memory$/, 'Parley records the call. Pipecat’s runner runs all calls in one process.'],
];
const UNKNOWN = 'Not known yet.';

/** Every row in which another side is better than the first. */
export function findWins([first, ...others]: readonly SideResults[]): Win[] {
  if (!first) return [];
  return [...HEARD_ROWS, ...COST_ROWS].flatMap((row) => {
    const winners = others.filter((other) => row.figures.some((figure) => isBetter(figure, other, first)));
    return winners.length > 0 ? [{ row, winners }] : [];
  });
}

/** How the sides differ in what this row measures. */
export function reasonFor({ id }: Row): string {
  return REASONS[id] ?? COST_REASONS.find(([pattern]) => pattern.test(id))?.[1] ?? UNKNOWN;
}

function isBetter({ of, noise }: Figure, one: SideResults, other: SideResults): boolean {
  const [better, worse] = [of(one), of(other)];
  if (better === null || worse === null || worse - better < noise) return false;
  const rounds = one.rounds.map(({ round }) => round);
  return rounds.every((round) => {
    const [mine, theirs] = [of(roundOf(one, round)), of(roundOf(other, round))];
    return mine === null || theirs === null || mine <= theirs;
  });
}

function roundOf(side: SideResults, number: number): SideResults {
  return { ...side, calls: side.calls.filter(({ round }) => round === number) };
}
