/** The platform's own speech models, chosen by the header `model`. All use the deployment's single engine. */

/** Synthesis models. */
export type SynthesisModel = 's1' | 's2-pro' | 's2.1-pro' | 's2.1-pro-free';
/** Recognition models. */
export type RecognitionModel = 'transcribe-1' | 'transcribe-1-pro';

/** End of `s1`: requests after this time use its successor. */
const S1_RETIRED_AT = Date.UTC(2027, 0, 1);
/** All uses of speech models. */
export const SYNTHESIS_MODELS: readonly SynthesisModel[] = ['s1', 's2-pro', 's2.1-pro', 's2.1-pro-free'];
const DEFAULT_MODEL = 's2.1-pro';

/** The model of a synthesis request; the default if unknown or missing. Accepts the prefix `parley/`. */
export function synthesisModel(header: string | undefined, wallTime: number): SynthesisModel {
  const asked = header?.replace(/^parley\//, '');
  const known = SYNTHESIS_MODELS.find((model) => model === asked) ?? DEFAULT_MODEL;
  return known === 's1' && wallTime >= S1_RETIRED_AT ? DEFAULT_MODEL : known;
}

/** The model of a recognition request: `transcribe-1` for anything but the exact name of the pro model. */
export function recognitionModel(header: string | undefined): RecognitionModel {
  return header === 'transcribe-1-pro' ? 'transcribe-1-pro' : 'transcribe-1';
}
