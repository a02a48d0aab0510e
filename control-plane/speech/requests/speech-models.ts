/**
 * The platform's own speech models, chosen by the header `model`. One engine, the deployment's, stands behind
 * all of them.
 */

/** Models that speak. */
export type SynthesisModel = 's1' | 's2-pro' | 's2.1-pro' | 's2.1-pro-free';
/** Models that listen. */
export type RecognitionModel = 'transcribe-1' | 'transcribe-1-pro';

/** When `s1` is no more: requests for it are served by its successor. */
const S1_RETIRED_AT = Date.UTC(2027, 0, 1);
/** All scenes. */
export const SYNTHESIS_MODELS: readonly SynthesisModel[] = ['s1', 's2-pro', 's2.1-pro', 's2.1-pro-free'];
const DEFAULT_MODEL = 's2.1-pro';

/**
 * The model that serves a synthesis request; unknown or missing is the default. A `parley/` in front is as
 * good.
 */
export function synthesisModel(header: string | undefined, wallTime: number): SynthesisModel {
  const asked = header?.replace(/^parley\//, '');
  const known = SYNTHESIS_MODELS.find((model) => model === asked) ?? DEFAULT_MODEL;
  return known === 's1' && wallTime >= S1_RETIRED_AT ? DEFAULT_MODEL : known;
}

/** The model that serves a recognition request: anything but the pro model's exact name is `transcribe-1`. */
export function recognitionModel(header: string | undefined): RecognitionModel {
  return header === 'transcribe-1-pro' ? 'transcribe-1-pro' : 'transcribe-1';
}
