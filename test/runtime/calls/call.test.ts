import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Variables } from '#config/agent-config.ts';
import type { RecognitionOptions, Recognizer } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { DurableReport, FailoverState } from '#protocol/worker-link.ts';
import { startCall } from '#runtime/calls/call.ts';
import type { RecordingSegment } from '#runtime/calls/call-recording.ts';
import type { CallKnowledge } from '#runtime/knowledge/knowledge-search.ts';
import type { ChatRequest, LanguageModel } from '#runtime/llm/llm.ts';
import { replay } from '#runtime/replay/replay.ts';
import { readFlightLog } from '#runtime/turn/loop/flight-log.ts';
import { SimulatedClock } from '../../simulation/simulated-clock.ts';
import { createSpokenWords, SIMULATED_RATE_HZ, SimulatedLeg } from '../../simulation/simulated-leg.ts';
import { testPlan, testTool } from '../test-plan.ts';

const FIXED = { prompt: { first_message_mode: 'fixed', first_message: 'Hello {{name}}, how are you?' } };

/** A call on virtual time with a voice at 200 ms per word and a model that answers `Fine, thank you.` */
function setUp(
  plan: CallPlan = testPlan(FIXED),
  knowledge: CallKnowledge | null = null,
  recognizer: Recognizer | null = null,
  failoverState: FailoverState | null = null,
) {
  const world = new SimulatedClock();
  const words = createSpokenWords();
  const reports: DurableReport[] = [];
  const segments: RecordingSegment[] = [];
  const flightLog: Uint8Array[] = [];
  const requests: ChatRequest[] = [];
  const emotions: unknown[] = [];
  const voices: (string | null)[] = [];
  const asked: { readonly text: string; readonly isFixed: boolean | undefined }[] = [];
  let toolVariables = (): Variables => ({});
  const model: LanguageModel = {
    id: 'test/model',
    isCustom: false,
    async *stream(request) {
      requests.push(request);
      yield { type: 'text', text: 'Fine, thank you.' };
      yield { type: 'finish', usage: { inputTokens: 7, outputTokens: 4, cachedInputTokens: null } };
    },
  };
  const clock = world.forCall();
  const call = startCall({
    plan: { ...plan, variables: { name: 'Ann' } },
    clock,
    logger: pino({ level: 'silent' }),
    random: () => 0.5,
    recognizer,
    synthesizer: {
      id: 'test',
      voices: [],
      async *synthesise(text, { emotion, isFixed, voiceId }) {
        asked.push({ text, isFixed });
        emotions.push(emotion);
        voices.push(voiceId);
        for (const match of text.matchAll(/\S+/g)) {
          const word = {
            textStart: match.index,
            textEnd: match.index + match[0].length,
            startMs: 0,
            endMs: 0,
          };
          const number = words.add(match[0], 200);
          const position = text.slice(0, word.textEnd).split(' ').length;
          yield {
            samples: new Int16Array(200).fill(number),
            sampleRateHz: SIMULATED_RATE_HZ,
            words: [{ ...word, startMs: (position - 1) * 200, endMs: position * 200 }],
          };
        }
      },
    },
    model,
    knowledge,
    failoverState,
    createTools: (link) => {
      toolVariables = link.variables;
      return {
        runner: {
          definitions: [],
          traits: () => null,
          run: () => Promise.reject(new Error('no tools here')),
          close: () => undefined,
        },
        settle: null,
      };
    },
    report: (report) => reports.push(report),
    live: () => undefined,
    saveRecording: (segment) => segments.push(segment),
    saveFlightLog: ({ bytes }) => flightLog.push(bytes),
  });
  const openLeg = (kind: 'rtp' | 'webrtc' = 'rtp') => {
    const leg = new SimulatedLeg({ clock: world, words, latencyMs: 1, kind });
    call.attach(leg);
    leg.tell({ type: 'connected', atMs: world.now() });
    return leg;
  };
  const run = (ms: number) => world.run(() => false, world.now() + ms);
  const messages = () =>
    reports
      .flatMap((report) => (report.type === 'items' ? report.items : []))
      .flatMap((item) => (item.type === 'message' ? [`${item.role}: ${item.content}`] : []));
  return {
    call,
    clock,
    world,
    reports,
    segments,
    flightLog,
    requests,
    emotions,
    voices,
    asked,
    openLeg,
    run,
    messages,
    toolVariables: () => toolVariables(),
  };
}

describe('a call', () => {
  it('is joined when its leg connects, greets with variables filled, and reports its end last', async () => {
    const { call, openLeg, run, reports, messages, clock } = setUp();
    const leg = openLeg();
    await run(3_000);
    leg.close('remote');
    await run(100);
    expect(await call.ended).toBe('user_hangup');
    expect(messages()).toEqual(['assistant: Hello Ann, how are you?']);
    expect(reports.map(({ type }) => type)).toEqual(['joined', 'items', 'media', 'ended']);
    expect(clock.pending()).toBe(0);
  });

  it('marks fixed texts as cacheable, but not texts with the caller’s name or from the model', async () => {
    const outreach = {
      disclosure: 'This is Ann’s bakery, calling by machine.',
      opt_out: { key: '9', phrases: [], confirmation: 'Goodbye then.' },
    };
    const { call, openLeg, run, world, asked } = setUp({
      ...testPlan({ prompt: { first_message_mode: 'fixed', first_message: 'How are you?' } }),
      outreach,
    });
    const leg = openLeg();
    await run(5_000);
    leg.tell({
      type: 'message',
      atMs: world.now(),
      text: JSON.stringify({ type: 'user.message', text: 'hi', audio: true }),
    });
    await run(3_000);
    leg.tell({ type: 'digit', atMs: world.now(), digit: '9', durationMs: 100, source: 'rfc4733' });
    await run(3_000);
    await call.ended;
    expect(asked.filter(({ isFixed }) => isFixed).map(({ text }) => text)).toEqual([
      ...outreach.disclosure.split(/(?<=,) /),
      'How are you?',
      'Goodbye then.',
    ]);
    expect(asked.filter(({ isFixed }) => !isFixed).map(({ text }) => text)).toEqual(['Fine, thank you.']);
    const named = setUp({
      ...testPlan({ prompt: { first_message_mode: 'fixed', first_message: 'Hello {{name}}. How are you?' } }),
      outreach,
    });
    named.openLeg();
    await named.run(5_000);
    expect(named.asked.some(({ isFixed }) => isFixed)).toBe(false);
  });

  it('says the disclosure first, and confirms and reports an opt-out before the end', async () => {
    const optOut = { key: '9', phrases: [], confirmation: 'Goodbye then.' };
    const plan = testPlan(FIXED, { outreach: { disclosure: 'This is {{name}}.', opt_out: optOut } });
    const { call, openLeg, run, reports, messages, world } = setUp(plan);
    const leg = openLeg();
    await run(3_000);
    leg.tell({ type: 'digit', atMs: world.now(), digit: '9', durationMs: 100, source: 'rfc4733' });
    await run(3_000);
    expect(await call.ended).toBe('agent_hangup');
    expect(messages()).toEqual([
      'assistant: This is Ann. Hello Ann, how are you?',
      'user: Keypad entry: 9',
      'assistant: Goodbye then.',
    ]);
    expect(reports.filter(({ type }) => type === 'opt_out' || type === 'ended')).toEqual([
      { type: 'opt_out', by: 'key' },
      expect.objectContaining({ type: 'ended', end_reason: 'agent_hangup' }),
    ]);
  });

  it('records only complete words heard by a caller who hangs up in the middle of a word', async () => {
    const { openLeg, run, messages } = setUp();
    const leg = openLeg();
    await run(510);
    leg.close('remote');
    await run(100);
    expect(messages()).toEqual([`assistant: ${leg.played[0]?.words.join(' ')}`]);
    expect(leg.played[0]?.words).toHaveLength(2);
  });

  it('reports no join when ended before anyone joined, and the reason as given', async () => {
    const { call, reports } = setUp();
    call.end('room_join_timeout');
    call.end('cancelled');
    expect(await call.ended).toBe('room_join_timeout');
    expect(reports.map(({ type }) => type)).toEqual(['ended']);
  });

  it('cuts the reply, says the goodbye and closes the leg when it is ended externally with a goodbye', async () => {
    const { call, openLeg, run, messages } = setUp();
    const leg = openLeg();
    await run(510);
    call.end('internal_error', { sayGoodbye: true });
    await run(3_000);
    expect(await call.ended).toBe('internal_error');
    expect(messages()).toEqual(['assistant: Hello Ann,', 'assistant: Goodbye.']);
    expect(leg.messages.at(-1)).toEqual({ type: 'session.ended', reason: 'internal_error' });
  });

  it('shows a written answer without speaking it', async () => {
    const { openLeg, run, world, messages, requests } = setUp();
    const leg = openLeg('webrtc');
    await run(3_000);
    leg.tell({
      type: 'message',
      atMs: world.now(),
      text: '{"type":"user.message","text":"how are you","audio":false}',
    });
    await run(500);
    expect(leg.played).toHaveLength(1);
    expect(messages().slice(1)).toEqual(['user: how are you', 'assistant: Fine, thank you.']);
    expect(leg.messages).toContainEqual({
      type: 'transcript',
      role: 'agent',
      segmentId: 'r2',
      text: 'Fine, thank you.',
      final: true,
    });
    expect(requests[0]).toMatchObject({ speculative: false, sessionId: 's1' });
  });

  it('sends captions in step with the playout, ending with the spoken words', async () => {
    const { openLeg, run } = setUp();
    const leg = openLeg('webrtc');
    await run(3_000);
    const captions = leg.messages
      .filter((message) => message['type'] === 'transcript')
      .map((message) => [message['text'], message['final']]);
    expect(captions.slice(0, 2)).toEqual([
      ['Hello', false],
      ['Hello Ann,', false],
    ]);
    expect(captions.at(-1)).toEqual(['Hello Ann, how are you?', true]);
  });

  it('puts retrieved knowledge after the stable prompt, and its sources on the timeline', async () => {
    const asked: string[] = [];
    const passages = [{ knowledge_source_id: 'k1', name: 'Hours', chunk: 4, text: 'Open until ten.' }];
    const { openLeg, run, world, reports, requests } = setUp(testPlan(FIXED), {
      search: async (query) => {
        asked.push(query);
        return passages;
      },
      close: () => undefined,
    });
    const leg = openLeg('webrtc');
    await run(3_000);
    leg.tell({
      type: 'message',
      atMs: world.now(),
      text: '{"type":"user.message","text":"how long are you open"}',
    });
    await run(3_000);
    expect(asked).toEqual(['how long are you open']);
    expect(requests[0]?.messages[1]?.content).toMatch(/# Hours\nOpen until ten\.$/);
    const items = reports.flatMap((report) => (report.type === 'items' ? report.items : []));
    expect(items.slice(1, 3)).toMatchObject([
      { type: 'message', role: 'user', turn_id: 1 },
      {
        type: 'knowledge_retrieval',
        status: 'completed',
        turn_id: 1,
        citations: [{ knowledge_source_id: 'k1', name: 'Hours', chunk: 4 }],
      },
    ]);
  });

  it('reports the tokens of each model run', async () => {
    const { openLeg, run, world, reports } = setUp();
    const leg = openLeg();
    leg.tell({ type: 'message', atMs: world.now(), text: '{"type":"user.message","text":"hi"}' });
    await run(5_000);
    expect(reports).toContainEqual({
      type: 'usage',
      turn_id: 1,
      model: 'test/model',
      input_tokens: 7,
      cached_input_tokens: null,
      output_tokens: 4,
      discarded_output_tokens: 0,
    });
  });
});

describe('keypad menu', () => {
  const MENU = {
    enabled: true,
    prompt: 'Press 1 for sales.',
    options: [{ key: '1', label: 'sales', value: 'the sales desk' }],
    variable: 'desk',
  };
  const planWithMenu = (menu: object) =>
    testPlan({
      prompt: {
        first_message_mode: 'fixed',
        first_message: 'This is {{desk}}.',
        system_prompt: 'You are {{desk}}.',
      },
      conversation: { keypad_menu: { ...MENU, ...menu } },
    });

  it('passes the choice to the first message, the system prompt and the tool variables', async () => {
    const { openLeg, run, world, messages, requests, toolVariables } = setUp(planWithMenu({}));
    const leg = openLeg();
    await run(510);
    leg.tell({ type: 'digit', atMs: world.now(), digit: '1', durationMs: 100, source: 'rfc4733' });
    await run(3_000);
    leg.tell({ type: 'message', atMs: world.now(), text: '{"type":"user.message","text":"hi"}' });
    await run(3_000);
    expect(messages().slice(0, 3)).toEqual([
      'user: Keypad entry: 1',
      'assistant: Press 1',
      'assistant: This is the sales desk.',
    ]);
    expect(requests[0]?.messages[0]?.content).toContain('You are the sales desk.');
    expect(toolVariables()).toEqual({ name: 'Ann', desk: 'the sales desk' });
  });

  it('uses the fallback when the caller presses nothing', async () => {
    const { openLeg, run, messages } = setUp(
      planWithMenu({ max_attempts: 1, no_input_timeout_seconds: 1, fallback_value: 'the front desk' }),
    );
    openLeg();
    await run(4_000);
    expect(messages()).toEqual(['assistant: Press 1 for sales.', 'assistant: This is the front desk.']);
  });

  it.each(['web_voice', 'phone_outbound'] as const)('is not played on %s', async (channel) => {
    const { openLeg, run, messages } = setUp({ ...planWithMenu({}), channel });
    openLeg();
    await run(6_000);
    expect(messages()).toEqual(['assistant: This is {{desk}}.']);
  });
});

describe('voice.expressive', () => {
  it.each([
    [true, ['happy']],
    [false, [null]],
  ])('%s: the voice receives %j, and the timeline only the words', async (expressive, told) => {
    const prompt = { first_message_mode: 'fixed', first_message: '[happy] Welcome back!' };
    const { openLeg, run, messages, emotions } = setUp(testPlan({ prompt, voice: { expressive } }));
    openLeg();
    await run(3_000);
    expect(emotions).toEqual(told);
    expect(messages()).toEqual(['assistant: Welcome back!']);
  });
});

it.each([
  ['default', null],
  ['v'.repeat(256), 'v'.repeat(256)],
])('voice.voice_id %s selects the voice of the agent', async (voice_id, voice) => {
  const { openLeg, run, voices } = setUp(testPlan({ prompt: FIXED.prompt, voice: { voice_id } }));
  openLeg();
  await run(3_000);
  expect(voices).toEqual([voice]);
});

/** A recogniser that emits the test's words and records its options. */
function listening(opened: RecognitionOptions[]): Recognizer {
  return {
    id: 'test',
    givesInterims: true,
    expectedFinalMs: 100,
    open: (options) => {
      opened.push(options);
      return { write: () => undefined, finalise: () => undefined, close: () => undefined };
    },
  };
}

it.each([0, 50])('asr.keyterms: the recogniser receives %i of them', async (count) => {
  const opened: RecognitionOptions[] = [];
  const keyterms = Array.from({ length: count }, (_, index) => `term ${index}`);
  const { openLeg, run } = setUp(testPlan({ asr: { keyterms } }), null, listening(opened));
  openLeg();
  await run(100);
  expect(opened).toMatchObject([{ keyterms }]);
});

describe('asr.strict_language', () => {
  it.each([
    [true, false, 'fr', 'user: [unintelligible speech]'],
    [true, true, 'fr', 'user: [unintelligible speech]'],
    [true, false, 'en-GB', 'user: bonjour'],
    [true, false, null, 'user: bonjour'],
    [false, false, 'fr', 'user: bonjour'],
  ])('strict %s, multilingual %s, an utterance recognised as %s reaches the agent as %s', async (...row) => {
    const [strict_language, multilingual, language, told] = row;
    const opened: RecognitionOptions[] = [];
    const plan = testPlan({
      prompt: { first_message_mode: 'off' },
      asr: { strict_language, multilingual, keyterms: ['Parley'] },
    });
    const { openLeg, run, requests } = setUp(plan, null, listening(opened));
    openLeg();
    await run(100);
    opened[0]?.onEvent({ type: 'final', text: 'bonjour', startMs: null, endMs: null, language });
    await run(3_000);
    expect(opened).toMatchObject([
      { language: 'en', multilingual: strict_language || multilingual, keyterms: ['Parley'] },
    ]);
    expect(
      requests[0]?.messages.filter(({ role }) => role === 'user').map(({ content }) => `user: ${content}`),
    ).toEqual([told]);
  });

  it('words in an unknown language never become a turn', async () => {
    const opened: RecognitionOptions[] = [];
    const tell: RecognitionOptions['onEvent'] = (event) => opened[0]?.onEvent(event);
    const plan = testPlan({ prompt: { first_message_mode: 'off' }, asr: { strict_language: true } });
    const { openLeg, run, requests, world } = setUp(plan, null, listening(opened));
    const leg = openLeg();
    await run(100);
    leg.tell({ type: 'voice.onset', atMs: world.now(), decidedAtMs: world.now() });
    tell({ type: 'interim', text: 'bonjour' });
    await run(500);
    leg.tell({ type: 'voice.offset', atMs: world.now(), decidedAtMs: world.now(), voicedMs: 500 });
    await run(5_000);
    expect(
      requests.flatMap(({ messages }) =>
        messages.filter(({ role, content }) => role === 'user' && content.includes('bonjour')),
      ),
    ).toEqual([]);
    tell({ type: 'final', text: 'bonjour', startMs: null, endMs: null, language: 'fr' });
    await run(3_000);
    expect(requests.at(-1)?.messages.at(-1)).toMatchObject({
      role: 'user',
      content: '[unintelligible speech]',
    });
  });
});

describe('a browser that reconnects', () => {
  it('takes over: the first leg’s playout is on record, and the conversation continues', async () => {
    const { openLeg, run, world, messages } = setUp();
    const first = openLeg('webrtc');
    await run(510);
    first.close('failed');
    await run(1_000);
    const second = openLeg('webrtc');
    second.tell({ type: 'message', atMs: world.now(), text: '{"type":"user.message","text":"back again"}' });
    await run(3_000);
    expect(messages()).toEqual(['assistant: Hello Ann,', 'user: back again', 'assistant: Fine, thank you.']);
    expect(second.played.map(({ words }) => words.join(' ')).filter((words) => words !== '')).toEqual([
      'Fine, thank you.',
    ]);
  });

  it('hears the agent resume the interrupted reply without asking', async () => {
    const { openLeg, run, requests, messages } = setUp();
    const first = openLeg('webrtc');
    await run(510);
    first.close('failed');
    await run(6_000);
    const second = openLeg('webrtc');
    await run(3_000);
    expect(requests.map(({ messages: asked }) => asked.at(-1)?.content)).toEqual([
      expect.stringContaining('connection broke off'),
    ]);
    expect(messages()).toEqual(['assistant: Hello Ann,', 'assistant: Fine, thank you.']);
    expect(second.played.map(({ words }) => words.join(' '))).toEqual(['Fine, thank you.']);
  });

  it('gets an answer to what the caller said before the disconnect', async () => {
    const { openLeg, run, world, messages } = setUp();
    const first = openLeg('webrtc');
    await run(3_000);
    first.tell({ type: 'message', atMs: world.now(), text: '{"type":"user.message","text":"how are you"}' });
    await run(20);
    first.close('failed');
    // Longer than any step of a call with a leg may take.
    await run(12_000);
    const second = openLeg('webrtc');
    await run(3_000);
    expect(messages().slice(1)).toEqual(['user: how are you', 'assistant: Fine, thank you.']);
    expect(second.played.map(({ words }) => words.join(' '))).toEqual(['Fine, thank you.']);
  });

  it('has 15 s to return; otherwise the call ends at the time of the disconnect', async () => {
    const { call, openLeg, run, reports, world } = setUp();
    const leg = openLeg('webrtc');
    await run(3_000);
    leg.close('failed');
    const lostAt = new Date(world.wallTime()).toISOString();
    await run(14_900);
    expect(reports.map(({ type }) => type)).not.toContain('ended');
    await run(200);
    expect(await call.ended).toBe('user_hangup');
    // The wait is not billed.
    expect(reports.at(-1)).toMatchObject({ type: 'ended', at: lostAt });
  });
});

describe('recording and flight log', () => {
  it('segments are numbered over all legs of the call, and reported once at the end', async () => {
    const { openLeg, run, world, segments, reports } = setUp();
    const record = (leg: SimulatedLeg, segment: number) =>
      leg.tell({
        type: 'recording',
        track: 'user',
        segment,
        startMs: world.now(),
        rateHz: 1_000,
        samples: new Int16Array(500),
      });
    const first = openLeg('webrtc');
    record(first, 0);
    record(first, 1);
    await run(100);
    const second = openLeg('webrtc');
    record(second, 0);
    // The rest of the first leg's audio arrives after the change.
    record(first, 2);
    await run(100);
    second.close('remote');
    await run(1_000);
    expect(segments.map(({ segment }) => segment)).toEqual([0, 1, 2, 3]);
    expect(reports.filter(({ type }) => type === 'recording')).toMatchObject([
      { tracks: [{ role: 'user', segments: 4, rate_hz: 1_000 }] },
    ]);
    expect(reports.at(-1)?.type).toBe('ended');
  });

  it.each([
    [true, 1],
    [false, 0],
  ])('record_audio %s stores %i segments', async (record_audio, kept) => {
    const { openLeg, run, world, segments, reports } = setUp(testPlan(FIXED, { record_audio }));
    const leg = openLeg();
    leg.tell({
      type: 'recording',
      track: 'user',
      segment: 0,
      startMs: world.now(),
      rateHz: 1_000,
      samples: new Int16Array(500),
    });
    leg.close('remote');
    await run(1_000);
    expect(segments).toHaveLength(kept);
    expect(reports.filter(({ type }) => type === 'recording')).toHaveLength(kept);
  });

  it('a flight log is saved every few seconds; a torn last line is dropped, another version refused', async () => {
    const { openLeg, run, flightLog } = setUp();
    openLeg();
    await run(5_100);
    expect(flightLog).toHaveLength(1);
    const [whole] = readFlightLog(flightLog);
    expect(whole.header).toMatchObject({ session_id: 's1', config: { greeting: { mode: 'say' } } });
    expect(readFlightLog([...flightLog, Buffer.from('{"type":"voice.sta')])[0].inputs).toEqual(whole.inputs);
    const text = Buffer.concat(flightLog).toString();
    expect(() =>
      readFlightLog([Buffer.from(text.replace(/"machine_version":\d+/, '"machine_version":0'))]),
    ).toThrow(/machine version 0/);
  });

  it('a call after a failover has one log part per worker, even if the lost one’s last line is torn', async () => {
    const lost = setUp();
    lost.openLeg();
    await lost.run(5_100);
    const failoverState = {
      items: [],
      was_cut_off: false,
      elapsed_ms: 5_100,
      lost_at: '2026-01-01T00:00:05.000Z',
      dialog: null,
      person: null,
    };
    const successor = setUp(testPlan(FIXED), null, null, failoverState);
    successor.openLeg();
    await successor.run(5_100);
    const torn = Buffer.from('{"type":"voice.sta');
    const alone = [readFlightLog(lost.flightLog), readFlightLog(successor.flightLog)];
    expect(alone.map((parts) => parts.length)).toEqual([1, 1]);
    expect(readFlightLog([...lost.flightLog, ...successor.flightLog])).toEqual(alone.flat());
    expect(readFlightLog([...lost.flightLog, torn, ...successor.flightLog])).toEqual(alone.flat());
    for (const part of alone.flat()) expect([...replay(part)]).toHaveLength(part.inputs.length);
  });

  it('security 20: after a failover the model does not see a failure that its tool hides', async () => {
    const about = {
      call_id: 'c1',
      tool_name: 'look_up',
      tool_source: 'webhook',
      turn_id: 1,
      created_at: '2026-01-01T00:00:00.000Z',
    };
    const items: FailoverState['items'] = [
      { type: 'tool_call', input: '{}', ...about },
      {
        type: 'tool_result',
        status: 'failed',
        output: 'planted',
        output_truncated: false,
        error: 'planted',
        latency_ms: 1,
        ...about,
      },
    ];
    const failoverState = {
      items,
      was_cut_off: false,
      elapsed_ms: 5_100,
      lost_at: '2026-01-01T00:00:05.000Z',
      dialog: null,
      person: null,
    };
    const plan = testPlan(FIXED);
    const successor = setUp(
      { ...plan, tools: [testTool({ function_name: 'look_up', error_handling: 'hide' })] },
      null,
      null,
      failoverState,
    );
    successor.openLeg();
    await successor.run(5_100);
    const [log] = readFlightLog(successor.flightLog);
    expect(JSON.stringify(log.header.config)).toContain('The tool failed.');
    expect(JSON.stringify(log.header.config)).not.toContain('planted');
  });

  it('media statistics are reported for a phone call after its leg closes, never for a browser', async () => {
    const phone = setUp();
    phone.openLeg().close('remote');
    await phone.run(1_000);
    const quality = {
      packets_received: 0,
      packets_lost: 0,
      packets_sent: 0,
      jitter_ms: 0,
      round_trip_ms: null,
      mos: null,
    };
    expect(phone.reports.slice(-2)).toMatchObject([{ type: 'media', quality }, { type: 'ended' }]);
    const browser = setUp();
    browser.openLeg('webrtc').close('remote');
    await browser.run(1_000);
    expect(browser.reports.map(({ type }) => type)).not.toContain('media');
  });
});
