/**
 * What answers the outgoing call of a simulated agent, when it is not simply a person: menus, queues with
 * music and announcements, the screening of phones, and people who come at last, wait, and answer oddly. It
 * knows what it is at each moment, which the agent does not.
 */
import { holdMusic } from '#media/leg/hold-music.ts';
import type { Random } from './random.ts';
import type { SimulatedClock } from './simulated-clock.ts';
import type { SimulatedRecognizer } from './simulated-engines.ts';
import type { SimulatedLine } from './simulated-line.ts';
import { emitVoice, timedWords } from './simulated-voice.ts';

/** The true kind of a far end, from one time to another. */
export interface TrueStretch {
  readonly is: 'person' | 'menu' | 'hold' | 'screening';
  readonly fromMs: number;
  untilMs: number;
  /** Time in which the agent talked into music, ms. */
  talkedMs: number;
  /** When a person first said something, all of it; null for others. */
  firstWordsMs: number | null;
  /** When the agent first talked after that. */
  answeredMs: number | null;
}

const MENUS = [
  'Thank you for calling. For sales, press 1. For support, press 2.',
  'Für Rechnungen drücken Sie die 1, für alles andere die 2.',
  'Pour le service client, tapez 1. Pour les ventes, tapez 2.',
  'Para ventas, marque 1. Para soporte, marque 2.',
  'Per le vendite prema 1. Per assistenza prema 2.',
  'Para vendas, digite 1. Para suporte, digite 2.',
];
const QUEUES = [
  'All our agents are busy. Please stay on the line.',
  'Your call is important to us. The next available agent will be with you shortly.',
  'Alle unsere Mitarbeiter sind im Gespräch. Bitte haben Sie etwas Geduld.',
];
const SCREENINGS = [
  'The person you’re calling is using a screening service from Google. Go ahead and say your name and why.',
  'If you record your name and reason for calling, I’ll see if this person is available.',
];
/** Some of them answer oddly. */
const PEOPLE = [
  'Hello?',
  'Yes?',
  'Thanks for holding, this is Maria, how can I help you?',
  'What?',
  'Acme, Tom speaking.',
  'Sorry, I was in the garden, who is this?',
  'Go ahead.',
  'Okay so I was looking for my glasses.',
  'Is this about the car?',
  'Ahoy.',
];
const WORD_MS = [220, 420] as const;
const FRAME_MS = 20;
const FRAME_SAMPLES = 160;
/** The product's own hold music, at the rate of the leg. */
const MUSIC = holdMusic(8_000);

/** Starts the far end; returns its true stretches, which grow. */
export function startFarEnd(options: {
  clock: SimulatedClock;
  random: Random;
  line: SimulatedLine;
  recognizer: SimulatedRecognizer;
}): TrueStretch[] {
  const { clock, line, random, recognizer } = options;
  const stretches: TrueStretch[] = [];
  const plan = sceneOf(random);
  let isMusic = false;
  let at = 0;

  clock.after(random.between(50, 400), () => {
    line.connect();
    listen();
    clock.after(random.between(100, 900), () => begin(0));
  });
  return stretches;

  /** Plays a frame, and notes what the agent does. */
  function listen(): void {
    const stretch = stretches.at(-1);
    if (stretch) noteFrame(stretch);
    const samples = new Int16Array(FRAME_SAMPLES);
    if (isMusic) for (let n = 0; n < FRAME_SAMPLES; n++) samples[n] = MUSIC[at++ % MUSIC.length] ?? 0;
    line.emit({ type: 'audio', slot: 0, atMs: clock.now(), kinds: new Uint8Array(1), samples });
    clock.after(FRAME_MS, listen);
  }

  function noteFrame(stretch: TrueStretch): void {
    stretch.untilMs = clock.now();
    if (isMusic && line.isTalking) stretch.talkedMs += FRAME_MS;
    if (stretch.firstWordsMs !== null && line.isTalking) stretch.answeredMs ??= clock.now();
  }

  function begin(index: number): void {
    const is = plan[index];
    if (is === undefined) {
      line.close('remote');
      return;
    }
    stretches.push({
      is,
      fromMs: clock.now(),
      untilMs: clock.now(),
      talkedMs: 0,
      firstWordsMs: null,
      answeredMs: null,
    });
    const next = () => begin(index + 1);
    if (is === 'menu') menu(random.pick(MENUS), Math.ceil(random.between(0, 3)), next);
    else if (is === 'hold') hold(Math.ceil(random.between(0, 3)), next);
    else if (is === 'screening') screen(next);
    else talk(Math.ceil(random.between(0, 4)), next);
  }

  /** The same menu, again and again. */
  function menu(text: string, times: number, then: () => void): void {
    if (times === 0) then();
    else say(text, () => clock.after(random.between(3_000, 8_000), () => menu(text, times - 1, then)));
  }

  function hold(announcements: number, then: () => void): void {
    isMusic = announcements > 0;
    clock.after(random.between(4_000, 20_000), () => {
      isMusic = false;
      if (announcements <= 0) then();
      else say(random.pick(QUEUES), () => hold(announcements - 1, then));
    });
  }

  function screen(then: () => void): void {
    say(random.pick(SCREENINGS), () =>
      clock.after(random.between(4_000, 9_000), () =>
        say('Thank you. Please stay on the line.', () => clock.after(random.between(1_000, 15_000), then)),
      ),
    );
  }

  /** A person speaks, and lets the agent answer. */
  function talk(times: number, then: () => void): void {
    const stretch = stretches.at(-1);
    if (times === 0) {
      then();
      return;
    }
    say(random.pick(PEOPLE), () => {
      if (stretch) stretch.firstWordsMs ??= clock.now();
      clock.after(random.between(9_000, 14_000), () => whenSilent(() => talk(times - 1, then)));
    });
  }

  function whenSilent(then: () => void): void {
    if (line.isTalking) clock.after(200, () => whenSilent(then));
    else then();
  }

  function say(text: string, then: () => void): void {
    const startMs = clock.now();
    const timed = timedWords(text.split(' '), WORD_MS, { random, startMs });
    recognizer.hear(timed);
    emitVoice({ clock, line }, timed.at(-1)?.endMs ?? startMs, then);
  }
}

/** Some way to a person, who may put the agent on hold again. */
function sceneOf(random: Random): TrueStretch['is'][] {
  return random.pick<TrueStretch['is'][]>([
    ['person'],
    ['menu', 'person'],
    ['hold', 'person'],
    ['menu', 'hold', 'person'],
    ['screening', 'person'],
    ['person', 'hold', 'person'],
    ['menu', 'menu', 'hold', 'person', 'hold', 'person'],
    ['hold'],
    ['menu'],
  ]);
}
