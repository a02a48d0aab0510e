/** A caller made of chance: speaks, hesitates, interrupts, coughs, presses keys, types, goes quiet, hangs up. It does not listen, which makes every overlap likely. */

import type { Random } from './random.ts';
import type { SimulatedClock } from './simulated-clock.ts';
import type { SimulatedRecognizer } from './simulated-engines.ts';
import type { SimulatedLeg } from './simulated-leg.ts';

const WORDS = 'book a table for two please tomorrow at seven my number is five five one and then yes okay no wait stop thanks'.split(' ');
const ASIDES = ['okay', 'yeah', 'mhm', 'uh huh'];

/** Something the caller did that an answer may wait for, or that excuses it. */
export interface CallerAct {
  readonly atMs: number;
  readonly what: string;
}

/** Lets a caller loose on a leg; returns what it did. */
export function startSimulatedCaller(options: {
  clock: SimulatedClock;
  random: Random;
  leg: SimulatedLeg;
  recognizer: SimulatedRecognizer | null;
  untilMs: number;
}): CallerAct[] {
  const { clock, leg, random, recognizer, untilMs } = options;
  const acts: CallerAct[] = [];
  const note = (what: string) => acts.push({ atMs: clock.now(), what });
  const stays = random.chance(0.3);

  clock.after(random.between(0, 300), () => {
    leg.tell({ type: 'connected', atMs: clock.now() });
    next();
  });

  function next(): void {
    const pauseMs = random.chance(0.4) ? random.between(100, 900) : random.between(900, 7_000);
    clock.after(pauseMs, () => {
      if (clock.now() <= untilMs) act();
      else if (!stays) leg.close('remote');
    });
  }

  function act(): void {
    const choice = random.next();
    if (choice < 0.12) say([random.pick(ASIDES)]);
    else if (choice < 0.72) say(phrase());
    else if (choice < 0.84) cough();
    else doOther();
  }

  function phrase(): string[] {
    return Array.from({ length: Math.ceil(random.between(0, 9)) }, () => random.pick(WORDS));
  }

  function say(words: readonly string[]): void {
    const startMs = clock.now();
    let endMs = startMs;
    const timed = words.map((text) => {
      endMs += random.between(150, 420);
      return { text, endMs };
    });
    note('voice');
    if (recognizer && !random.chance(0.02)) recognizer.hear(timed);
    voice(startMs, endMs);
  }

  function cough(): void {
    note('voice');
    voice(clock.now(), clock.now() + random.between(60, 900));
  }

  /** What the detector makes of a stretch of voice. */
  function voice(startMs: number, endMs: number): void {
    const voicedMs = endMs - startMs;
    clock.after(64, () => leg.tell({ type: 'voice.onset', atMs: startMs, decidedAtMs: clock.now() }));
    for (const reachMs of [128, 256, 512, 700]) {
      clock.after(reachMs, () => {
        if (reachMs <= voicedMs && leg.reachMs === reachMs) leg.tell({ type: 'voice.reached', atMs: clock.now(), voicedMs: reachMs });
      });
    }
    clock.after(Math.max(70, voicedMs + 100), () => {
      note('voice');
      leg.tell({ type: 'voice.offset', atMs: endMs, decidedAtMs: clock.now(), voicedMs });
      next();
    });
  }

  function doOther(): void {
    const what = random.pick(['digits', 'message', 'interrupt', 'activity', 'garbage'] as const);
    note(what);
    const atMs = clock.now();
    if (what === 'digits')
      for (const digit of ['1', '2', '#'].slice(0, Math.ceil(random.between(0, 3))))
        leg.tell({ type: 'digit', atMs, digit, durationMs: 80, source: 'rfc4733' });
    else if (what === 'message')
      leg.tell({ type: 'message', atMs, text: JSON.stringify({ type: 'user.message', text: 'typed words', audio: random.chance(0.8) }) });
    else if (what === 'interrupt') leg.tell({ type: 'message', atMs, text: '{"type":"user.interrupt"}' });
    else if (what === 'activity') leg.tell({ type: 'message', atMs, text: '{"type":"user.activity"}' });
    else leg.tell({ type: 'message', atMs, text: '{"type":' });
    next();
  }

  return acts;
}
