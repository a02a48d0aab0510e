/** The doctor's check of the server of local models. */
import { systemClock } from '#base/clock.ts';
import { createEgressGuard, type EgressGuard } from '#base/egress.ts';
import type { Settings } from '#config/env.ts';
import { findModels } from '#runtime/llm/local/find-models.ts';
import { localAddresses } from '#runtime/llm/local/local-addresses.ts';
import type { CheckResult } from './check-result.ts';

const TIMEOUT_MS = 2_000;

/** Checks that the server at LOCAL_LLM_URL lists its models; yields nothing without the setting. */
export async function* checkLocalModels(settings: Settings): AsyncGenerator<CheckResult> {
  if (settings.LOCAL_LLM_URL === undefined) return;
  const addresses = localAddresses(settings);
  const guard = createEgressGuard({ allow: addresses.map((url) => new URL(url).host), clock: systemClock });
  try {
    for (const address of addresses) yield await check(address, guard);
  } finally {
    await guard.close();
  }
}

async function check(address: string, guard: EgressGuard): Promise<CheckResult> {
  const subject = 'Local models';
  const found = await findModels(address, { guard, timeoutMs: TIMEOUT_MS });
  if (found === null)
    return {
      subject,
      verdict: 'failed',
      result: `no list of models at ${address}`,
      fix: 'start its server, or correct LOCAL_LLM_URL',
    };
  if (found.models.length === 0)
    return {
      subject,
      verdict: 'note',
      result: `${address} has no chat model`,
      fix: 'give it one, such as with `ollama pull llama3.2`',
    };
  return { subject, verdict: 'ok', result: `${address} has ${found.models.map(({ id }) => id).join(', ')}` };
}
