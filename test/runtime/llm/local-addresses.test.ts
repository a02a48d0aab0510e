import { describe, expect, it } from 'vitest';
import { readSettings } from '#config/env.ts';
import { localAddresses } from '#runtime/llm/local/local-addresses.ts';

describe('LOCAL_LLM_URL', () => {
  const addresses = (environment: Record<string, string>) => localAddresses(readSettings(environment));

  it('is by default the usual ports of Ollama, llama.cpp, LM Studio and vLLM, without Parley’s own', () => {
    expect(addresses({ PORT: '8090', SUPERVISOR_RUN: 'a' })).toEqual([
      'http://127.0.0.1:11434',
      'http://127.0.0.1:8080',
      'http://127.0.0.1:1234',
      'http://127.0.0.1:8000',
    ]);
    expect(addresses({ SUPERVISOR_RUN: 'a' })).not.toContain('http://127.0.0.1:8080');
  });

  it('is by default off for a control plane started alone, whose workers may be on other machines', () => {
    expect(addresses({})).toEqual([]);
  });

  it('names one server, with or without /v1', () => {
    expect(addresses({ LOCAL_LLM_URL: 'http://models:9000/v1/' })).toEqual(['http://models:9000']);
    expect(addresses({ LOCAL_LLM_URL: 'http://[::1]:9000' })).toEqual(['http://[::1]:9000']);
  });

  it('switches the search off', () => {
    expect(addresses({ LOCAL_LLM_URL: 'off' })).toEqual([]);
  });
});
