import { describe, expect, it } from 'vitest';
import { describeLanguageModels } from '#processes/describe-language-models.ts';

const NONE = 'Language model: none. New agents run on local/demo, a set of rules that reads no prompt.';

/** The lines with this default, while these local models are found. */
const lines = (chosen: string, ...found: string[]) =>
  describeLanguageModels(
    [...new Set([chosen, ...found, 'local/demo'])].map((id) => ({ id, default: id === chosen })),
    found.map((id) => ({ id })),
    undefined,
  );

describe('the start message', () => {
  it('names the language model of new agents', () => {
    expect(lines('openai/gpt-4.1-mini')).toEqual(['Language model: openai/gpt-4.1-mini']);
    expect(lines('local/llama3.2', 'local/llama3.2')).toEqual(['Language model: local/llama3.2']);
  });

  it('says that the address the operator set gives no list of models', () => {
    const address = 'http://127.0.0.1:9000';
    expect(describeLanguageModels([{ id: 'local/demo', default: true }], [], address)).toEqual([
      NONE,
      expect.stringContaining('ollama pull'),
      `LOCAL_LLM_URL: no list of models at ${address}. Start its server, or correct the address.`,
    ]);
  });

  it('says when the chosen local model is not there', () => {
    expect(lines('local/llama3.2')).toEqual([
      'Language model: local/llama3.2, which no local server offers now: start its server.',
    ]);
  });

  it('says that there is none, and how to get one', () => {
    expect(lines('local/demo')).toEqual([NONE, expect.stringMatching(/ollama pull .*OPENAI_API_KEY/)]);
  });

  it('names the first local models found, and the setting that chooses one', () => {
    expect(lines('local/demo', 'local/a', 'local/b', 'local/c', 'local/d')).toEqual([
      NONE,
      'Local language models: local/a, local/b, local/c, …. LLM_DEFAULT=local/a gives new agents the first.',
    ]);
    expect(lines('openai/gpt-4.1', 'local/a')[1]).toBe('Local language models: local/a');
  });
});
