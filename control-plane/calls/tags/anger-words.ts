/**
 * Words of anger in what a caller said last. Short lists on purpose: each word is rude or a complaint
 * about the call itself, so that it is hardly ever said in peace.
 */
import { wordsOf } from './words.ts';

const WORDS: Readonly<Record<string, readonly string[]>> = {
  en: [
    'fuck',
    'fucking',
    'bullshit',
    'shit',
    'asshole',
    'idiot',
    'stupid',
    'useless',
    'ridiculous',
    'shut up',
    'waste of time',
    'wasting my time',
    'fed up',
    'sick of this',
    'this is a joke',
    'unacceptable',
    'stop talking',
  ],
  de: [
    'scheisse',
    'scheiße',
    'arschloch',
    'idiot',
    'verarschen',
    'unverschämt',
    'unverschämtheit',
    'halt die klappe',
    'zeitverschwendung',
    'schnauze voll',
    'lächerlich',
    'frechheit',
  ],
  es: [
    'mierda',
    'joder',
    'idiota',
    'imbécil',
    'estúpido',
    'estúpida',
    'inútil',
    'cállate',
    'estoy harto',
    'estoy harta',
    'pérdida de tiempo',
    'qué vergüenza',
  ],
  fr: [
    'merde',
    'putain',
    'connard',
    'imbécile',
    'ferme la',
    'taisez vous',
    'ras le bol',
    'perte de temps',
    'inadmissible',
    'cest nimporte quoi',
    'ridicule',
  ],
  it: [
    'cazzo',
    'merda',
    'stronzo',
    'idiota',
    'stai zitto',
    'stai zitta',
    'perdita di tempo',
    'che vergogna',
    'inaccettabile',
    'ridicolo',
  ],
  pt: [
    'merda',
    'porra',
    'caralho',
    'idiota',
    'cala a boca',
    'perda de tempo',
    'que vergonha',
    'inaceitável',
    'ridículo',
  ],
  nl: [
    'godverdomme',
    'klootzak',
    'kut',
    'idioot',
    'hou je mond',
    'tijdverspilling',
    'belachelijk',
    'schandalig',
  ],
};

/** Languages that have a list; another agent has the words of its own configuration. */
export const ANGER_LANGUAGES = Object.keys(WORDS);

/** The first word or phrase of anger in a line, as it is listed; null without one. */
export function angerIn(line: string, language: string, further: readonly string[] = []): string | null {
  const said = ` ${wordsOf(line).join(' ')} `;
  const listed = [...(WORDS[language] ?? []), ...further];
  return (
    listed.find((phrase) => {
      const words = wordsOf(phrase).join(' ');
      return words !== '' && said.includes(` ${words} `);
    }) ?? null
  );
}
