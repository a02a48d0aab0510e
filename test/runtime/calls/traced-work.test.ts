/** The work of a call's engines, and what its caller said, in its trace. */
import { describe, expect, it } from 'vitest';
import { SpeechError, type Synthesizer } from '#media/speech/speech.ts';
import { traceCall } from '#runtime/calls/call-trace.ts';
import { type LanguageModel, ModelError } from '#runtime/llm/llm.ts';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
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

  it('that failed names the category of the failure', async () => {
    const call = openCall();
    await call.speak([new SpeechError('overloaded', SECRET)]);
    expect(call.named('text_to_speech Katie')).toEqual([
      expect.objectContaining({ 'error.type': 'overloaded' }),
    ]);
  });
});

describe('a caller’s utterance in a trace', () => {
  it('lasts from the first sound to the recogniser’s last answer, and belongs to its turn', async () => {
    const call = openCall();
    call.engines();
    await call.clock.advance(1_000);
    call.step({ type: 'voice.started', speechStartMs: 900 });
    await call.clock.advance(1_000);
    call.step({ type: 'transcript.interim', text: 'two' });
    call.step({ type: 'voice.stopped', speechEndMs: 1_900, voicedMs: 800 });
    await call.clock.advance(100);
    call.step({ type: 'transcript.final', text: 'two loaves' });
    await call.clock.advance(50);
    call.step({ type: 'transcript.finalised' });
    call.trace.note({ type: 'turn', latency: latency(1_900) });
    call.trace.close();
    expect(call.named('speech_to_text nova-3')).toEqual([
      expect.objectContaining({
        of: 'turn',
        from: 900,
        to: 2_150,
        kind: 'client',
        'gen_ai.operation.name': 'speech_to_text',
        'gen_ai.provider.name': 'deepgram',
        'gen_ai.request.model': 'nova-3',
        'gen_ai.speech.input.language': 'en',
        'parley.audio_seconds': 1,
      }),
    ]);
  });

  it('does not begin with a noise long before it', async () => {
    const call = openCall();
    call.engines();
    call.step({ type: 'voice.started', speechStartMs: 0 });
    call.step({ type: 'voice.stopped', speechEndMs: 100, voicedMs: 100 });
    await call.clock.advance(9_000);
    call.step({ type: 'voice.started', speechStartMs: 9_000 });
    call.step({ type: 'transcript.final', text: 'two loaves' });
    call.trace.close();
    expect(call.named('speech_to_text nova-3')).toEqual([expect.objectContaining({ from: 9_000 })]);
  });

  it('whose recogniser failed is a failed span', async () => {
    const call = openCall();
    call.engines();
    call.step({ type: 'voice.started', speechStartMs: 0 });
    await call.clock.advance(400);
    call.step({ type: 'recognizer.failed', isRetryable: true });
    call.trace.close();
    expect(call.named('speech_to_text nova-3')).toEqual([
      expect.objectContaining({ from: 0, to: 400, 'error.type': 'recognition_failed' }),
    ]);
  });
});

describe('a turn in a trace', () => {
  const turnEndedBy = async (...facts: readonly TurnFact[]) => {
    const call = openCall();
    call.step(started, generate('r1'));
    call.trace.note({ type: 'turn', latency: latency(0) });
    await call.clock.advance(2_000);
    for (const fact of facts) call.step(fact);
    call.trace.close();
    return call.named('turn')[0];
  };
  const cleared: TurnFact = { type: 'playout.cleared', replyId: 'r1', heard: '', isExact: true };

  it('ends with its reply, completed or interrupted', async () => {
    const reason = 'gen_ai.agent.invocation.end_reason';
    expect(await turnEndedBy({ type: 'playout.finished', replyId: 'r1', heard: '' })).toMatchObject({
      to: 2_000,
      [reason]: 'completed',
    });
    expect(await turnEndedBy(cleared)).toMatchObject({ [reason]: 'interrupted' });
    expect(await turnEndedBy({ type: 'leg.lost' }, cleared)).toMatchObject({ [reason]: 'session_closed' });
  });
});

it('a call without a trace gets its engines as they are', () => {
  const engines = { recognizer: null, model: {} as LanguageModel, synthesizer: {} as Synthesizer };
  expect(traceCall(null, testPlan(), new ManualClock()).engines(engines)).toBe(engines);
});
