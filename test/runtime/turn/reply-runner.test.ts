import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '#config/limits.ts';
import { resample } from '#media/dsp/pcm.ts';
import type { LegCommand } from '#media/leg/leg.ts';
import type { ChatDelta } from '#runtime/llm/llm.ts';
import { ReplyRunner, type ReplyRunnerOptions } from '#runtime/turn/loop/reply-runner.ts';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { turnsUntil } from '#test/turns-until.ts';
import { GENERATE, generated } from './generated-reply.ts';

/** A runner that speaks to a leg of 8 kHz, and the commands to it. */
function speaker(options: Pick<ReplyRunnerOptions, 'synthesizer' | 'recorded'>) {
  const sent: LegCommand[] = [];
  const runner = new ReplyRunner({
    voice: { voiceId: null, language: 'en', speed: 1 },
    outRateHz: () => 8_000,
    isFixed: () => false,
    accept: () => undefined,
    send: (command: LegCommand) => void sent.push(command),
    hasLeg: () => true,
    event: () => undefined,
    ...options,
  } as unknown as ReplyRunnerOptions);
  return { runner, sent };
}

it('a fixed text for a caller without audio is shown and not synthesised', () => {
  const [sent, facts, events]: [LegCommand[], TurnFact[], unknown[]] = [[], [], []];
  const runner = new ReplyRunner({
    synthesizer: {
      id: 'none',
      voices: [],
      synthesise: () => {
        throw new Error('nothing is to be spoken');
      },
    },
    voice: { voiceId: null, language: 'en', speed: 1 },
    outRateHz: () => 8_000,
    accept: (fact: TurnFact) => void facts.push(fact),
    send: (command: LegCommand) => void sent.push(command),
    hasLeg: () => true,
    event: (event: unknown) => void events.push(event),
  } as unknown as ReplyRunnerOptions);
  runner.say({ do: 'say', replyId: 'r1', text: 'I had a problem. Please try again.', isSpoken: false });
  expect([sent, facts, events]).toEqual([[], [], []]);
  runner.play('r1');
  expect(events).toEqual([
    {
      type: 'transcript',
      role: 'agent',
      segmentId: 'r1',
      text: 'I had a problem. Please try again.',
      final: true,
    },
  ]);
  expect(facts.map(({ type }) => type)).toEqual(['reply.audible', 'playout.finished']);
  expect(sent).toEqual([]);
});

it('a voice in chunks at another rate sounds continuous: nothing clicks at the end of a chunk', async () => {
  const voice = Int16Array.from({ length: 24_000 }, (_, n) =>
    Math.round(16_000 * Math.sin((2 * Math.PI * 440 * n) / 24_000)),
  );
  const { runner, sent } = speaker({
    synthesizer: {
      id: 'chunks',
      voices: [],
      async *synthesise() {
        for (let at = 0; at < voice.length; at += 1_365)
          yield { samples: voice.subarray(at, at + 1_365), sampleRateHz: 24_000, words: null };
      },
    },
  });
  runner.say({ do: 'say', replyId: 'r1', text: 'Hello.', isSpoken: true });
  runner.play('r1');
  await expect.poll(() => sent.some((command) => command.do === 'play' && command.last)).toBe(true);
  const played = sent.flatMap((command) => (command.do === 'play' ? [...command.samples] : []));
  expect(played).toEqual([...resample(voice, 24_000, 8_000)]);
});

it('a text with a voice of its own is said by that voice, in one piece, and any other text is not', async () => {
  const asked: string[] = [];
  const voiceOf = (id: string) => ({
    id,
    voices: [],
    async *synthesise(text: string) {
      asked.push(`${id}: ${text}`);
      yield { samples: new Int16Array(80), sampleRateHz: 8_000, words: null };
    },
  });
  const { runner, sent } = speaker({
    synthesizer: voiceOf('voice'),
    recorded: { text: 'Your cake is ready. Please call back.', voice: voiceOf('recording') },
  });
  runner.say({ do: 'say', replyId: 'r1', text: 'Your cake is ready. Please call back.', isSpoken: true });
  runner.play('r1');
  await expect.poll(() => sent.some((command) => command.do === 'play' && command.last)).toBe(true);
  runner.say({ do: 'say', replyId: 'r2', text: 'Goodbye.', isSpoken: true });
  await expect
    .poll(() => asked)
    .toEqual(['recording: Your cake is ready. Please call back.', 'voice: Goodbye.']);
});

describe('a reply that a model writes all at once', () => {
  const LONG = 'Your order of 12 May costs $45.50, and comes on Friday. '.repeat(1_000);

  const at = (text: string): ChatDelta => ({ type: 'text', text });
  const ROUNDS = LONG.length / 2_048;

  it('lets other calls of the worker run while it is being split', async () => {
    const reply = generated([at(LONG)]);
    const turns = await turnsUntil(reply.isDone);
    expect(turns).toBeGreaterThanOrEqual(Math.floor(ROUNDS));
    expect(turns).toBeLessThan(2 * ROUNDS + 10);
    expect(reply.text()).toBe(LONG.trim());
  });

  it('is split like one that arrives word by word, which lets other calls run, too', async () => {
    const whole = generated([at(LONG)]);
    await turnsUntil(whole.isDone);
    const inWords = generated((LONG.match(/\S+\s*/g) ?? []).map(at));
    expect(await turnsUntil(inWords.isDone)).toBeGreaterThanOrEqual(Math.floor(ROUNDS) - 1);
    expect(inWords.facts).toEqual(whole.facts);
  });

  it('does not yield at ordinary length', async () => {
    const reply = generated([at('Yes, '), at('of course. '), at('What is your name?')]);
    expect(await turnsUntil(reply.isDone)).toBeLessThanOrEqual(1);
    expect(reply.text()).toBe('Yes, of course. What is your name?');
  });

  it('is no longer split once the call has ended', async () => {
    const reply = generated([at(LONG)]);
    await nextRound();
    await nextRound();
    reply.runner.close();
    const known = reply.facts.length;
    for (let round = 0; round < 2 * ROUNDS; round++) await nextRound();
    expect(reply.facts).toHaveLength(known);
    expect(reply.isDone()).toBe(false);
    expect(reply.text().length).toBeGreaterThan(1_000);
    expect(reply.text().length).toBeLessThan(LONG.length / 2);
  });

  it(`ends after ${LIMITS.replyChars} characters`, async () => {
    const reply = generated([at(LONG), at(LONG), at(LONG)]);
    await turnsUntil(reply.isDone);
    expect(`${LONG}${LONG}`.startsWith(reply.text())).toBe(true);
    expect(reply.text().length).toBeGreaterThan(LIMITS.replyChars - 100);
    expect(reply.text().length).toBeLessThanOrEqual(LIMITS.replyChars);
  });

  it.each([LIMITS.replyChars, LIMITS.replyChars + 1])(
    'calls its tools, and reports its tokens, after %i characters too',
    async (chars) => {
      const usage = { inputTokens: 12, outputTokens: 34, cachedInputTokens: 5 };
      const tool: ChatDelta = { type: 'tool_call', call: { callId: '1', toolName: 'late', input: '{}' } };
      const reply = generated([
        at(`${LONG}${LONG}`.slice(0, chars)),
        at(''),
        tool,
        { type: 'finish', usage },
      ]);
      await turnsUntil(reply.isDone);
      expect(reply.facts.filter(({ type }) => type === 'reply.tool_called')).toMatchObject([
        { call: { toolName: 'late' } },
      ]);
      expect(reply.notes).toEqual([{ usage, modelId: 'at-once', turnId: 1, discardedTokens: 0 }]);
    },
  );

  it('is shown to a reader once per event loop turn, not per sentence: each message has all of it', async () => {
    const reply = generated([at(LONG)], false);
    await turnsUntil(reply.isDone);
    expect(reply.events.length).toBeLessThan(2 * ROUNDS);
    expect(reply.events.at(-1)).toMatchObject({ text: LONG.trim(), final: true });
  });
});

it('a long fixed text is split in turns with other work, its beginning at once', async () => {
  const text = 'Hello, dear customer, and welcome. '.repeat(2_000);
  const spoken: string[] = [];
  let named = 0;
  const runner = new ReplyRunner({
    synthesizer: {
      id: 'chunks',
      voices: [],
      async *synthesise(piece: string) {
        spoken.push(piece);
        yield { samples: new Int16Array(8), sampleRateHz: 8_000, words: null };
      },
    },
    voice: { voiceId: null, language: 'en', speed: 1 },
    outRateHz: () => 8_000,
    isFixed: () => true,
    within: <Result>(work: () => Result): Result => {
      named += 1;
      return work();
    },
    accept: () => undefined,
    send: () => undefined,
    hasLeg: () => true,
    event: () => undefined,
  } as unknown as ReplyRunnerOptions);
  runner.say({ do: 'say', replyId: 'r1', text, isSpoken: true });
  expect(spoken).toEqual(['Hello, dear customer,']);
  runner.commit('r1');
  expect(await turnsUntil(() => spoken.join(' ').length >= text.length - 40)).toBeGreaterThan(
    text.length / 2_048 - 2,
  );
  // A stall in any of these turns is attributed to the call.
  expect(named).toBeGreaterThanOrEqual(text.length / 2_048 + spoken.length);
});

it.each([true, false])(
  'a fixed text that cannot be split fails, and none of it leaks into later audio (spoken: %s)',
  async (isSpoken) => {
    const [facts, sent]: [TurnFact[], LegCommand[]] = [[], []];
    const { promise: made, resolve: make } = Promise.withResolvers<void>();
    let isBroken = false;
    const runner = new ReplyRunner({
      synthesizer: {
        id: 'slow',
        voices: [],
        async *synthesise() {
          await made;
          yield { samples: new Int16Array(8), sampleRateHz: 8_000, words: null };
        },
      },
      voice: { voiceId: null, language: 'en', speed: 1 },
      outRateHz: () => 8_000,
      isFixed: () => true,
      within: <Result>(work: () => Result): Result => {
        if (isBroken) throw new Error('no further');
        return work();
      },
      accept: (fact: TurnFact) => void facts.push(fact),
      send: (command: LegCommand) => void sent.push(command),
      hasLeg: () => true,
      event: () => undefined,
    } as unknown as ReplyRunnerOptions);
    runner.say({
      do: 'say',
      replyId: 'r1',
      text: 'Hello, dear customer, and welcome. '.repeat(100),
      isSpoken,
    });
    runner.play('r1');
    isBroken = true;
    await turnsUntil(() => facts.length > 0);
    make();
    await nextRound();
    expect(facts).toEqual([
      {
        type: 'reply.failed',
        replyId: 'r1',
        stage: 'synthesis',
        message: 'no further',
        status: null,
        isRetryable: true,
      },
    ]);
    expect(sent).toEqual([]);
  },
);

it('a fixed text that cannot be split to the end is played and recorded as far as it is audible', async () => {
  const [facts, sent]: [TurnFact[], LegCommand[]] = [[], []];
  let isBroken = false;
  const runner = new ReplyRunner({
    synthesizer: {
      id: 'endless',
      voices: [],
      async *synthesise() {
        yield { samples: new Int16Array(16_000).fill(900), sampleRateHz: 8_000, words: null };
        await new Promise(() => undefined);
      },
    },
    voice: { voiceId: null, language: 'en', speed: 1 },
    outRateHz: () => 8_000,
    isFixed: () => true,
    within: <Result>(work: () => Result): Result => {
      if (isBroken) throw new Error('no further');
      return work();
    },
    accept: (fact: TurnFact) => void facts.push(fact),
    send: (command: LegCommand) => void sent.push(command),
    hasLeg: () => true,
    event: () => undefined,
  } as unknown as ReplyRunnerOptions);
  runner.say({
    do: 'say',
    replyId: 'r1',
    text: 'Hello, dear customer, and welcome. '.repeat(100),
    isSpoken: true,
  });
  runner.play('r1');
  isBroken = true;
  await turnsUntil(() => sent.some((command) => command.do === 'play' && command.last));
  runner.onPlayout({ type: 'playout.finished', replyId: 'r1', atMs: 2_000 });
  expect(facts).toEqual([
    { type: 'reply.audible', replyId: 'r1' },
    { type: 'playout.finished', replyId: 'r1', heard: expect.stringMatching(/^Hello/) },
  ]);
});

it('a model’s reply that cannot be split fails instead of hanging, even when its rest fails too', async () => {
  const facts: TurnFact[] = [];
  let cuts = 0;
  const runner = new ReplyRunner({
    model: {
      id: 'any',
      isCustom: false,
      async *stream() {
        yield { type: 'text', text: 'Hello, dear customer.' };
      },
    },
    request: async () => ({}),
    within: <Result>(work: () => Result): Result => {
      cuts += 1;
      if (cuts <= 2) throw new Error(`no cut ${cuts}`);
      return work();
    },
    accept: (fact: TurnFact) => void facts.push(fact),
    event: () => undefined,
    noteUsage: () => undefined,
  } as unknown as ReplyRunnerOptions);
  runner.generate({ ...GENERATE, isSpoken: false });
  await turnsUntil(() => facts.length > 0);
  expect(facts).toEqual([
    {
      type: 'reply.failed',
      replyId: 'r1',
      stage: 'model',
      message: 'no cut 1',
      status: null,
      isRetryable: true,
    },
  ]);
});
