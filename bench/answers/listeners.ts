/**
 * Callers who make a sound while the agent speaks, in virtual time: words that only show that they listen,
 * coughs and laughter, which must not cut the agent off, and words that are meant to.
 */
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { phrasesFor } from '#runtime/turn/text/phrases.ts';
import { TurnScript } from '#test/runtime/turn/turn-script.ts';
import { createRandom } from '#test/simulation/random.ts';
import { FINALISED_MS, WORD_MS } from './callers.ts';

/** Callers for each sound. */
const CALLERS = 50;
const REPLY = 'We are open from nine in the morning until ten in the evening, and on Sundays until six.';
/** The agent pauses for as much voice, with the default sensitivity. */
const REACHED_MS = 256;
/** From the first word to its interim result. */
const INTERIM_MS = 300;
/** Between reports that the reply is being played. */
const PLAYED_MS = 500;
/** By then the agent has resumed or stopped. */
const SETTLED_MS = 5_000;
/** Coughs, cleared throats and laughter, by the length of their voice. */
const WORDLESS_MS = [120, 200, 320, 500, 900];

interface Words {
  /** Show that the caller listens. */
  readonly listening: readonly string[];
  readonly unseen: readonly string[];
  readonly meant: readonly string[];
}

/**
 * By language. The first figures of `listening` showed words that cut the agent off, such as "perfect", and
 * the lists of acknowledgements were extended. `unseen` was written afterwards.
 */
const WORDS: Readonly<Record<string, Words>> = {
  en: {
    listening: ['mhm', 'okay', 'right right', 'oh great', 'uh huh okay', 'sounds good', 'perfect', 'I see'],
    unseen: [
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
  },
  de: {
    listening: ['mhm', 'ja ja', 'okay gut', 'ach so', 'super', 'prima', 'alles klar', 'genau'],
    unseen: ['ja okay', 'ach ja', 'mhm gut', 'aha okay', 'ja genau', 'na dann', 'ja super', 'gut gut'],
    meant: ['warten Sie', 'stopp bitte', 'nein das ist falsch', 'Moment mal', 'und am Montag'],
  },
  fr: {
    listening: ['mhm', "d'accord", 'oui oui', 'ah bon', 'très bien', 'ok parfait', 'je vois', 'super'],
    unseen: ["oui d'accord", 'ah oui', 'mm oui', 'oh parfait', 'ok ok', 'bien bien', 'ah très bien', 'hm hm'],
    meant: ['attendez', 'stop merci', "non ce n'est pas ça", 'une seconde', 'et le lundi'],
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
    unseen: ['sí claro', 'ah vale', 'ok ok', 'mm sí', 'oh muy bien', 'bueno vale', 'anda', 'sí perfecto'],
    meant: ['espere', 'pare por favor', 'no eso no es', 'un segundo', 'y el lunes'],
  },
  it: {
    listening: ['mhm', 'sì sì', 'va bene', 'perfetto', 'ah ok', 'certo certo', 'ho capito', 'benissimo'],
    unseen: [
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
  },
  nl: {
    listening: ['mhm', 'ja ja', 'oké prima', 'ah zo', 'goed goed', 'dat is goed', 'begrepen', 'precies'],
    unseen: ['ja precies', 'ah oké', 'mm ja', 'ja goed', 'wat fijn', 'oké oké', 'ja hoor', 'ah mooi'],
    meant: ['wacht even', 'stop alstublieft', 'nee dat klopt niet', 'een seconde', 'en op maandag'],
  },
  pt: {
    listening: ['uhum', 'sim sim', 'tá bom', 'muito bem', 'ah ok', 'certo certo', 'percebi', 'ótimo'],
    unseen: [
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
  },
};

/** Replies of one language with one sound each. */
export interface Listened {
  readonly replies: number;
  /** Cut off by a sound that was not meant to, of 100. */
  readonly falsePer100: number;
  /** The same of words by which no list was extended. */
  readonly unseenPer100: number;
  /** Not cut off by words that were, of 100. */
  readonly missedPer100: number;
}

/** By language. */
export function listened(): Readonly<Record<string, Listened>> {
  return Object.fromEntries(
    Object.entries(WORDS).map(([language, { listening, meant, unseen }]) => {
      const sounds = [...listening.map((text) => sound(text)), ...WORDLESS_MS.map((ms) => sound(null, ms))];
      const heard = sounds.flatMap((each) => replies(each, language));
      const fresh = unseen.flatMap((text) => replies(sound(text), language));
      const intended = meant.flatMap((text) => replies(sound(text), language));
      return [
        language,
        {
          replies: heard.length + fresh.length,
          falsePer100: per100(heard, true),
          unseenPer100: per100(fresh, true),
          missedPer100: per100(intended, false),
        },
      ];
    }),
  );
}

/** How many of 100 callers cut the agent off, or did not. */
function per100(cutOffs: readonly boolean[], counted: boolean): number {
  const count = cutOffs.filter((isCut) => isCut === counted).length;
  return Math.round((1_000 * count) / cutOffs.length) / 10;
}

interface Sound {
  readonly text: string | null;
  readonly voicedMs: number;
}

function sound(text: string | null, voicedMs = WORD_MS * (text?.split(' ').length ?? 0)): Sound {
  return { text, voicedMs };
}

/** Whether each caller's sound cut the agent off. */
function replies(made: Sound, language: string): readonly boolean[] {
  return Array.from({ length: CALLERS }, (_, seed) => isCutOff(made, language, 1 + seed));
}

function isCutOff({ text, voicedMs }: Sound, language: string, seed: number): boolean {
  const random = createRandom(seed);
  const settings = { language, phrases: phrasesFor(language) };
  const script = TurnScript.speaking(REPLY, settings).after(random.between(300, 3_000));
  const startMs = script.nowMs;
  const lastsMs = Math.round(voicedMs * random.between(0.8, 1.3));
  const facts: readonly { readonly ms: number; readonly fact: TurnFact }[] = [
    ...(lastsMs < REACHED_MS
      ? []
      : [{ ms: REACHED_MS, fact: { type: 'voice.reached' as const, voicedMs: REACHED_MS } }]),
    { ms: lastsMs, fact: { type: 'voice.stopped', speechEndMs: startMs + lastsMs, voicedMs: lastsMs } },
    ...(text === null
      ? []
      : [
          { ms: INTERIM_MS, fact: { type: 'transcript.interim' as const, text } },
          { ms: lastsMs + FINALISED_MS, fact: { type: 'transcript.final' as const, text } },
        ]),
  ];
  script.take({ type: 'voice.started', speechStartMs: startMs });
  const playing = Array.from({ length: SETTLED_MS / PLAYED_MS }, (_, index) => ({
    ms: index * PLAYED_MS,
    fact: { type: 'playout.progressed' as const, replyId: 'r1' },
  }));
  for (const { ms, fact } of [...playing, ...facts].toSorted((a, b) => a.ms - b.ms))
    script.at(startMs + ms).take(fact);
  return script.all('clear').length > 0;
}
