import { afterEach, expect, it } from 'vitest';
import type { CheckResult } from '#cli/check-result.ts';
import { checkLocalModels } from '#cli/doctor-local-models.ts';
import { readSettings } from '#config/env.ts';
import { type LocalLlmServer, startVllm } from '../fakes/local-llm-servers.ts';

let server: LocalLlmServer | undefined;
afterEach(() => server?.close());

async function results(environment: Record<string, string>): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for await (const result of checkLocalModels(readSettings(environment))) results.push(result);
  return results;
}

it.each([{}, { LOCAL_LLM_URL: 'off' }])(
  'the doctor asks no server of local models with %j',
  async (given) => {
    expect(await results(given)).toEqual([]);
  },
);

it('the doctor lists the models of the server at LOCAL_LLM_URL', async () => {
  server = await startVllm();
  expect(await results({ LOCAL_LLM_URL: server.url })).toEqual([
    {
      subject: 'Local models',
      verdict: 'ok',
      result: `${server.address} has local/meta-llama/Llama-3.1-8B-Instruct`,
    },
  ]);
});

it('the doctor says that no server answers at LOCAL_LLM_URL', async () => {
  const { address, close } = await startVllm();
  await close();
  expect(await results({ LOCAL_LLM_URL: address })).toEqual([
    {
      subject: 'Local models',
      verdict: 'failed',
      result: `no list of models at ${address}`,
      fix: expect.stringContaining('LOCAL_LLM_URL'),
    },
  ]);
});
