/** Where servers of language models are searched. */
import type { Settings } from '#config/env.ts';

/** Default ports of Ollama, llama.cpp's server, LM Studio and vLLM. */
const USUAL_PORTS = [11_434, 8_080, 1_234, 8_000];

/**
 * Base addresses without the `/v1` of the OpenAI-compatible API: the one of `LOCAL_LLM_URL`, otherwise the
 * usual ports of the loopback, except the one on which Parley itself listens.
 */
export function localAddresses({
  LOCAL_LLM_URL,
  PORT,
}: Pick<Settings, 'LOCAL_LLM_URL' | 'PORT'>): readonly string[] {
  if (LOCAL_LLM_URL === 'off') return [];
  if (LOCAL_LLM_URL !== undefined) return [LOCAL_LLM_URL.replace(/\/v1$/, '')];
  return USUAL_PORTS.filter((port) => port !== PORT).map((port) => `http://127.0.0.1:${port}`);
}
