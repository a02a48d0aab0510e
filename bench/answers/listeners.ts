/**
 * Callers who make a sound while the agent speaks, in virtual time: words that only show that they listen,
 * coughs and laughter, which must not cut the agent off, words that are meant to, and a yes to a question
 * after which the agent goes on. The recogniser gives each word 180 ms after its end.
 */
import { quantile } from '#caller/statistics.ts';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { phrasesFor } from '#runtime/turn/text/phrases.ts';
import { TurnScript } from '#test/runtime/turn/turn-script.ts';
import { createRandom } from '#test/simulation/random.ts';
import { FINALISED_MS, WORD_MS } from './callers.ts';
import { HELD_BACK_SOUNDS } from './held-back-sounds.ts';

/** Callers for each sound. */
const CALLERS = 50;
const REPLY = 'We are open from nine in the morning until ten in the evening, and on Sundays until six.';
/** The agent pauses for as much voice, with the default sensitivity. */
const REACHED_MS = 256;
/** From the end of a word to its interim result. */
const INTERIM_MS = 180;
/** The agent says a word in so much time, and the leg reports it. */
const PLAYED_MS = 350;
/** By then the agent has resumed or stopped. */
const SETTLED_MS = 5_000;
/** Coughs, cleared throats and laughter, by the length of their voice. */
const WORDLESS_MS = [120, 200, 320, 500, 900];

interface Words {
  /** Show that the caller listens. */
  readonly listening: readonly string[];
  readonly opened: readonly string[];
  readonly meant: readonly string[];
  /** A question, what the agent says after it, and a yes. */
  readonly asked: readonly [question: string, after: string, yes: string];
}

/**
 * By language. Of `listening` and `opened` the words that cut the agent off were seen before the grammar of
 * acknowledgements was written.
 */
const WORDS: Readonly<Record<string, Words>> = {
  en: {
    listening: ['mhm', 'okay', 'right right', 'oh great', 'uh huh okay', 'sounds good', 'perfect', 'I see'],
    opened: [
      'oh nice',
      'yeah yeah',
      'hm okay',
      'that is great',
      'ah okay good',
      'right okay',
      'mm yeah',
      'oh I see',
    ],
    meant: ['wait', 'stop please', 'no that is wrong', 'hold on a second', 'what about Monday'],
    asked: ['Shall I book it for you?', 'The table is on the terrace, with a view of the river.', 'yes'],
  },
  de: {
    listening: ['mhm', 'ja ja', 'okay gut', 'ach so', 'super', 'prima', 'alles klar', 'genau'],
    opened: ['ja okay', 'ach ja', 'mhm gut', 'aha okay', 'ja genau', 'na dann', 'ja super', 'gut gut'],
    meant: ['warten Sie', 'stopp bitte', 'nein das ist falsch', 'Moment mal', 'und am Montag'],
    asked: [
      'Soll ich das für Sie buchen?',
      'Der Tisch steht auf der Terrasse, mit Blick auf den Fluss.',
      'ja',
    ],
  },
  fr: {
    listening: ['mhm', "d'accord", 'oui oui', 'ah bon', 'très bien', 'ok parfait', 'je vois', 'super'],
    opened: ["oui d'accord", 'ah oui', 'mm oui', 'oh parfait', 'ok ok', 'bien bien', 'ah très bien', 'hm hm'],
    meant: ['attendez', 'stop merci', "non ce n'est pas ça", 'une seconde', 'et le lundi'],
    asked: [
      'Est-ce que je réserve pour vous ?',
      'La table est en terrasse, avec une vue sur la rivière.',
      'oui',
    ],
  },
  es: {
    listening: [
      'ajá',
      'sí sí',
      'vale perfecto',
      'muy bien',
      'ah bueno',
      'de acuerdo',
      'claro claro',
      'ya ya',
    ],
    opened: ['sí claro', 'ah vale', 'ok ok', 'mm sí', 'oh muy bien', 'bueno vale', 'anda', 'sí perfecto'],
    meant: ['espere', 'pare por favor', 'no eso no es', 'un segundo', 'y el lunes'],
    asked: ['¿Se la reservo?', 'La mesa está en la terraza, con vistas al río.', 'sí'],
  },
  it: {
    listening: ['mhm', 'sì sì', 'va bene', 'perfetto', 'ah ok', 'certo certo', 'ho capito', 'benissimo'],
    opened: [
      'sì certo',
      'ah bene',
      'ok ok',
      'mm sì',
      'oh bello',
      'va bene va bene',
      'ah capisco',
      'sì perfetto',
    ],
    meant: ['aspetti', 'si fermi', 'no è sbagliato', 'un secondo', 'e il lunedì'],
    asked: ['Gliela prenoto?', 'Il tavolo è in terrazza, con vista sul fiume.', 'sì'],
  },
  nl: {
    listening: ['mhm', 'ja ja', 'oké prima', 'ah zo', 'goed goed', 'dat is goed', 'begrepen', 'precies'],
    opened: ['ja precies', 'ah oké', 'mm ja', 'ja goed', 'wat fijn', 'oké oké', 'ja hoor', 'ah mooi'],
    meant: ['wacht even', 'stop alstublieft', 'nee dat klopt niet', 'een seconde', 'en op maandag'],
    asked: [
      'Zal ik dat voor u reserveren?',
      'De tafel staat op het terras, met uitzicht op de rivier.',
      'ja',
    ],
  },
  pt: {
    listening: ['uhum', 'sim sim', 'tá bom', 'muito bem', 'ah ok', 'certo certo', 'percebi', 'ótimo'],
    opened: [
      'sim claro',
      'ah tá',
      'ok ok',
      'mm sim',
      'oh que bom',
      'pois claro',
      'ah entendi',
      'sim perfeito',
    ],
    meant: ['espere', 'pare por favor', 'não está errado', 'um segundo', 'e na segunda'],
    asked: ['Posso reservar?', 'A mesa fica na esplanada, com vista para o rio.', 'sim'],
  },
};

/** Replies of one language with one sound each. */
export interface Listened {
  readonly replies: number;
  /** Cut off by a sound that was not meant to, of 100. */
  readonly falsePer100: number;
  /** The same of words that the rules had not seen. */
  readonly heldBackPer100: number;
  /** Not cut off by words that were, of 100. */
  readonly missedPer100: number;
  /** From the first sound of such words to the agent's last, ms. */
  readonly silentP50Ms: number;
  readonly silentP95Ms: number;
  /** Not stopped by a yes to its question, of 100: the answer was lost. */
  readonly unansweredPer100: number;
}

/** By language. */
export function listened(): Readonly<Record<string, Listened>> {
  return Object.fromEntries(
    Object.entries(WORDS).map(([language, words]) => [language, listenedIn(language, words)]),
  );
}

function listenedIn(language: string, { asked, listening, meant, opened }: Words): Listened {
  const heldBack = HELD_BACK_SOUNDS[language];
  const over = (texts: readonly string[]) => texts.flatMap((text) => replies(sound(text), language));
  const wordless = WORDLESS_MS.flatMap((ms) => replies(sound(null, ms), language));
  const heard = [...over([...listening, ...opened]), ...wordless];
  const unseen = over(heldBack?.listening.split('|') ?? []);
  const intended = over([...meant, ...(heldBack?.meant.split('|') ?? [])]);
  const silences = intended.filter((ms) => ms !== null);
  const [question, after, yes] = asked;
  const answers = replies(sound(yes), language, { reply: `${question} ${after}`, from: question });
  return {
    replies: heard.length + unseen.length,
    falsePer100: per100(heard, (ms) => ms !== null),
    heldBackPer100: per100(unseen, (ms) => ms !== null),
    missedPer100: per100(intended, (ms) => ms === null),
    silentP50Ms: Math.round(quantile(silences, 0.5)),
    silentP95Ms: Math.round(quantile(silences, 0.95)),
    unansweredPer100: per100(answers, (ms) => ms === null),
  };
}

/** Share of the replies of which it is true. */
function per100(replied: readonly Silence[], isCounted: (silence: Silence) => boolean): number {
  return Math.round((1_000 * replied.filter(isCounted).length) / replied.length) / 10;
}

/** From the first sound to the agent's last, ms; null if it was not cut off. */
type Silence = number | null;

interface Sound {
  readonly text: string | null;
  readonly voicedMs: number;
}

function sound(text: string | null, voicedMs = WORD_MS * (text?.split(' ').length ?? 0)): Sound {
  return { text, voicedMs };
}

/** The reply that the sound is made over; `from` are its words before that, none for any time. */
interface Over {
  readonly reply: string;
  readonly from: string;
}

/** Each caller's silence. */
function replies(made: Sound, language: string, over: Over = { reply: REPLY, from: '' }): readonly Silence[] {
  return Array.from({ length: CALLERS }, (_, seed) => silenceAfter(made, language, over, 1 + seed));
}

function silenceAfter({ text, voicedMs }: Sound, language: string, over: Over, seed: number): Silence {
  const random = createRandom(seed);
  const settings = { language, phrases: phrasesFor(language) };
  const script = TurnScript.speaking(over.reply, settings);
  const spokenMs = script.nowMs;
  const words = over.from === '' ? 0 : over.from.split(' ').length;
  const startMs =
    spokenMs + (words === 0 ? random.between(300, 3_000) : words * PLAYED_MS + random.between(0, 1_000));
  const lastsMs = Math.round(voicedMs * random.between(0.8, 1.3));
  const facts: readonly { readonly ms: number; readonly fact: TurnFact }[] = [
    { ms: startMs, fact: { type: 'voice.started', speechStartMs: startMs } },
    ...(lastsMs < REACHED_MS
      ? []
      : [{ ms: startMs + REACHED_MS, fact: { type: 'voice.reached' as const, voicedMs: REACHED_MS } }]),
    {
      ms: startMs + lastsMs,
      fact: { type: 'voice.stopped', speechEndMs: startMs + lastsMs, voicedMs: lastsMs },
    },
    ...(text === null ? [] : recognised(text, startMs, lastsMs)),
  ];
  const playing = Array.from({ length: SETTLED_MS / PLAYED_MS }, (_, index) => ({
    ms: spokenMs + index * PLAYED_MS,
    fact: {
      type: 'playout.progressed' as const,
      replyId: 'r1',
      heardChars: over.reply.split(' ').slice(0, index).join(' ').length,
    },
  }));
  for (const { ms, fact } of [...playing, ...facts].toSorted((a, b) => a.ms - b.ms)) script.at(ms).take(fact);
  script.at(startMs + SETTLED_MS);
  const silentMs = silentAtMs(script);
  return silentMs === null ? null : silentMs - startMs;
}

/** Interim words as they end, and all of them once they are requested. */
function recognised(
  text: string,
  startMs: number,
  lastsMs: number,
): readonly { readonly ms: number; readonly fact: TurnFact }[] {
  const words = text.split(' ');
  const interims = words.map((_, index) => ({
    ms: Math.round(startMs + (lastsMs * (index + 1)) / words.length + INTERIM_MS),
    fact: { type: 'transcript.interim' as const, text: words.slice(0, index + 1).join(' ') },
  }));
  const final = { type: 'transcript.final' as const, text };
  return [...interims, { ms: startMs + lastsMs + FINALISED_MS, fact: final }];
}

/** When the agent was silent for good; null if it was not cut off. */
function silentAtMs({ effects }: TurnScript): number | null {
  const cut = effects.findIndex((effect) => effect.do === 'clear');
  if (cut < 0) return null;
  const before = effects.slice(0, cut);
  const paused = before.findLastIndex((effect) => effect.do === 'pause');
  const resumed = before.findLastIndex((effect) => effect.do === 'resume');
  return (paused > resumed ? before[paused] : effects[cut])?.atMs ?? null;
}
