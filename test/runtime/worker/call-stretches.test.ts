import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { MOST_STRETCHES } from '#protocol/call-chain.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import type { Piece } from '#runtime/link/uploads.ts';
import { CallStretches } from '#runtime/worker/call-stretches.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

const ENDED: DurableReport = { type: 'ended', at: '2026-01-01T00:00:00.000Z', end_reason: 'user_hangup' };
const WORDS: DurableReport = { type: 'items', items: [] };

let clock: ManualClock;
let reports: DurableReport[];
let stretches: CallStretches;
/** Compresses the sound that was put first. */
let pack: ((frames: Uint8Array | null) => void)[];

beforeEach(() => {
  clock = new ManualClock();
  reports = [];
  pack = [];
  stretches = new CallStretches({
    clock,
    uploads: { put: ({ head }, onPacked) => head.type === 'recording' && onPacked && pack.push(onPacked) },
    report: (report) => reports.push(report),
  });
});

const log = (chunk: number): Piece => ({
  head: { type: 'flight_log', session_id: 's', epoch: 1, chunk },
  bytes: Buffer.from(`{"chunk":${chunk}}\n`),
});
const sound = (segment: number): Piece => ({
  head: { type: 'recording', session_id: 's', epoch: 1, track: 'user', segment, start_ms: 5, rate_hz: 8_000 },
  bytes: new Uint8Array(16),
});

/** Which stretches each report names. */
const named = () =>
  reports.map((report) =>
    report.type === 'items' ? (report.stretches ?? []).map(({ of, piece }) => `${of} ${piece}`) : report.type,
  );

describe('the stretches of a call', () => {
  it('are named with the digest of what is stored, in the next report of words', async () => {
    stretches.put(log(0));
    stretches.put(sound(0));
    pack[0]?.(Buffer.from('frames'));
    await setImmediate();
    stretches.report({ type: 'media', quality: {} as never });
    stretches.report(WORDS);
    stretches.report(WORDS);
    expect(named()).toEqual(['media', ['log 0', 'user 0'], []]);
    const [, words] = reports;
    expect(words?.type === 'items' && words.stretches?.[0]).toMatchObject({
      bytes: 12,
      sha256: createHash('sha256').update('{"chunk":0}\n').digest('base64url'),
    });
  });

  it('are named alone when nothing is said for twenty seconds', async () => {
    stretches.put(log(0));
    await clock.advance(19_999);
    expect(named()).toEqual([]);
    await clock.advance(1);
    expect(named()).toEqual([['log 0']]);
    await clock.advance(60_000);
    expect(named()).toHaveLength(1);
  });

  it('are named before the end of the call, which waits for the last ones', async () => {
    stretches.put(sound(0));
    stretches.report(ENDED);
    expect(named()).toEqual([]);
    pack[0]?.(Buffer.from('frames'));
    await stretches.close();
    expect(named()).toEqual([['user 0'], 'ended']);
  });

  it('do not hold up the end of the call for more than a second', async () => {
    stretches.put(log(0));
    stretches.put(sound(0));
    stretches.report(ENDED);
    await clock.advance(1_000);
    await stretches.close();
    pack[0]?.(Buffer.from('frames'));
    await clock.advance(60_000);
    expect(named()).toEqual([['log 0'], 'ended']);
  });

  it('are named in several reports if they are more than one may have', async () => {
    for (let chunk = 0; chunk < MOST_STRETCHES + 1; chunk++) stretches.put(log(chunk));
    stretches.report(WORDS);
    expect(named().map((one) => one.length)).toEqual([MOST_STRETCHES]);
    await clock.advance(0);
    expect(named().map((one) => one.length)).toEqual([MOST_STRETCHES, 1]);
  });

  it('are not named if they are lost on this worker', async () => {
    stretches.put(sound(0));
    pack[0]?.(null);
    await setImmediate();
    stretches.report(ENDED);
    expect(named()).toEqual(['ended']);
  });
});
