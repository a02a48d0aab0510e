/** The local recognisers of one process: models found now, and pocketsphinx if it is installed. */
import { LOCAL_RECOGNITION_ID, type LocalRecognition } from '#config/platform-models.ts';
import type { InstalledModels } from '../models/installed-models.ts';
import type { Recognizer } from '../speech.ts';
import type { ModelEngines } from './model-engines.ts';

/** Kinds of local recognisers on this machine, best first. */
export function localRecognition(models: InstalledModels, hasPocketsphinx: boolean): LocalRecognition[] {
  const found: LocalRecognition[] = [];
  if (models.recognisers.length > 0) found.push('sherpa');
  if (hasPocketsphinx) found.push('pocketsphinx');
  return found;
}

/**
 * The local recogniser of an id for a language (ISO 639-1; null: unknown). `local:auto` is the best one:
 * pocketsphinx hears English only, so any model is better for other languages.
 */
export function findLocalRecogniser(
  id: string,
  language: string | null,
  { models, pocketsphinx }: { readonly models: ModelEngines; readonly pocketsphinx: Recognizer | null },
): Recognizer | undefined {
  const any = () => models.recogniser(null);
  const suitable = models.recogniser(language);
  if (id === 'local:sherpa') return suitable ?? any() ?? undefined;
  if (id === 'local:pocketsphinx') return pocketsphinx ?? undefined;
  if (id !== LOCAL_RECOGNITION_ID) return undefined;
  return suitable ?? (language === 'en' ? (pocketsphinx ?? any()) : (any() ?? pocketsphinx)) ?? undefined;
}
