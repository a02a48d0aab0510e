/**
 * Callers who talk in turns, with pauses within a turn. The turn machine is the product's; model and voice
 * need between 0.6 and 1 s together. A caller who hears the agent before going on listens instead, unless it
 * is too late to stop. What they would have said is known here, so the true cut-offs are, too.
 */
import type { Setting } from '#control-plane/operations/learning/candidates.ts';
import type { ReadFlightLog } from '#runtime/turn/loop/flight-log.ts';
import type { TurnInput } from '#runtime/turn/machine/turn-inputs.ts';
import { TURN_MACHINE_VERSION } from '#runtime/turn/machine/turn-state.ts';
import { TurnScript } from '#test/runtime/turn/turn-script.ts';
import { createRandom, logNormal, type Random } from '../random.ts';

/** How the callers of a population talk. */
interface Manner {
  /** Share of breaths after which they go on after a pause, and that pause: its median, ms. */
  readonly goesOn: number;
  readonly pauseMs: number;
  /** Texts of breaths that are not the last, and of those that are. */
  readonly parts: readonly string[];
  readonly ends: readonly string[];
  readonly question: string;
}

const ENDS = ['I want to book a table.', 'for two people please', 'tomorrow at seven', 'That is right.'];
const PARTS = [
  'we are looking for a table',
  'it is about my booking',
  'I called yesterday.',
  'there are two of us',
];
const OPEN = 'What can I do for you today.';

const QUICK: Manner = { goesOn: 0.12, pauseMs: 260, parts: PARTS, ends: ENDS, question: OPEN };
const SLOW: Manner = {
  ...{ goesOn: 0.3, pauseMs: 520, question: OPEN },
  parts: ['we are looking for a table', 'it is about my booking', 'there are two of us'],
  ends: ['I want to book a table.', 'For two people, please.', 'Tomorrow at seven.', 'that is all'],
};
const HESITATING: Manner = {
  ...{ goesOn: 0.45, pauseMs: 560, ends: ENDS, question: OPEN },
  parts: ['I would like um', 'maybe a table and', 'it is for', 'we would be', 'so it is about the'],
};
const DICTATING: Manner = {
  ...{ goesOn: 0.55, pauseMs: 420, ends: ['seven two', 'nine nine one two'], question: 'Please go on.' },
  parts: ['five five one', 'two four', 'double three', 'seven'],
};

/** No two seeds have a caller in common. */
const SEEDS_APART = 1_000_000;
/** Calls after which drifting callers have become others. */
const DRIFTED = 10_000;

/** Populations: the manner of the caller of each call. */
export const POPULATIONS = {
  quick: () => QUICK,
  slow: () => SLOW,
  hesitating: () => HESITATING,
  dictating: () => DICTATING,
  mixed: (random: Random) => random.pick([QUICK, QUICK, SLOW, HESITATING, DICTATING]),
  /** Quick callers at first, hesitating ones in the end. */
  drifting: (random: Random, call: number) => (random.chance(call / DRIFTED) ? HESITATING : QUICK),
} as const satisfies Record<string, (random: Random, call: number) => Manner>;
export type Population = keyof typeof POPULATIONS;

/** One simulated call. */
export interface RegretCall {
  readonly log: ReadFlightLog;
  /** What really happened: turns taken, callers cut off, and the wait in the other turns, ms. */
  readonly turns: number;
  readonly cutOffs: number;
  readonly waitMs: number;
}

const TURNS = [4, 9] as const;
/** From the moment the turn is taken until the agent is heard. */
const ANSWER_MS = [600, 1_000] as const;
const REPLY_MS = 1_200;
/** A caller needs so long to stop after hearing the agent. */
const REACTION_MS = 250;
const WINDOW_MS = 1_500;
const MOST_BREATHS = 6;
const TICK_MS = 20;
const LAST_MS = 9_000;

/**
 * Runs a call under a setting: the caller draws the same whatever the setting is. Calls are numbered from 1;
 * another `seed` has other callers.
 */
export function callOf(population: Population, call: number, setting: Setting, seed = 0): RegretCall {
  return new RegretCaller(population, { call, seed }, setting).run();
}

/** A pause so far: when the turn was taken and the agent heard; null until then. */
interface Pause {
  takenMs: number | null;
  heardMs: number | null;
}

class RegretCaller {
  readonly #random: Random;
  readonly #manner: Manner;
  readonly #inputs: TurnInput[] = [];
  readonly #script: TurnScript;
  readonly #truth = { turns: 0, cutOffs: 0, waitMs: 0 };
  /** A hold line of the agent. */
  #line: { readonly replyId: string; readonly isHeard: boolean } | null = null;
  readonly #cleared: string[] = [];
  #asked: { readonly replyId: string; readonly atMs: number } | null = null;

  constructor(
    population: Population,
    { call, seed }: { readonly call: number; readonly seed: number },
    setting: Setting,
  ) {
    this.#random = createRandom(seed * SEEDS_APART + call);
    this.#manner = POPULATIONS[population](this.#random, call);
    this.#script = new TurnScript(
      { eagerness: setting.eagerness, responseWaitMs: setting.response_wait_ms, responseMaxWaitMs: null },
      (input, effects) => {
        this.#inputs.push(input);
        for (const effect of effects) {
          if (effect.do === 'say') this.#line = { replyId: effect.replyId, isHeard: false };
          else if (effect.do === 'clear') this.#cleared.push(effect.replyId);
          else if (effect.do === 'generate') this.#asked = { replyId: effect.replyId, atMs: input.atMs };
          else if (effect.do === 'discard' && effect.replyId === this.#asked?.replyId) this.#asked = null;
        }
      },
    );
  }

  run(): RegretCall {
    const { config } = this.#script.state;
    this.#script.take({ type: 'call.started' }, { type: 'call.connected' }).after(500);
    const turns = Math.round(this.#random.between(...TURNS));
    for (let turn = 0; turn < turns; turn += 1) this.#turn(this.#random.fork());
    const log: ReadFlightLog = {
      header: {
        flight_log_version: 1,
        machine_version: TURN_MACHINE_VERSION,
        ...{ session_id: 'simulated', seed: 0, started_at_ms: 0, wall_time: '2026-01-01T00:00:00.000Z' },
        config,
      },
      inputs: this.#inputs,
    };
    return { log, ...this.#truth };
  }

  /** A turn of the caller, to the end of the agent's reply. Draws the same under every setting. */
  #turn(random: Random): void {
    const { goesOn, pauseMs, parts, ends } = this.#manner;
    const answerMs = random.between(...ANSWER_MS);
    const breaths: { readonly text: string; readonly gapMs: number }[] = [];
    while (breaths.length < MOST_BREATHS && random.chance(goesOn))
      breaths.push({ text: random.pick(parts), gapMs: logNormal(random, pauseMs) });
    breaths.push({ text: random.pick(ends), gapMs: Number.POSITIVE_INFINITY });
    const thinksMs = random.between(300, 900);
    for (const { text, gapMs } of breaths) {
      const endMs = this.#say(text);
      if (this.#pause(endMs, gapMs, answerMs) === 'answered') break;
    }
    this.#script.after(thinksMs);
  }

  #say(text: string): number {
    const script = this.#script;
    this.#asked = null;
    const voicedMs = Math.max(320, text.split(' ').length * 260);
    script.take({ type: 'voice.started', speechStartMs: script.nowMs }).after(300);
    script.take({ type: 'transcript.interim', text }).after(voicedMs - 300);
    this.#serve();
    script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs });
    this.#said = { text, atMs: script.nowMs + 240 };
    return script.nowMs;
  }

  #said: { readonly text: string; readonly atMs: number } | null = null;

  /** Silence after a breath: until the caller goes on, or the agent's reply is over. */
  #pause(endMs: number, gapMs: number, answerMs: number): 'answered' | 'goes_on' {
    const script = this.#script;
    const pause: Pause = { takenMs: null, heardMs: null };
    const untilMs = endMs + Math.min(gapMs, LAST_MS);
    while (script.nowMs < untilMs && script.nowMs - (pause.heardMs ?? script.nowMs) <= REACTION_MS) {
      script.at(Math.min(untilMs, script.nowMs + TICK_MS));
      this.#listen(pause, answerMs);
    }
    this.#note(pause.takenMs === null ? null : pause.takenMs - endMs, gapMs);
    if (pause.heardMs === null) return 'goes_on';
    script.after(REPLY_MS);
    if (this.#line) {
      const { replyId } = this.#line;
      this.#line = null;
      script.take({ type: 'playout.finished', replyId, heard: 'One moment, please.' });
      if (this.#asked) this.#reply(this.#asked.replyId);
      script.after(REPLY_MS);
    }
    const replyId = this.#asked?.replyId ?? '';
    script.take({ type: 'playout.finished', replyId, heard: this.#manner.question });
    return 'answered';
  }

  /** What has happened since the last tick. */
  #listen(pause: Pause, answerMs: number): void {
    const { nowMs } = this.#script;
    this.#finalise();
    if (this.#serve()) pause.heardMs ??= nowMs;
    if (!this.#asked) return;
    pause.takenMs ??= this.#asked.atMs;
    if (pause.heardMs !== null || nowMs < pause.takenMs + answerMs) return;
    pause.heardMs = nowMs;
    this.#reply(this.#asked.replyId);
  }

  /** Plays a hold line and clears what was stopped; true if a hold line begins. */
  #serve(): boolean {
    const line = this.#line;
    for (const replyId of this.#cleared.splice(0)) {
      if (line?.replyId === replyId) this.#line = null;
      this.#script.take({ type: 'playout.cleared', replyId, heard: '', isExact: true });
    }
    if (!line || line.isHeard || this.#line === null) return false;
    this.#line = { ...line, isHeard: true };
    const { replyId } = line;
    const wireMs = this.#script.nowMs;
    this.#script.take({ type: 'reply.audible', replyId }, { type: 'playout.started', replyId, wireMs });
    return true;
  }

  #finalise(): void {
    const said = this.#said;
    if (!said || this.#script.nowMs < said.atMs) return;
    this.#said = null;
    this.#script.take({ type: 'transcript.final', text: said.text }, { type: 'transcript.finalised' });
  }

  #reply(replyId: string): void {
    const { question } = this.#manner;
    this.#script.take(
      { type: 'reply.token', replyId },
      { type: 'reply.piece', replyId, text: question },
      { type: 'reply.generated', replyId },
      { type: 'reply.audible', replyId },
      { type: 'playout.started', replyId, wireMs: this.#script.nowMs },
    );
  }

  #note(takenAfterMs: number | null, gapMs: number): void {
    if (takenAfterMs === null) return;
    this.#truth.turns += 1;
    if (gapMs <= takenAfterMs + WINDOW_MS) this.#truth.cutOffs += 1;
    else this.#truth.waitMs += takenAfterMs;
  }
}
