/** Measures the requests to a language model. */
import type { Clock } from '#base/clock.ts';
import type { VendorFault, VendorMeters } from '#config/vendor-meters.ts';
import { type LanguageModel, ModelError } from './llm.ts';
import { ModelStalled } from './stalled-fetch.ts';

/** A model whose requests are measured, each once: when it begins to answer or fails. */
export function measuredModel(model: LanguageModel, vendors: VendorMeters, clock: Clock): LanguageModel {
  return {
    ...model,
    async *stream(request) {
      const startMs = clock.now();
      let hasBegun = false;
      try {
        for await (const delta of model.stream(request)) {
          if (!hasBegun) vendors.began('model', model.id, clock.now() - startMs);
          hasBegun = true;
          yield delta;
        }
      } catch (error) {
        const { signal } = request;
        if (!signal.aborted || !hasBegun) vendors.failed('model', model.id, outcomeOf(error, signal));
        throw error;
      }
    },
  };
}

function outcomeOf(error: unknown, { aborted, reason }: AbortSignal): VendorFault | 'abandoned' {
  if (!aborted) return faultOf(error);
  return isStall(reason) ? 'stalled' : 'abandoned';
}

function faultOf(error: unknown): VendorFault {
  if (!(error instanceof ModelError)) return 'unavailable';
  const { status, cause } = error;
  if (status === null) return isStall(cause) ? 'stalled' : 'connectivity';
  if (status === 401 || status === 403) return 'authentication';
  if (status === 402) return 'quota';
  if (status === 429) return 'overloaded';
  return status >= 400 && status < 500 ? 'bad_request' : 'unavailable';
}

function isStall(error: unknown): boolean {
  return error instanceof ModelStalled || (error instanceof Error && error.cause instanceof ModelStalled);
}
