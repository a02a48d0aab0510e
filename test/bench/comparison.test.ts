/**
 * Tests of the comparison's own instruments: its evaluation of a call, and the recogniser that knows the
 * script of a scene.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { judgeCall, ownWords } from '#bench/comparison/judge.ts';
import { startCuedRecogniser } from '#bench/comparison/recogniser.ts';
import { toMarkdown } from '#bench/comparison/report.ts';
import { GREETING, LONG_REPLY, WORD_MS } from '#bench/comparison/script.ts';
import type { RoomCall } from '#caller/room-caller.ts';
import type { Meaning } from '#caller/scene.ts';
import { addVoice } from '#caller/timeline.ts';

const WORDS = LONG_REPLY.split(' ').length;
const LONG_MS = WORDS * WORD_MS;

/** A call with the agent audible in these spans and with these lines in its transcript. */
function callOf(
  spans: readonly (readonly [number, number])[],
  lines: readonly (readonly [Meaning, number, number])[],
): RoomCall {
  const voicedMs = spans.flatMap(([from, to]) =>
    Array.from({ length: (to - from) / 10 }, (_, index) => from + 10 * index),
  );
  const agent: { firstMs: number; lastMs: number }[] = [];
  for (const atMs of voicedMs) addVoice(agent, atMs);
  return {
    joinedMs: 0,
    agent,
    voicedMs,
    lines: lines.map(([means, firstMs, lastMs]) => ({ text: means, means, firstMs, lastMs })),
    latenessMs: [],
    endedByCaller: true,
  };
}

describe('the evaluation of a call', () => {
  it('times each answer from the end of the caller’s line, and counts missing answers', () => {
    const call = callOf(
      [
        [200, 1_000],
        [3_600, 5_000],
      ],
      [
        ['turn', 2_000, 3_000],
        ['turn', 6_000, 7_000],
      ],
    );
    expect(judgeCall(call, [])).toMatchObject({
      greetingMs: 200,
      replyMs: [600],
      unanswered: 1,
      premature: 0,
    });
  });

  it('distinguishes pauses for thought in which the agent spoke from pauses it waited out', () => {
    const spokenInto = callOf(
      [[1_500, 2_600]],
      [
        ['part', 0, 1_000],
        ['turn', 2_000, 3_000],
      ],
    );
    const waitedOut = callOf(
      [[3_500, 4_500]],
      [
        ['part', 0, 1_000],
        ['turn', 2_000, 3_000],
      ],
    );
    expect(judgeCall(spokenInto, [])).toMatchObject({ pauses: 1, premature: 1 });
    expect(judgeCall(waitedOut, [])).toMatchObject({ pauses: 1, premature: 0, replyMs: [500] });
  });

  it('compares the recorded reply with the words heard before an interruption', () => {
    const call = callOf(
      [
        [1_500, 1_500 + 10 * WORD_MS],
        [8_000, 9_000],
      ],
      [
        ['turn', 0, 1_000],
        ['interruption', 4_500, 6_500],
      ],
    );
    const heard = judgeCall(call, [GREETING, LONG_REPLY.split(' ').slice(0, 12).join(' ')]);
    expect(heard).toMatchObject({
      interruptions: 1,
      missed: 0,
      wordsOff: [2],
      stopMs: [1_500 + 10 * WORD_MS - 10 - 4_500],
    });
    expect(judgeCall(call, null).wordsOff).toEqual([]);
  });

  it('counts an interruption as missed when the agent continues to speak', () => {
    expect(
      judgeCall(
        callOf(
          [[1_500, 7_000]],
          [
            ['turn', 0, 1_000],
            ['interruption', 4_000, 6_500],
          ],
        ),
        [],
      ),
    ).toMatchObject({ interruptions: 1, missed: 1 });
  });

  it('requires a long answer to continue over a “mhm”, with or without a pause', () => {
    const lines = [
      ['turn', 0, 1_000],
      ['backchannel', 4_000, 4_400],
    ] as const;
    expect(judgeCall(callOf([[1_500, 1_500 + LONG_MS]], lines), [LONG_REPLY])).toMatchObject({
      listenedTo: 1,
      brokenOff: 0,
      heldMs: [0],
    });
    const paused = callOf(
      [
        [1_500, 4_300],
        [5_300, 2_500 + LONG_MS],
      ],
      lines,
    );
    expect(judgeCall(paused, [LONG_REPLY])).toMatchObject({ brokenOff: 0, heldMs: [1_010] });
    expect(judgeCall(callOf([[1_500, 4_300]], lines), ['Our garden was'])).toMatchObject({ brokenOff: 1 });
  });

  it('separates unprompted agent speech from the scripted answers', () => {
    expect(ownWords([GREETING, 'Our garden was', 'Sorry, something went wrong.', ''])).toEqual([
      'Sorry, something went wrong.',
    ]);
  });
});

it('the page shows both sides’ figures and engine failures, and notes a busy machine or aborted run', () => {
  const heard = judgeCall(
    callOf(
      [
        [200, 1_000],
        [3_600, 5_000],
      ],
      [['turn', 2_000, 3_000]],
    ),
    [],
  );
  const fault = {
    fault: 'voice answers 500',
    heardAfterMs: null,
    nextAnsweredAfterMs: 900,
    wasSentAway: false,
    ownWords: ['Sorry.'],
  };
  const side = (name: string, faults: (typeof fault)[]) => ({
    name,
    version: '1.0.0',
    calls: [{ scene: 'questions', heard }],
    faults,
    latenessMs: [2],
    failed: 1,
    idle: { cpuShare: 0.02, bytes: 104_857_600 },
    load: { calls: 4, minutes: 2, seconds: 30, cpuSeconds: 4.6, peakBytes: 146_800_640, replyMs: [700, 900] },
  });
  const run = {
    at: '2026-11-22T00:00:00.000Z',
    command: 'npm run compare',
    machine: { cpu: 'a processor', cores: 2, node: 'v24', othersShare: 0.02 },
    settings: { waitMs: 300, maxWaitMs: 2_500, interruptMs: 256 },
    sides: [side('One', [fault]), side('Other', [fault])],
  } as const;
  const page = toMarkdown(run);
  expect(page).toContain('| Calls played (failed) | 1 (1) | 1 (1) |');
  expect(page).toContain('| 600 / 600 / 600 (1) | 600 / 600 / 600 (1) |');
  expect(page).toContain('judged finished | 1 of 1 | 1 of 1 |');
  expect(page).toContain('above the idle share | 2.00 | 2.00 |');
  expect(page).toContain('Memory per call, MiB | 10.0 | 10.0 |');
  expect(page).toContain('| voice answers 500 | silence; the next one answered after 0.9 s; says “Sorry.” |');
  expect(page).not.toMatch(/The machine was busy|stopped before its end/);
  expect(toMarkdown({ ...run, machine: { ...run.machine, othersShare: 0.4 } })).toContain(
    'The machine was busy',
  );
  expect(toMarkdown({ ...run, sides: [side('One', []), side('Other', [fault])] })).toContain(
    'stopped before its end',
  );
});

describe('the scripted recogniser', () => {
  const cleanups: (() => void)[] = [];
  afterEach(() => {
    for (const cleanup of cleanups.splice(0)) cleanup();
  });

  it('returns the words spoken so far at once, and the remaining words after the requested silence', async () => {
    const recogniser = await startCuedRecogniser({ delayMs: 0 });
    const socket = new WebSocket(
      `${recogniser.url}/v1/listen?sample_rate=16000&endpointing=300&vad_events=true`,
    );
    cleanups.push(
      () => socket.terminate(),
      () => recogniser.close(),
    );
    // biome-ignore lint/suspicious/noExplicitAny: whatever came
    const messages: any[] = [];
    socket.on('message', (data) => messages.push(JSON.parse(String(data))));
    await new Promise((resolve) => socket.once('open', resolve));
    recogniser.cue({
      words: [
        { text: 'Good', endMs: 300 },
        // The end of the word is too soft to count as voice.
        { text: 'morning.', endMs: 950 },
      ],
      isStanding: false,
    });
    socket.send(audio(400, 3_000));
    await expect
      .poll(() => messages.at(-1)?.channel?.alternatives[0].transcript, { timeout: 20_000 })
      .toBe('Good');
    expect(messages[0].type).toBe('SpeechStarted');
    socket.send(audio(400, 3_000));
    socket.send(audio(400, 0));
    await expect
      .poll(() => messages.at(-1), { timeout: 20_000 })
      .toMatchObject({ is_final: true, speech_final: true });
    expect(messages.at(-1).channel.alternatives[0].transcript).toBe('Good morning.');
    const finals = messages.length;
    socket.send(JSON.stringify({ type: 'Finalize' }));
    await expect
      .poll(() => messages.slice(finals)[0], { timeout: 20_000 })
      .toMatchObject({ from_finalize: true });
    expect(messages.at(-1).channel.alternatives[0].transcript).toBe('');
  });
});

it('recognises a late line from the start of its voice, and rejects the vendor’s voice', async () => {
  const recogniser = await startCuedRecogniser({ delayMs: 0 });
  const socket = new WebSocket(`${recogniser.url}/v1/listen?sample_rate=16000&endpointing=300`);
  // biome-ignore lint/suspicious/noExplicitAny: whatever came
  const messages: any[] = [];
  socket.on('message', (data) => messages.push(JSON.parse(String(data))));
  await new Promise((resolve) => socket.once('open', resolve));
  socket.send(audio(400, 3_000));
  await expect.poll(() => messages.length, { timeout: 20_000 }).toBeGreaterThan(1);
  recogniser.cue({ words: [{ text: 'Good', endMs: 700 }], isStanding: false });
  socket.send(audio(300, 3_000));
  socket.send(audio(400, 0));
  await expect.poll(() => messages.at(-1)?.speech_final, { timeout: 20_000 }).toBe(true);
  expect(messages.at(-1).channel.alternatives[0].transcript).toBe('Good');
  socket.terminate();
  const voice = new WebSocket(`${recogniser.url}/v1/speak`);
  const status = await new Promise((resolve) =>
    voice.once('unexpected-response', (_request, response) => resolve(response.statusCode)),
  );
  expect(status).toBe(400);
  voice.on('error', () => undefined).terminate();
  recogniser.close();
});

function audio(ms: number, peak: number): Buffer {
  const samples = Int16Array.from({ length: 16 * ms }, (_, index) => peak * Math.sin(index / 5));
  return Buffer.from(samples.buffer);
}
