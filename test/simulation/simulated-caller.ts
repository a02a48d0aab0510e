/**
 * A random caller: speaks, hesitates, interrupts, coughs, presses keys, types, goes quiet, hangs up, loses
 * the connection. Most do not listen, which makes every overlap likely; each has a temper.
 */

import type { Random } from './random.ts';
import type { SimulatedClock } from './simulated-clock.ts';
import type { SimulatedRecognizer } from './simulated-engines.ts';
import type { SimulatedLine } from './simulated-line.ts';
import { emitVoice, timedWords } from './simulated-voice.ts';

const WORDS = (
  'book a table for two please tomorrow at seven my number is five five one and then yes okay no wait ' +
  'stop thanks'
).split(' ');
const ASIDES = ['okay', 'yeah', 'mhm', 'uh huh'];
const WORD_MS = [150, 420] as const;

/** An action of the caller that an answer may wait for, or that excuses its absence. */
export interface CallerAct {
  readonly atMs: number;
  /** Voice has a duration; all other acts are instantaneous. */
  readonly untilMs: number;
  readonly what: string;
}

/** A caller's behaviour, as shares and ms. */
interface Temper {
  /** Share of pauses that are mere hesitation within a thought. */
  readonly hesitates: number;
  readonly pauseMs: readonly [number, number];
  readonly mostWords: number;
  readonly vocabulary: readonly string[];
  /** Share of phrases started as soon as the agent speaks. */
  readonly interrupts: number;
}

const TEMPERS: readonly Temper[] = [
  { hesitates: 0.4, pauseMs: [900, 7_000], mostWords: 9, vocabulary: WORDS, interrupts: 0 },
  // Talkative.
  { hesitates: 0.6, pauseMs: [300, 2_500], mostWords: 25, vocabulary: WORDS, interrupts: 0.2 },
  // Hesitant: "a table for... for two and..."
  { hesitates: 0.8, pauseMs: [900, 4_000], mostWords: 4, vocabulary: WORDS, interrupts: 0 },
  // Interrupting.
  { hesitates: 0.3, pauseMs: [500, 3_000], mostWords: 6, vocabulary: WORDS, interrupts: 0.8 },
  // Silent.
  { hesitates: 0, pauseMs: [8_000, 40_000], mostWords: 3, vocabulary: WORDS, interrupts: 0 },
  // Spelling a name.
  {
    hesitates: 0.7,
    pauseMs: [800, 4_000],
    mostWords: 8,
    vocabulary: [...'abcdefghijklm', 'double', 'as', 'in', 'delta', 'my', 'name', 'is'],
    interrupts: 0,
  },
  // Answers questions, numbers in groups: "five five one … five two", "yes … but outside".
  {
    hesitates: 0.7,
    pauseMs: [900, 5_000],
    mostWords: 3,
    vocabulary: 'yes no please but outside thanks five one two double 555 1234'.split(' '),
    interrupts: 0,
  },
];

/** Share of web callers' acts at which the connection breaks. */
const BREAKS = 0.06;
/** A process suspended for longer is killed. */
const LONGEST_STANDSTILL_MS = 2_000;
/** Interval at which the caller checks whether the agent speaks. */
const LISTEN_MS = 50;

/** Starts a caller on a line; returns its acts. */
export function startSimulatedCaller(options: {
  clock: SimulatedClock;
  random: Random;
  line: SimulatedLine;
  canBreak: boolean;
  recognizer: SimulatedRecognizer | null;
  untilMs: number;
}): CallerAct[] {
  const { canBreak, clock, line, random, recognizer, untilMs } = options;
  const acts: CallerAct[] = [];
  const note = (what: string, sinceMs = clock.now()) =>
    acts.push({ atMs: sinceMs, untilMs: clock.now(), what });
  const stays = random.chance(0.3);
  const temper = random.pick(TEMPERS);

  clock.after(random.between(0, 300), () => {
    line.connect();
    next();
  });

  function next(): void {
    const pauseMs = random.chance(temper.hesitates)
      ? random.between(100, 900)
      : random.between(...temper.pauseMs);
    const interrupts = random.chance(temper.interrupts);
    clock.after(pauseMs, () => (interrupts ? whenTalking(act) : act()));
  }

  /** Waits a while for the agent to speak. */
  function whenTalking(then: () => void, triesLeft = 60): void {
    if (line.isTalking || triesLeft === 0) then();
    else clock.after(LISTEN_MS, () => whenTalking(then, triesLeft - 1));
  }

  function act(): void {
    if (clock.now() > untilMs) {
      if (!stays) line.close('remote');
      return;
    }
    if (canBreak && random.chance(BREAKS)) lose();
    const choice = random.next();
    const did = [
      { upTo: 0.12, act: () => say([random.pick(ASIDES)]) },
      { upTo: 0.72, act: () => say(phrase()) },
      { upTo: 0.84, act: cough },
      { upTo: 0.85, act: sleep },
      { upTo: 1, act: doOther },
    ].find(({ upTo }) => choice < upTo);
    did?.act();
  }

  function lose(): void {
    note('lost');
    line.breakOff();
  }

  /** Suspends the machine that runs the call. */
  function sleep(): void {
    note('clock jump');
    clock.jump(random.between(500, LONGEST_STANDSTILL_MS));
    note('clock jump');
    next();
  }

  function phrase(): string[] {
    return Array.from({ length: Math.ceil(random.between(0, temper.mostWords)) }, () =>
      random.pick(temper.vocabulary),
    );
  }

  function say(words: readonly string[]): void {
    const startMs = clock.now();
    const timed = timedWords(words, WORD_MS, { random, startMs });
    if (recognizer && !random.chance(0.02)) recognizer.hear(timed);
    voice(timed.at(-1)?.endMs ?? startMs);
  }

  function cough(): void {
    voice(clock.now() + random.between(60, 900));
  }

  function voice(endMs: number): void {
    const startMs = clock.now();
    emitVoice({ clock, line }, endMs, () => {
      note('voice', startMs);
      next();
    });
  }

  function doOther(): void {
    const what = random.pick(['digits', 'message', 'interrupt', 'activity', 'garbage'] as const);
    note(what);
    const atMs = clock.now();
    if (what === 'digits')
      for (const digit of ['1', '2', '#'].slice(0, Math.ceil(random.between(0, 3))))
        line.emit({ type: 'digit', atMs, digit, durationMs: 80, source: 'rfc4733' });
    else if (what === 'message')
      line.emit({
        type: 'message',
        atMs,
        text: JSON.stringify({ type: 'user.message', text: 'typed words', audio: random.chance(0.8) }),
      });
    else if (what === 'interrupt') line.emit({ type: 'message', atMs, text: '{"type":"user.interrupt"}' });
    else if (what === 'activity') line.emit({ type: 'message', atMs, text: '{"type":"user.activity"}' });
    else line.emit({ type: 'message', atMs, text: '{"type":' });
    next();
  }

  return acts;
}
