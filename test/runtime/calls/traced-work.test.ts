/** The work of a call's engines in its trace. */
import { describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { SpeechError, type Synthesizer } from '#media/speech/speech.ts';
import { traceCall } from '#runtime/calls/call-trace.ts';
import { type ChatDelta, type LanguageModel, ModelError } from '#runtime/llm/llm.ts';
import { collect } from '#test/collect.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { testPlan } from '../test-plan.ts';
import { at, generate, latency, openCall, REQUEST, SECRET, sound, started, USAGE } from './traced-call.ts';

describe('a generation in a trace', () => {
  it('lasts from the request to the last token, with first token, model and tokens', async () => {
    const call = openCall();
    call.step(started, generate('r1'));
    await call.clock.advance(10);
    await call.generate([250, { type: 'text', text: 'Hello.' }, 40, { type: 'finish', usage: USAGE }]);
    call.trace.note({ type: 'turn', latency: latency(0) });
    call.trace.close();
    expect(call.named('chat gpt')).toEqual([
      expect.objectContaining({
        of: 'turn',
        from: 10,
        to: 300,
        kind: 'client',
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt',
        'gen_ai.conversation.id': 's1',
        'gen_ai.response.time_to_first_chunk': 0.25,
        'gen_ai.usage.input_tokens': 200,
        'gen_ai.usage.cache_read.input_tokens': 150,
        'gen_ai.usage.output_tokens': 8,
        'parley.discarded': false,
      }),
    ]);
  });

  it('belongs to its turn, and the turn is long enough to contain it', async () => {
    const call = openCall();
    call.step(started, generate('r1', true));
    await call.generate([500, { type: 'finish', usage: USAGE }], { speculative: true });
    call.step(started, { do: 'commit', replyId: 'r1' });
    call.trace.note({ type: 'turn', latency: latency(200) });
    call.trace.close();
    expect(call.named('turn')).toEqual([expect.objectContaining({ of: 'call', from: 0, to: 500 })]);
    expect(call.named('endpointing')).toEqual([expect.objectContaining({ of: 'turn', from: 200, to: 300 })]);
    expect(call.named('chat gpt')).toEqual([
      expect.objectContaining({ 'parley.speculative': true, 'parley.discarded': false }),
    ]);
  });

  it('that was speculative and never committed is marked as discarded', async () => {
    const call = openCall();
    const abort = new AbortController();
    call.step(started, generate('r1', true));
    const stream = call
      .engines([{ type: 'text', text: 'Hel' }, 50, { type: 'text', text: 'lo' }])
      .model.stream({ ...REQUEST, speculative: true, signal: abort.signal })
      [Symbol.asyncIterator]();
    await stream.next();
    abort.abort();
    await stream.return?.();
    call.trace.close();
    expect(call.named('chat gpt')).toEqual([
      expect.objectContaining({
        'parley.speculative': true,
        'parley.discarded': true,
        'parley.aborted': true,
        'error.type': null,
      }),
    ]);
  });

  it('of a reply that was given up before anyone heard it is marked as discarded', async () => {
    const call = openCall();
    call.step(started, generate('r1'));
    await call.generate([{ type: 'finish', usage: USAGE }]);
    call.step(started, { do: 'discard', replyId: 'r1' });
    call.trace.close();
    expect(call.named('chat gpt')).toEqual([
      expect.objectContaining({ 'parley.speculative': false, 'parley.discarded': true }),
    ]);
  });

  it('that was empty, or did not come in time, has failed once the machine has given it up', async () => {
    const call = openCall();
    call.step(started, generate('r1'));
    await call.generate([{ type: 'finish', usage: USAGE }]);
    const item = { message: 'the model returned nothing', status: null, turn_id: 1, created_at: at(0) };
    call.trace.note({ type: 'items', items: [{ type: 'llm.endpoint_error', ...item }] });
    call.trace.note({ type: 'turn', latency: latency(0) });
    call.trace.close();
    expect(call.spans.find(({ name }) => name === 'chat gpt')).toMatchObject({
      error: 'no_answer',
      attributes: { 'error.type': 'no_answer' },
    });
  });

  it('that failed names the kind of failure, and not its message', async () => {
    const call = openCall();
    call.step(started, generate('r1'));
    await call.generate([30, new ModelError(SECRET, { retryable: true, status: 429 })]);
    call.trace.close();
    expect(call.named('chat gpt')).toEqual([
      expect.objectContaining({ 'error.type': '429', 'http.response.status_code': 429, to: 30 }),
    ]);
    expect(call.spans[0]?.error).toBe('429');
    expect(JSON.stringify(call.spans)).not.toContain('4111');
  });

  it('says why the model stopped, as a list', async () => {
    const call = openCall();
    await call.generate([{ type: 'finish', usage: USAGE, finishReason: 'length' }]);
    expect(call.named('chat gpt')[0]).toHaveProperty(['gen_ai.response.finish_reasons'], ['length']);
  });

  it('names no reason that the model did not give', async () => {
    const call = openCall({ hasContent: true });
    await call.generate([
      { type: 'text', text: 'Hello.' },
      new ModelError('broken off', { retryable: true }),
    ]);
    await call.generate([
      { type: 'text', text: 'Hello.' },
      { type: 'finish', usage: USAGE },
    ]);
    const [failed, complete] = call.named('chat gpt') as Record<string, unknown>[];
    expect(failed?.['gen_ai.output.messages']).toContain('"finish_reason":"error"');
    expect(complete?.['gen_ai.output.messages']).not.toContain('finish_reason');
    expect([failed, complete].map((span) => span?.['gen_ai.response.finish_reasons'])).toEqual([null, null]);
  });

  it('of the tenant’s own server has the name of its model', async () => {
    const custom = { base_url: 'https://models.example.com/v1', model: 'mistral-ours' };
    const call = openCall({ modelId: 'custom', config: { llm: { custom } } });
    await call.generate([{ type: 'finish', usage: USAGE }]);
    expect(call.named('chat mistral-ours')).toEqual([
      expect.objectContaining({
        'gen_ai.provider.name': 'custom',
        'gen_ai.request.model': 'mistral-ours',
      }),
    ]);
  });

  it('that another vendor’s model answered names that vendor', async () => {
    const call = openCall();
    await call.generate([{ type: 'finish', usage: USAGE, modelId: 'groq/llama' }]);
    expect(call.named('chat gpt')).toEqual([
      expect.objectContaining({
        'gen_ai.provider.name': 'groq',
        'gen_ai.request.model': 'gpt',
        'gen_ai.response.model': 'llama',
      }),
    ]);
  });

  it('lasts as long as it did, also if the wall clock is set meanwhile', async () => {
    const call = openCall();
    await call.generate([
      250,
      () => call.clock.setBack(60_000),
      { type: 'text', text: 'Hello.' },
      40,
      { type: 'finish', usage: USAGE },
    ]);
    expect(call.named('chat gpt')).toEqual([
      expect.objectContaining({ from: 0, to: 290, 'gen_ai.response.time_to_first_chunk': 0.25 }),
    ]);
  });

  it('has its tools’ calls with the ids under which the tools run', async () => {
    const call = openCall({ hasContent: true });
    const asked: ChatDelta[] = [
      { type: 'tool_call', call: { callId: 'call_0', toolName: 'order', input: '{}' } },
      { type: 'finish', usage: USAGE },
    ];
    const { model } = call.engines(asked);
    const given = [...(await collect(model.stream(REQUEST))), ...(await collect(model.stream(REQUEST)))];
    const ids = given.flatMap((delta) => (delta.type === 'tool_call' ? [delta.call.callId] : []));
    expect(ids).toEqual(['call_0', 'call_0_2']);
    expect(
      call
        .named('chat gpt')
        .map((span) => JSON.parse(String((span as Record<string, unknown>)['gen_ai.output.messages'])))
        .map(([message]) => message.parts[0].id),
    ).toEqual(ids);
  });

  it('that still ran when the call ended ends with it', async () => {
    const call = openCall();
    const { signal } = new AbortController();
    const stream = call
      .engines([{ type: 'text', text: 'Hel' }])
      .model.stream({ ...REQUEST, signal })
      [Symbol.asyncIterator]();
    await stream.next();
    await call.clock.advance(900);
    call.trace.note({ type: 'ended', at: at(700), end_reason: 'user_hangup' });
    await stream.return?.();
    expect(call.named('chat gpt')).toEqual([
      expect.objectContaining({ of: 'call', from: 0, to: 700, 'parley.aborted': true }),
    ]);
  });
});

describe('a search in a trace', () => {
  const passage = { knowledge_source_id: 'hours', name: 'Hours', chunk: 2, text: 'We open at seven.' };
  /** The span of a search for the reply `r1`, and its attributes. */
  async function searched(found: readonly (typeof passage)[] | null, hasContent = false) {
    const call = openCall({ hasContent });
    const { knowledge } = call.trace.engines({
      ...call.engines(),
      knowledge: {
        async search(_query: string) {
          await call.clock.advance(12);
          return found;
        },
        close: () => undefined,
      },
    });
    call.step(started, generate('r1'));
    await knowledge?.search('when do you open');
    call.trace.note({ type: 'turn', latency: latency(0) });
    call.trace.close();
    return call.named('retrieval')[0];
  }

  it('belongs to the turn of the reply that waited for it', async () => {
    expect(await searched([passage])).toMatchObject({
      of: 'turn',
      from: 0,
      to: 12,
      'gen_ai.operation.name': 'retrieval',
      'parley.passages': 1,
      'error.type': null,
    });
  });

  it('that was too late has failed with a timeout', async () => {
    expect(await searched(null)).toMatchObject({ 'error.type': 'timeout', 'parley.passages': 0 });
  });

  it('has its query and the passages only if the operator wants content', async () => {
    expect(await searched([passage])).not.toHaveProperty(['gen_ai.retrieval.query.text']);
    expect(await searched([passage], true)).toMatchObject({
      'gen_ai.retrieval.query.text': 'when do you open',
      'gen_ai.retrieval.documents': '[{"id":"hours#2","content":"We open at seven."}]',
    });
  });
});

describe('a synthesis in a trace', () => {
  it('lasts from the request to the last audio, with its voice and the seconds of audio', async () => {
    const call = openCall();
    await call.speak([80, sound(500), 20, sound(750)]);
    expect(call.named('text_to_speech Katie')).toEqual([
      expect.objectContaining({
        of: 'call',
        from: 0,
        to: 100,
        kind: 'client',
        'gen_ai.operation.name': 'text_to_speech',
        'gen_ai.provider.name': 'cartesia',
        'gen_ai.speech.voice': 'Katie',
        'gen_ai.output.type': 'speech',
        'gen_ai.response.time_to_first_chunk': 0.08,
        'parley.audio_seconds': 1.25,
      }),
    ]);
  });

  it('of audio that was kept from an earlier call asks no vendor', async () => {
    const call = openCall();
    await call.speak([{ ...sound(500), isKept: true }]);
    expect(call.named('text_to_speech Katie')).toEqual([
      expect.objectContaining({ kind: 'internal', 'parley.kept': true }),
    ]);
  });

  it('names no model if the engine has none', async () => {
    const call = openCall();
    await call.speak([sound(500)]);
    expect(call.named('text_to_speech Katie')[0]).toHaveProperty(['gen_ai.request.model'], null);
  });

  it('names the vendor that took over, and no voice of the other', async () => {
    const call = openCall();
    const { synthesizer } = call.trace.engines({
      ...call.engines(),
      synthesizer: {
        id: 'cartesia',
        voices: [],
        async *synthesise(_, { onEngine }) {
          onEngine?.('cartesia');
          onEngine?.('deepgram');
          yield sound(500);
        },
      },
    });
    const { signal } = new AbortController();
    const options = { voiceId: 'Katie', language: 'en', speed: 1, sampleRateHz: 8_000, signal };
    await collect(synthesizer.synthesise('Hello.', options));
    expect(call.named('text_to_speech')).toEqual([
      expect.objectContaining({ 'gen_ai.provider.name': 'deepgram', 'gen_ai.speech.voice': null }),
    ]);
  });

  it('that failed names the category of the failure', async () => {
    const call = openCall();
    await call.speak([new SpeechError('overloaded', SECRET)]);
    expect(call.named('text_to_speech Katie')).toEqual([
      expect.objectContaining({ 'error.type': 'overloaded' }),
    ]);
  });
});

it('a call without a trace gets its engines as they are', () => {
  const engines = { recognizer: null, model: {} as LanguageModel, synthesizer: {} as Synthesizer };
  expect(
    traceCall(null, testPlan(), {
      clock: new ManualClock(),
      logger: createLogger({ level: 'silent', name: 'test' }),
    }).engines(engines),
  ).toBe(engines);
});

it('a defect of the trace is logged and does not reach the call', async () => {
  const call = openCall({ isBroken: true });
  call.step(started, generate('r1'));
  await call.generate([
    { type: 'text', text: 'Hello.' },
    { type: 'finish', usage: USAGE },
  ]);
  call.trace.note({ type: 'joined', at: at(0) });
  call.trace.close();
  expect(call.errors.length).toBeGreaterThan(0);
});
