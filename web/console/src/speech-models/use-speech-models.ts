/** The speech models of this machine, read every second while one is downloaded. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { SpeechModels } from '../api/types.ts';

export type SpeechModel = SpeechModels['models'][number];

const PATH = '/admin/speech-models';
const PROGRESS_MS = 500;

/** True while a model is on its way. */
export function isUnderWay({ state }: SpeechModel): boolean {
  return state === 'downloading' || state === 'checking';
}

/** The models; `isOperator` false: nothing is read. */
export function useSpeechModels(isOperator: boolean) {
  const client = useQueryClient();
  const query = useRead<SpeechModels>(isOperator ? PATH : null, {
    refetchMs: (data) => (data?.models.some(isUnderWay) ? PROGRESS_MS : false),
  });
  const hears = query.data?.hears_speech;
  const usable = query.data?.models.filter(({ state }) => state === 'ready').length;
  // What agents may use has changed.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when these change.
  useEffect(() => {
    void client.invalidateQueries({ queryKey: ['/v1/agent/models'] });
  }, [client, hears, usable]);
  return query;
}

/** Starts or stops the download of a model. */
export function useDownload({ model_id }: SpeechModel) {
  const path = `${PATH}/${model_id}/download`;
  const start = useChange(() => call('POST', path), { touches: [PATH] });
  const stop = useChange(() => call('DELETE', path), { touches: [PATH] });
  return { start, stop };
}
