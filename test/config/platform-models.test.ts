import { expect, it } from 'vitest';
import { DEMO_KEYTERMS } from '#config/demo-phrases.ts';
import { readSettings } from '#config/env.ts';
import { platformModels } from '#config/platform-models.ts';

const bare = { localRecognition: [] } as const;
const defaults = (environment: Record<string, string>) => {
  const models = platformModels(readSettings(environment), bare);
  return [models.llm, models.asr, models.voices].map((list) => {
    const chosen = list.filter((entry) => entry.default);
    expect(chosen).toHaveLength(1);
    return chosen[0]?.id;
  });
};

it('without a key, new agents get the demo model, local recognition and the default voice', () => {
  expect(defaults({})).toEqual(['local/demo', 'local:auto', 'default']);
});

it('the first provider with a key supplies the default model', () => {
  expect(defaults({ GROQ_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' })[0]).toMatch(/^anthropic\//);
});

it('a base address alone adds the provider without making it the default', () => {
  const models = platformModels(readSettings({ OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' }), bare).llm;
  expect(models.some((model) => model.id.startsWith('openai/') && !model.default)).toBe(true);
});

it('LLM_DEFAULT takes precedence and is offered even if it is not listed', () => {
  expect(defaults({ OPENAI_API_KEY: 'k', LLM_DEFAULT: 'openai/my-own-model' })[0]).toBe(
    'openai/my-own-model',
  );
});

it('ASR_PROVIDER selects the recognition model of new agents', () => {
  expect(defaults({ ASR_PROVIDER: 'deepgram', DEEPGRAM_BASE_URL: 'ws://127.0.0.1:1' })[1]).toBe(
    'deepgram:nova-3',
  );
});

it('a vendor’s recognition models are offered with the default one first', () => {
  const models = platformModels(readSettings({ DEEPGRAM_API_KEY: 'k', ASR_PROVIDER: 'deepgram' }), bare);
  expect(models.asr.map(({ id }) => id)).toEqual([
    'deepgram:nova-3',
    'deepgram:nova-2',
    'deepgram:flux-general-en',
    'deepgram:flux-general-multi',
    'local:auto',
  ]);
});

it('local recognisers that can run here are listed by name', () => {
  const models = platformModels(readSettings({}), { localRecognition: ['pocketsphinx'] });
  expect(models.asr.map((model) => model.id)).toEqual(['local:auto', 'local:pocketsphinx']);
});

it('the five local voices are offered in addition to the default one', () => {
  const voices = platformModels(readSettings({}), bare).voices.map((voice) => voice.id);
  expect(voices).toEqual(['default', 'local:slt', 'local:rms', 'local:awb', 'local:kal16', 'local:kal']);
});

it('installed voices of other languages are offered as local; the default voice speaks them too', () => {
  const localVoices = [{ id: 'espeak-de', name: 'eSpeak (German)', languages: ['de'] }];
  const { voices } = platformModels(readSettings({}), { ...bare, localVoices });
  expect(voices[0]).toMatchObject({ id: 'default', languages: ['en', 'de'] });
  expect(voices.at(-1)).toEqual({
    id: 'local:espeak-de',
    name: 'eSpeak (German)',
    languages: ['de'],
    default: false,
  });
});

it('OpenAI defaults to its live model, and a custom server to a model common on such servers', () => {
  expect(defaults({ ASR_PROVIDER: 'openai', OPENAI_API_KEY: 'k' })[1]).toBe('openai:gpt-live-transcribe');
  expect(defaults({ ASR_PROVIDER: 'openai', OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' })[1]).toBe(
    'openai:gpt-4o-mini-transcribe',
  );
});

it('the demo agent has no more keyterms than allowed', () => {
  expect(DEMO_KEYTERMS.length).toBeLessThanOrEqual(50);
  expect(new Set(DEMO_KEYTERMS).size).toBe(DEMO_KEYTERMS.length);
});

it('security 16: only models on the operator’s list are offered, even models with no other provider', () => {
  const offered = (allowed: string) =>
    platformModels(
      readSettings({ OPENAI_API_KEY: 'k', GROQ_API_KEY: 'k', LLM_ALLOWED: allowed }),
      bare,
    ).llm.map(({ id }) => id);
  expect(offered('openai/gpt-4o-mini,openai/my-own')).toEqual([
    'openai/gpt-4o-mini',
    'openai/my-own',
    'local/demo',
  ]);
  expect(offered('groq/*').every((id) => id.startsWith('groq/') || id === 'local/demo')).toBe(true);
  expect(() =>
    readSettings({ OPENAI_API_KEY: 'k', LLM_ALLOWED: 'openai/gpt-4.1', LLM_DEFAULT: 'openai/gpt-4o-mini' }),
  ).toThrow('LLM_DEFAULT');
});
