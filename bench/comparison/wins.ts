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

/** What makes the difference, by row; for those whose cause is known. */
const REASONS: Readonly<Record<string, string>> = {
  answers:
    'Less silence is waited for, or the model’s answer is requested sooner. Compare the rows of ' +
    'cut-offs: a short wait for every sentence also interrupts the caller who only thinks.',
  'at-once': 'The side waits the same short time after every silence, finished sentence or not.',
  premature: 'The side waits longer at every pause, or its model hears from the voice that more is to come.',
  dictation:
    'Parley judges the words: a few digits or a street can be a whole answer, and are answered after ' +
    '300 ms. A side that waits longer after every silence, or hears from the voice that more is to come, ' +
    'cuts off less.',
  dictated: 'Parley waits for the rest of a number or an address that may still be unfinished.',
  short: 'The side waits the same short time after every silence. Parley waits longer after a lone word.',
  stops: 'Less voice is needed to interrupt: the thresholds are listed above.',
  missed: 'Less voice is needed to interrupt: the thresholds are listed above.',
  'broken-off': 'More voice is needed to interrupt, or speech without words does not end the answer.',
  held:
    'A sound pauses Parley after 256 ms of voice. A side that needs 500 ms of it does not notice short ' +
    'sounds, and stops later when it is interrupted.',
  television: 'More voice is needed to interrupt, so speech in the background does it less often.',
  'television-answers': 'The detector of speech is less sensitive to a voice in the background.',
  loss: 'As without loss: see the answers above.',
  'loss-stops': 'As without loss: see the interruptions above.',
  words:
    'A word counts in Parley’s transcript once it has ended, so half a word is missing on average. The ' +
    'others’ count follows the audio that was played.',
  greeting:
    'The agent is in the room before the caller, or has its greeting ready. Parley’s worker joins with ' +
    'the caller.',
  'idle-cpu':
    'Parley includes control plane, store, phone signalling and recording, which the frameworks do not ' +
    'have.',
  'idle-memory':
    'Parley includes control plane, store, phone signalling and recording, which the frameworks do not ' +
    'have. Its processes are started whether or not there are calls.',
  most: 'Its calls need less CPU on these cores: see the row of CPU seconds.',
};
const COST_REASONS: readonly (readonly [RegExp, string])[] = [
  [/-answers$/, 'As in the table of answers above; here with complete questions only.'],
  [/-cpu$/, 'Parley records the call, keeps its store and runs its media in a process of its own.'],
  [/-memory$/, 'All calls share one process, and there is no recording.'],
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

/** Why others are better in this row. */
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
