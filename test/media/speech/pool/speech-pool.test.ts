import { expect, it, vi } from 'vitest';
import { type Clock, systemClock } from '#base/clock.ts';
import { readSettings } from '#config/env.ts';
import type { SpeakOptions } from '#media/speech/pool/speech-jobs.ts';
import { createSpeechPool, type SpeechPool, type SpeechWork } from '#media/speech/pool/speech-pool.ts';
import type { SpeechSlot } from '#media/speech/pool/speech-thread.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

/** A pool for the local voice, on a machine with two cores; no other account uses the product otherwise. */
function poolOf(clock: Clock): SpeechPool {
  return createSpeechPool({
    settings: readSettings({}),
    searchPath: '',
    cores: 2,
    clock,
    hasOthers: () => false,
  });
}

/** Slots for streams, plus one that has been freed again. No thread starts for it. */
function places(environment: Record<string, string>, cores: number): number {
  const pool = createSpeechPool({
    settings: readSettings(environment),
    searchPath: '',
    cores,
    clock: systemClock,
    hasOthers: () => false,
  });
  const slots: SpeechSlot[] = [];
  const next = () => pool.take('synthesis', `account ${slots.length}`);
  for (let slot = next(); slot; slot = next()) slots.push(slot);
  slots[0]?.release();
  slots[0]?.release();
  expect([next(), pool.take('synthesis', 'another')]).toEqual([expect.anything(), null]);
  return slots.length;
}

it.each([
  ['the local voice', {}, 1, 6],
  ['the local voice', {}, 2, 12],
  ['the local voice', {}, 16, 80],
  ['a vendor’s voice', { TTS_PROVIDER: 'openai', OPENAI_API_KEY: 'k' }, 2, 40],
])(
  'a machine accepts as many streams of %s as it can serve in real time: %o, %i cores, %i streams',
  (_, environment, cores, streams) => {
    expect(places(environment, cores)).toBe(streams);
  },
);

/** Number of slots an account gets out of this many requests. */
function taken(pool: SpeechPool, work: SpeechWork, account: string, count: number): number {
  return Array.from({ length: count }, () => pool.take(work, account)).filter((slot) => slot !== null).length;
}

it('the last tenth of the slots is closed to accounts at their share when several are active', () => {
  const pool = poolOf(systemClock);
  expect(taken(pool, 'synthesis', 'modest', 1)).toBe(1);
  expect(taken(pool, 'synthesis', 'greedy', 12)).toBe(10);
  expect([pool.take('synthesis', 'greedy'), pool.take('synthesis', 'shy')]).toEqual([
    null,
    expect.anything(),
  ]);
});

it('an account with one slot gets the next before one with most; both leave one to a third', () => {
  const pool = poolOf(new ManualClock());
  expect(taken(pool, 'synthesis', 'modest', 1)).toBe(1);
  const slots = Array.from({ length: 10 }, () => pool.take('synthesis', 'greedy'));
  expect(taken(pool, 'synthesis', 'shy', 2)).toBe(1);
  expect(taken(pool, 'synthesis', 'modest', 1)).toBe(0);
  slots[0]?.release();
  expect(['greedy', 'modest'].map((account) => taken(pool, 'synthesis', account, 1))).toEqual([0, 1]);
  for (let more = 1; more <= 3; more++) {
    slots[more]?.release();
    expect(taken(pool, 'synthesis', 'greedy', 1)).toBe(0);
    taken(pool, 'synthesis', 'modest', 1);
  }
  expect(['greedy', 'modest', 'shy'].map((account) => taken(pool, 'synthesis', account, 1))).toEqual([
    0, 0, 1,
  ]);
});

it('a lone account gets all slots; another counts for 10 s after its last request', async () => {
  const clock = new ManualClock();
  const pool = poolOf(clock);
  const last = pool.take('synthesis', 'gone');
  await clock.advance(60_000);
  last?.release();
  await clock.advance(9_999);
  expect(taken(pool, 'synthesis', 'alone', 12)).toBe(11);
  await clock.advance(1);
  expect(taken(pool, 'synthesis', 'alone', 12)).toBe(1);
});

it('one of fewer than ten slots is reserved for others', () => {
  const pool = poolOf(systemClock);
  expect([taken(pool, 'recognition', 'modest', 1), taken(pool, 'recognition', 'greedy', 4)]).toEqual([1, 2]);
  expect([pool.take('recognition', 'greedy'), pool.take('recognition', 'shy')]).toEqual([
    null,
    expect.anything(),
  ]);
});

it.each<[SpeechWork, number]>([
  ['recognition', 4],
  ['synthesis', 12],
])(
  'in %s, the next slot of an account with all %i goes to one that was refused within 10 s',
  async (work, count) => {
    const clock = new ManualClock();
    const pool = poolOf(clock);
    const slots = Array.from({ length: count }, () => pool.take(work, 'greedy'));
    expect(pool.take(work, 'refused')).toBeNull();
    await clock.advance(9_999);
    slots[0]?.release();
    expect([pool.take(work, 'greedy'), pool.take(work, 'refused')]).toEqual([null, expect.anything()]);
  },
);

it('the first of two refused accounts to ask again gets the next free slot', () => {
  const pool = poolOf(new ManualClock());
  const slots = Array.from({ length: 4 }, () => pool.take('recognition', 'greedy'));
  expect([
    taken(pool, 'recognition', 'a', 1),
    taken(pool, 'recognition', 'b', 1),
    taken(pool, 'recognition', 'greedy', 1),
  ]).toEqual([0, 0, 0]);
  slots[0]?.release();
  expect(['greedy', 'a', 'b'].map((account) => taken(pool, 'recognition', account, 1))).toEqual([0, 1, 0]);
});

it('a refused account that does not return stops blocking others after 10 s', async () => {
  const clock = new ManualClock();
  const pool = poolOf(clock);
  const slots = Array.from({ length: 4 }, () => pool.take('recognition', 'greedy'));
  expect(pool.take('recognition', 'refused')).toBeNull();
  slots[0]?.release();
  await clock.advance(10_000);
  expect(pool.take('recognition', 'greedy')).not.toBeNull();
});

const OPTIONS: SpeakOptions = {
  output: { format: 'pcm', sampleRateHz: 16_000 },
  language: 'en',
  speed: 1,
  volumeDb: 0,
  normalizeLoudness: false,
  chunkLength: 200,
  latency: 'normal',
};

/**
 * A pool of two speech threads, or of one fewer than there are cores; each thread hangs for ever on the text
 * "hang".
 */
function stuckPool(clock: ManualClock, cores = 1, hasOthers = (_account: string) => false) {
  return createSpeechPool({
    settings: readSettings({}),
    searchPath: '',
    cores,
    clock,
    hasOthers,
    program: new URL('./stuck-thread.ts', import.meta.url),
  });
}

async function piecesOf(slot: SpeechSlot | null, text: string): Promise<number> {
  const speaking = slot?.speak(OPTIONS, new AbortController().signal);
  speaking?.say({ text, voiceId: null });
  speaking?.end();
  let pieces = 0;
  for await (const _ of speaking ?? []) pieces += 1;
  return pieces;
}

/** The thread that serves a slot. */
async function threadOf(slot: SpeechSlot | null): Promise<number | undefined> {
  const speaking = slot?.speak(OPTIONS, new AbortController().signal);
  speaking?.say({ text: 'a', voiceId: null });
  speaking?.end();
  const threads: number[] = [];
  for await (const { chunk } of speaking ?? []) threads.push(chunk.seq);
  return threads[0];
}

it('security 6: a thread silent for 10 s is replaced; its work fails, and other threads continue', async () => {
  const clock = new ManualClock();
  const pool = stuckPool(clock);
  const [stuck, fine] = [pool.take('synthesis', 'a'), pool.take('synthesis', 'b')];
  expect([await piecesOf(stuck, 'a'), await piecesOf(fine, 'a')]).toEqual([1, 1]);
  const hanging = piecesOf(stuck, 'hang').catch((error: Error) => error.message);
  for (let seconds = 0; seconds < 12.5; seconds += 2.5) {
    expect(await piecesOf(fine, 'a')).toBe(1);
    await clock.advance(2_500);
  }
  expect(await hanging).toBe('The speech engine stopped: no sign of life for 10 s');
  expect([await piecesOf(stuck, 'a'), await piecesOf(fine, 'a')]).toEqual([1, 1]);
  await pool.close();
});

it('security 6: closing does not wait for a hung thread', async () => {
  const clock = new ManualClock();
  const pool = stuckPool(clock);
  const hanging = piecesOf(pool.take('synthesis', 'a'), 'hang').catch((error: Error) => error.message);
  const closed = pool.close();
  await clock.advance(5_000);
  await closed;
  expect(await hanging).toContain('The speech engine stopped');
});

it('half of the threads are reserved for others, however much one account requests', async () => {
  const clock = new ManualClock();
  const pool = stuckPool(clock);
  pool.take('synthesis', 'modest')?.release();
  const greedy = Array.from({ length: 4 }, () => pool.take('synthesis', 'greedy'));
  const hanging = greedy.map((slot) => piecesOf(slot, 'hang').catch((error: Error) => error.message));
  expect(await piecesOf(pool.take('synthesis', 'modest'), 'a')).toBe(1);
  const closed = pool.close();
  await clock.advance(5_000);
  await closed;
  expect(new Set(await Promise.all(hanging))).toEqual(
    new Set(['The speech engine stopped: the thread ended']),
  );
});

/** Asks the thread again and again whether the stream of this slot must share. */
function sharingOf(slot: SpeechSlot | null): () => Promise<string | undefined> {
  const speaking = slot?.speak(OPTIONS, new AbortController().signal);
  const pieces = speaking?.[Symbol.asyncIterator]();
  return async () => {
    // The thread learns of a change with the piece that is taken next.
    speaking?.say({ text: 'a', voiceId: null });
    await pieces?.next();
    speaking?.say({ text: 'must share', voiceId: null });
    return (await pieces?.next())?.value?.chunk.text;
  };
}

it('a stream that began alone shares once another account requests speech, and no longer than that', async () => {
  const clock = new ManualClock();
  const pool = stuckPool(clock);
  const mustShare = sharingOf(pool.take('synthesis', 'long'));
  expect(await mustShare()).toBe('false');
  pool.take('synthesis', 'other')?.release();
  expect(await mustShare()).toBe('true');
  await clock.advance(10_000);
  expect(await mustShare()).toBe('false');
  await pool.close();
});

it('while another account uses the product in any way, a stream shares and its account leaves a thread', async () => {
  const active = new Set<string>();
  const pool = stuckPool(new ManualClock(), 1, (account) => [...active].some((other) => other !== account));
  const mustShare = sharingOf(pool.take('synthesis', 'greedy'));
  const threadsOfTwo = async () => {
    const slots = [pool.take('synthesis', 'greedy'), pool.take('synthesis', 'greedy')];
    const threads = await Promise.all(slots.map(threadOf));
    for (const slot of slots) slot?.release();
    return new Set(threads).size;
  };
  expect(await mustShare()).toBe('false');
  // The second thread starts with the first of these; until it has, the open one serves both.
  await vi.waitFor(async () => expect(await threadsOfTwo()).toBe(2));
  active.add('greedy').add('caller');
  expect([await mustShare(), await threadsOfTwo()]).toEqual(['true', 1]);
  active.delete('caller');
  expect([await mustShare(), await threadsOfTwo()]).toEqual(['false', 2]);
  await pool.close();
});

it('requests of a lone account are spread over all threads', async () => {
  const pool = stuckPool(new ManualClock(), 5);
  const slots = Array.from({ length: 4 }, () => pool.take('synthesis', 'alone'));
  const threads = await Promise.all(slots.map(threadOf));
  expect(new Set(threads).size).toBe(4);
  await pool.close();
});

it('an account that arrives while a thread is starting is served by a running one', async () => {
  const pool = stuckPool(new ManualClock());
  const served = async (account: string) => {
    const slot = pool.take('synthesis', account);
    const thread = await threadOf(slot);
    slot?.release();
    return thread;
  };
  // The first thread is running, and has more work.
  const first = await threadOf(pool.take('synthesis', 'silent'));
  expect(await served('a')).toBe(first);
  await vi.waitFor(async () => expect(await served('b')).not.toBe(first));
  await pool.close();
});

it('a short text goes before the remaining long texts of another account on the same thread', async () => {
  const pool = poolOf(systemClock);
  // The other thread has more work, which places all speakers on the same thread.
  const quiet = pool.take('synthesis', 'quiet');
  for (let place = 0; place < 6; place++) pool.take('synthesis', 'silent');
  quiet?.release();
  const heard: string[] = [];
  const speak = async (account: string, name: string, text: string) => {
    const speaking = pool.take('synthesis', account)?.speak(OPTIONS, new AbortController().signal);
    speaking?.say({ text, voiceId: null });
    speaking?.end();
    for await (const _ of speaking ?? []) heard.push(name);
  };
  const long = 'This sentence goes on for a while, and then it goes on for another while.';
  const greedy = ['first', 'second', 'third', 'fourth'].map((name) => speak('greedy', name, long));
  await speak('modest', 'modest', 'Yes.');
  expect(new Set(heard)).toEqual(new Set(['first', 'modest']));
  await Promise.all(greedy);
  expect(new Set(heard)).toEqual(new Set(['first', 'modest', 'second', 'third', 'fourth']));
  await pool.close();
});
