/** Made sounds of the far end of an outgoing call, as real audio at 8 kHz: kinds of hold, and speech. */
import { speak } from '#caller/spoken.ts';
import { decodeG711, encodeG711 } from '#media/dsp/g711.ts';
import { fillKeyTone } from '#media/dsp/tones.ts';
import { holdMusic } from '#media/leg/hold-music.ts';

const RATE_HZ = 8_000;
const SECONDS = 10;

/** A sound, and whether it is a queue's. */
export interface LineSound {
  readonly name: string;
  readonly isMusic: boolean;
  readonly samples: Int16Array;
}

const samplesOf = (ms: number) => Math.round((RATE_HZ * ms) / 1_000);
const sine = (hz: number, n: number) => Math.sin((2 * Math.PI * hz * n) / RATE_HZ);

/** Samples computed one by one. */
function made(at: (n: number, ms: number) => number, seconds = SECONDS): Int16Array {
  return Int16Array.from({ length: RATE_HZ * seconds }, (_, n) => at(n, (n * 1_000) / RATE_HZ));
}

/** Repeats or cuts to ten seconds. */
function tenSeconds(samples: Int16Array): Int16Array {
  return made((n) => samples[n % samples.length] ?? 0);
}

function joined(...parts: readonly Int16Array[]): Int16Array {
  return Int16Array.from(parts.flatMap((part) => [...part]));
}

const silence = (ms: number) => new Int16Array(samplesOf(ms));

/** A small pseudo-random generator: the sounds are the same at each run. */
function noise(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

/** Chords of an organ that change every second. */
function chords(): Int16Array {
  const roots = [262, 220, 175, 196];
  return made((n, ms) => {
    const root = roots[Math.floor(ms / 1_000) % roots.length] ?? 262;
    return 1_500 * (sine(root, n) + sine(root * 1.26, n) + sine(root * 1.5, n) + 0.5 * sine(root * 2, n));
  });
}

/** A melody over chords with a drum on each beat. */
function song(): Int16Array {
  const hiss = noise(5);
  const melody = [523, 587, 659, 523, 784, 698, 659, 587];
  return made((n, ms) => {
    const beat = ms % 500;
    const note = melody[Math.floor(ms / 250) % melody.length] ?? 523;
    const root = [131, 110, 175, 196][Math.floor(ms / 2_000) % 4] ?? 131;
    const drum = 2_500 * Math.exp(-beat / 30) * hiss();
    return (
      1_800 * sine(note, n) + 1_200 * (sine(root * 2, n) + sine(root * 2.52, n) + sine(root * 3, n)) + drum
    );
  });
}

/** Strings: a melody of long notes with vibrato and harmonics. */
function strings(): Int16Array {
  const melody = [440, 494, 523, 587, 523, 494];
  let phase = 0;
  return made((_, ms) => {
    const note = melody[Math.floor(ms / 800) % melody.length] ?? 440;
    phase += (2 * Math.PI * note * (1 + 0.006 * Math.sin((2 * Math.PI * 5.5 * ms) / 1_000))) / RATE_HZ;
    return [1, 0.6, 0.4, 0.25].reduce(
      (sum, level, index) => sum + 2_000 * level * Math.sin(phase * (index + 1)),
      0,
    );
  });
}

const tones = (on: number, off: number, ...hz: readonly number[]) =>
  made((n, ms) => (ms % (on + off) < on ? hz.reduce((sum, each) => sum + 4_000 * sine(each, n), 0) : 0), 20);

const keys = () => {
  const key = new Int16Array(samplesOf(160));
  const pressed = [...'1234'].flatMap((digit) => {
    fillKeyTone(digit, RATE_HZ, 0, key);
    return [key.slice(), silence(120)];
  });
  return joined(...pressed);
};

/** Everything. Spoken with Flite's voices. */
export function lineSounds(): LineSound[] {
  const say = (text: string, voice: 'slt' | 'kal' = 'slt') => speak(text, { rateHz: RATE_HZ, voice }).samples;
  const busy = 'All our agents are busy. Please stay on the line.';
  const menu =
    'Thank you for calling. For sales, press one. For support, press two. To speak to somebody, press zero.';
  const talk =
    'So what happened is that I ordered it on Monday, and then on Tuesday they told me that it would ' +
    'arrive the next day, but when I came home there was nothing at all, and the neighbours had not seen ' +
    'anybody either.';
  const hum = made((n, ms) => 3_000 * Math.min(1, ms / 100) * sine(150 + 8 * sine(2, n), n), 1);
  const hiss = noise(9);
  return [
    { name: 'music on hold of this product', isMusic: true, samples: tenSeconds(holdMusic(RATE_HZ)) },
    { name: 'an organ', isMusic: true, samples: chords() },
    { name: 'a song with drums', isMusic: true, samples: song() },
    { name: 'strings with vibrato', isMusic: true, samples: strings() },
    {
      name: 'music with announcements',
      isMusic: true,
      samples: joined(
        chords().subarray(0, samplesOf(4_000)),
        say(busy),
        chords().subarray(0, samplesOf(4_000)),
      ),
    },
    { name: 'ringing, Europe: 425 Hz', isMusic: true, samples: tones(1_000, 4_000, 425) },
    { name: 'ringing, North America: 440 and 480 Hz', isMusic: true, samples: tones(2_000, 4_000, 440, 480) },
    { name: 'silence with beeps', isMusic: true, samples: tones(200, 4_800, 1_400) },
    { name: 'silence', isMusic: false, samples: made(() => 0) },
    { name: 'noise of a line', isMusic: false, samples: made(() => 120 * hiss()) },
    { name: 'noise of a street', isMusic: false, samples: made(() => 1_500 * hiss()) },
    { name: 'a menu, a woman’s voice', isMusic: false, samples: say(menu) },
    {
      name: 'a menu with key tones',
      isMusic: false,
      samples: joined(say(menu, 'kal'), keys(), say(menu, 'kal')),
    },
    { name: 'a person who talks, a man’s voice', isMusic: false, samples: say(talk, 'kal') },
    { name: 'a person who talks, a woman’s voice', isMusic: false, samples: say(talk) },
    {
      name: '“Hello?” … “Hello?”',
      isMusic: false,
      samples: joined(
        silence(1_000),
        say('Hello?'),
        silence(1_500),
        say('Hello?'),
        silence(1_500),
        say('Hello?'),
      ),
    },
    {
      name: '“Hm …” and a pause, twice',
      isMusic: false,
      samples: joined(silence(800), hum.subarray(0, samplesOf(500)), silence(900), hum, silence(900)),
    },
    {
      name: 'a mailbox and its beep',
      isMusic: false,
      samples: joined(
        say('Please leave a message after the tone.'),
        tones(400, 5_000, 1_000).subarray(0, samplesOf(3_000)),
      ),
    },
  ];
}

/** A sound as it arrives: through G.711, with some noise. */
export function overTheLine(samples: Int16Array): Int16Array {
  const hiss = noise(3);
  const noisy = samples.map((sample) => Math.max(-32_000, Math.min(32_000, sample + 40 * hiss())));
  const bytes = new Uint8Array(noisy.length);
  encodeG711('PCMU', noisy, bytes, 0);
  const line = new Int16Array(noisy.length);
  decodeG711('PCMU', bytes, line);
  return line;
}
