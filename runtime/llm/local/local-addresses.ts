/** Where servers of language models are searched, and which of them a worker reaches. */
import { isLoopback } from '#base/public-address.ts';
import type { Settings } from '#config/env.ts';

/** Default ports of Ollama, llama.cpp's server, LM Studio and vLLM. */
const USUAL_PORTS = [11_434, 8_080, 1_234, 8_000];

/**
 * Base addresses without the `/v1` of the OpenAI-compatible API: the one of `LOCAL_LLM_URL`, otherwise the
 * usual ports of the loopback, except the one on which Parley itself listens. A control plane started alone
 * has no usual ports: its workers may run on other machines.
 */
export function localAddresses({
  LOCAL_LLM_URL,
  PORT,
  SUPERVISOR_RUN,
}: Pick<Settings, 'LOCAL_LLM_URL' | 'PORT' | 'SUPERVISOR_RUN'>): readonly string[] {
  if (LOCAL_LLM_URL === 'off') return [];
  if (LOCAL_LLM_URL !== undefined) return [LOCAL_LLM_URL.replace(/\/v1$/, '')];
  if (SUPERVISOR_RUN === undefined) return [];
  return USUAL_PORTS.filter((port) => port !== PORT).map((port) => `http://127.0.0.1:${port}`);
}

/** False for a loopback address on a worker whose control plane, which found it, is on another machine. */
export function reachesAddress(
  { CONTROL_PLANE_URL, SUPERVISOR_RUN }: Pick<Settings, 'CONTROL_PLANE_URL' | 'SUPERVISOR_RUN'>,
  address: string,
): boolean {
  const isOneMachine =
    SUPERVISOR_RUN !== undefined || CONTROL_PLANE_URL === undefined || isOnLoopback(CONTROL_PLANE_URL);
  return isOneMachine || !isOnLoopback(address);
}

function isOnLoopback(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || isLoopback(host);
}
