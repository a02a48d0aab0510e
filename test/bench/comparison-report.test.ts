/**
 * The page of the comparison: its figures, where another side wins, and what it says of a run that was
 * disturbed.
 */
import { describe, expect, it } from 'vitest';
import type { CallResult } from '#bench/comparison/judge.ts';
import { reasonOf } from '#bench/comparison/load.ts';
import { plotCutOffs } from '#bench/comparison/plot.ts';
import { toMarkdown } from '#bench/comparison/report.ts';
import {
  blankSide,
  type ComparisonResults,
  type LoadResult,
  refusalOf,
  type SideResults,
} from '#bench/comparison/results.ts';
import { replyTo, SCENE, scenesOf } from '#bench/comparison/script.ts';
import { findWins } from '#bench/comparison/wins.ts';
import { prepareScene } from '#caller/scene.ts';

const QUIET: CallResult = {
  greetingMs: 200,
  replyMs: [],
  unanswered: 0,
  pauses: 0,
  premature: 0,
  stopMs: [],
  interruptions: 0,
  missed: 0,
  listenedTo: 0,
  brokenOff: 0,
  heldMs: [],
  wordsOff: [],
  lost: 0,
};
const FAULT = {
  fault: 'voice answers 500',
  heardAfterMs: null,
  nextAnsweredAfterMs: 900,
  wasSentAway: false,
  ownWords: ['Sorry.'],
};
const LEVEL: LoadResult = {
  calls: 4,
  failed: 0,
  minutes: 2,
  seconds: 30,
  cpuSeconds: 4.6,
  peakBytes: 146_800_640,
  replyMs: [700, 900],
  unanswered: 0,
  latenessMs: 2,
  busyShare: 0.4,
  brokeBecause: null,
};

/** A side whose answers took this long in each round. */
function sideOf(name: string, rounds: readonly (readonly number[])[]): SideResults {
  const side = blankSide({ id: name.toLowerCase(), name, setUp: 'its defaults', missing: null });
  rounds.forEach((replyMs, index) => {
    const round = index + 1;
    side.calls.push({ scene: SCENE.questions, round, voice: 'slt', heard: { ...QUIET, replyMs } });
    side.rounds.push({ round, failed: index === 0 ? 1 : 0, unheard: 0, latenessMs: [2], busyShare: 0.4 });
  });
  side.version = '1.0.0';
  side.idle = { cpuShare: 0.02, bytes: 104_857_600 };
  side.loads.push(LEVEL, { ...LEVEL, calls: 8, brokeBecause: '1 question unanswered' });
  side.faults.push(FAULT);
  return side;
}

function runOf(sides: SideResults[], changes: Partial<ComparisonResults> = {}): ComparisonResults {
  return {
    at: '2026-11-22T00:00:00.000Z',
    command: 'npm run compare',
    revision: 'aaa',
    machine: { cpu: 'a processor', cores: 2, node: 'v24', othersShare: 0.02 },
    rounds: 2,
    callsAtOnce: 3,
    voices: ['slt'],
    lossMissing: null,
    isComplete: true,
    sides,
    ...changes,
  };
}

describe('the page of the comparison', () => {
  const sides = [
    sideOf('One', [[600], [600]]),
    sideOf('Other', [[600], [600]]),
    sideOf('Third', [[600], [600]]),
  ];

  it('has a column of figures for every side', () => {
    const page = toMarkdown(runOf(sides));
    expect(page).toContain('| Calls played (failed) | 2 (1) | 2 (1) | 2 (1) |');
    expect(page).toContain('| 600 / 600 / 600 (2) | 600 / 600 / 600 (2) | 600 / 600 / 600 (2) |');
    expect(page).toContain('within 1.5 s | 2 of 2 | 2 of 2 | 2 of 2 |');
    expect(page).toContain('per call-minute, above the idle share | 2.00 | 2.00 | 2.00 |');
    expect(page).toContain('4 calls: memory per call, MiB | 10.0 | 10.0 | 10.0 |');
    expect(page).toContain('| 4 (8: 1 question unanswered) |');
    expect(page).toContain('| voice answers 500 | silence; the next one answered after 0.9 s; says “Sorry.”');
    expect(page).toContain('| Other | 1.0.0 | its defaults | 40 % |');
    expect(page).not.toMatch(/The machine was busy|stopped before its end|left out/);
  });

  it('says when the machine was busy, when the run was stopped, and which side or scene was left out', () => {
    const busy = { cpu: 'a processor', cores: 2, node: 'v24', othersShare: 0.4 };
    expect(toMarkdown(runOf(sides, { machine: busy }))).toContain('The machine was busy');
    expect(toMarkdown(runOf(sides, { isComplete: false }))).toContain('stopped before its end');
    expect(toMarkdown(runOf(sides, { lossMissing: 'no iptables' }))).toContain(
      'The scene of packet loss was left out: no iptables',
    );
    const missing = blankSide({ id: 'm', name: 'Missing', setUp: '', missing: 'not installed' });
    const page = toMarkdown(runOf([...sides, missing]));
    expect(page).toContain('Missing was left out: not installed');
    expect(page).toContain('| Calls played (failed) | 2 (1) | 2 (1) | 2 (1) |');
  });

  it('lists the rows in which another side is better, with both figures and how the sides differ', () => {
    const page = toMarkdown(runOf([sideOf('Parley', [[900], [950]]), sideOf('Other', [[700], [650]])]));
    const wins = page.slice(page.indexOf('## Where the others win'), page.indexOf('## What it costs'));
    expect(wins).toContain(
      '| 900 / 950 / 950 (2) | Other: 650 / 700 / 700 (2) | The sides wait for different',
    );
  });

  it('lists no wins over another side than Parley', () => {
    const page = toMarkdown(runOf([sideOf('One', [[900], [950]]), sideOf('Other', [[700], [650]])]));
    expect(page).toContain('Parley did not take part in this run.');
  });
});

describe('a stopped run', () => {
  const same = { command: 'npm run compare', revision: 'aaa', cpu: 'a processor', cores: 2, node: 'v24' };
  const stopped = runOf([], { isComplete: false });

  it('is continued by the same command, revision and machine', () => {
    expect(refusalOf(stopped, same)).toBeNull();
  });

  it('is not continued by another, because one page would show both', () => {
    expect(refusalOf(stopped, { ...same, revision: 'bbb' })).toContain('revision aaa, and this is bbb');
    expect(refusalOf(stopped, { ...same, command: 'npm run compare -- --no-load' })).toContain(
      'other options: `npm run compare`',
    );
    expect(refusalOf(stopped, { ...same, cores: 4 })).toContain('another machine: 2 cores');
  });
});

describe('another side wins a row', () => {
  const rowsWon = (first: SideResults, other: SideResults) =>
    findWins([first, other]).map(({ row }) => row.id);

  it('if it is better by more than noise', () => {
    expect(rowsWon(sideOf('One', [[900], [900]]), sideOf('Other', [[800], [800]]))).toContain('answers');
    expect(rowsWon(sideOf('One', [[900], [900]]), sideOf('Other', [[880], [880]]))).not.toContain('answers');
  });

  it('not if it was worse in one of the rounds', () => {
    expect(rowsWon(sideOf('One', [[900], [900]]), sideOf('Other', [[500], [950]]))).not.toContain('answers');
  });

  it('if it holds more calls', () => {
    const other = sideOf('Other', [[900]]);
    other.loads.push({ ...LEVEL, calls: 12 });
    expect(rowsWon(sideOf('One', [[900]]), other)).toContain('most');
  });
});

describe('calls at once', () => {
  it('are held while all are connected and answered, nearly as soon as one', () => {
    const alone = { replyMs: [800] };
    expect(reasonOf(LEVEL, alone)).toBeNull();
    expect(reasonOf({ ...LEVEL, failed: 2 }, alone)).toBe('2 calls not connected');
    expect(reasonOf({ ...LEVEL, unanswered: 1 }, alone)).toBe('1 question unanswered');
    expect(reasonOf({ ...LEVEL, replyMs: [900, 1_900] }, alone)).toBe('its answers were over 1 s slower');
    expect(reasonOf({ ...LEVEL, latenessMs: 40 }, alone)).toBe('the callers had too little of the machine');
  });
});

describe('the script', () => {
  it('has scenes that the caller can play, with both voices', () => {
    for (const scene of scenesOf('slt', 'rms', 1))
      expect(prepareScene(scene).actions.length).toBeGreaterThan(3);
  });

  it('lets the agent ask for what the caller then dictates', () => {
    expect(replyTo('"Please call me back."')).toContain('phone number');
    expect(replyTo('"And send me a letter, please."')).toContain('address');
    expect(replyTo('"I want a table."')).toMatch(/outside/);
    expect(replyTo('"Yes."')).toMatch(/how many/);
    expect(replyTo('"Four."')).toMatch(/read that back/);
    expect(replyTo('"oh nine five eight."')).toBe('Of course, that is fine.');
  });
});

it('the plot of cut-offs has a point and a name for every side', () => {
  const picture = plotCutOffs('Cut-offs', [
    { id: 'parley', name: 'One', waitMs: 700, cutOff: 0 },
    { id: 'pipecat', name: 'Other', waitMs: 900, cutOff: 30 },
  ]);
  expect(picture.match(/r="6"/g)).toHaveLength(2);
  expect(picture).toMatch(/>One<.*>Other</s);
});
