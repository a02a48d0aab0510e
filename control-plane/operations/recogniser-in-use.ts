/** The recogniser that agents use by default. */
import { LOCAL_RECOGNITION_ID, type PlatformModels } from '#config/platform-models.ts';

/** Its id; null if it is a local one and none is installed. */
export function recogniserInUse({ asr }: Pick<PlatformModels, 'asr'>): string | null {
  const chosen = asr.find((model) => model.default)?.id ?? LOCAL_RECOGNITION_ID;
  if (chosen !== LOCAL_RECOGNITION_ID) return chosen;
  return asr.find(({ id }) => id.startsWith('local:') && id !== LOCAL_RECOGNITION_ID)?.id ?? null;
}
