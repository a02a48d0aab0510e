import { beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import type { PlainHead, Upload } from '#protocol/uploads.ts';
import type { UploadOutcome } from '#runtime/link/upload-sender.ts';
import { createUploads, type Uploads } from '#runtime/link/uploads.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

/** Of a piece. */
const PIECE_MS = 4_800;
const RATE_HZ = 8_000;

let clock: ManualClock;
let uploads: Uploads;
let sent: Upload[];
/** The outcome of each piece; null: not known yet. */
let outcome: UploadOutcome | null;
let unanswered: ((outcome: UploadOutcome) => void)[];
/** The outcome of whole objects. */
let ofObjects: UploadOutcome;
/** Pieces on the disk; null: it is full. */
let kept: Set<number> | null;
/** Pieces whose object was given up. */
let givenUp: number[];
/** First pieces of the uploads that were sent as objects. */
let asObjects: number[];
/** The text of a piece that cannot be packed. */
let unpackable: string | null;
let lost: number;

function answerAll(result: UploadOutcome): void {
  for (const onDone of unanswered) onDone(result);
}

beforeEach(() => {
  clock = new ManualClock();
  sent = [];
  outcome = 'held';
  unanswered = [];
  ofObjects = 'stored';
  kept = new Set();
  [givenUp, asObjects, unpackable, lost] = [[], [], null, 0];
  uploads = createUploads({
    clock,
    logger: createLogger({ level: 'silent', name: 'test' }),
    onLost: () => {
      lost += 1;
    },
    // As it is compressed, with its position in the object.
    packer: {
      pack: async ({ bytes }, firstSample) => {
        if (String(bytes) === unpackable) throw new Error('no memory');
        return Buffer.from(`${Buffer.from(bytes).toString()}@${firstSample} `);
      },
    },
    objects: {
      send: (object, onDone) => {
        sent.push(object);
        asObjects.push(object.head.piece);
        onDone?.(ofObjects);
      },
      waiting: () => ({ items: [], bytes: 0 }),
      flushed: async () => undefined,
    },
    sender: {
      send: (upload, onDone) => {
        sent.push(upload);
        if (outcome) onDone?.(outcome);
        else if (onDone) unanswered.push(onDone);
      },
      drop: () => answerAll('given_up'),
      waiting: () => ({ items: [], bytes: 0 }),
      flushed: async () => answerAll('stored'),
    },
    kept: {
      keep: async ({ head }) => kept?.add(head.piece) !== undefined,
      giveUp: ({ piece }) => void givenUp.push(piece),
      release: ({ piece, pieces }) => {
        for (let number = piece; number < piece + pieces; number++) kept?.delete(number);
      },
    },
  });
});

const log = (chunk: number, session = 's'): Upload<PlainHead> => ({
  head: { type: 'flight_log', session_id: session, epoch: 1, chunk },
  bytes: Buffer.from(`${session}${chunk}`),
});

/** A piece of four samples, 0.5 ms. */
const audio = (segment: number, startMs: number, rateHz = RATE_HZ): Upload<PlainHead> => ({
  head: {
    type: 'recording',
    session_id: 's',
    epoch: 1,
    track: 'user',
    segment,
    start_ms: startMs,
    rate_hz: rateHz,
  },
  bytes: Buffer.from(`audio${segment}  `),
});

/** The objects that were sent, without single pieces. */
const objects = () =>
  sent.filter(({ head }) => !head.is_part).map(({ head, bytes }) => [head.piece, head.pieces, String(bytes)]);

describe('the pieces of a call', () => {
  it('are sent one by one, and after a minute together as an object', async () => {
    for (let chunk = 0; chunk < 12; chunk++) {
      uploads.put(log(chunk));
      await clock.advance(PIECE_MS);
    }
    expect(sent.slice(0, 12).map(({ head }) => [head.object, head.piece, head.pieces, head.is_part])).toEqual(
      Array.from({ length: 12 }, (_, chunk) => [0, chunk, 1, true]),
    );
    const whole = Array.from({ length: 12 }, (_, chunk) => `s${chunk}@0 `).join('');
    expect(objects()).toEqual([[0, 12, whole]]);
    uploads.put(log(12));
    await clock.advance(0);
    expect(sent.at(-1)?.head).toMatchObject({ object: 12, piece: 12, is_part: true });
  });

  it('are an object when the call ends, without those of other calls', async () => {
    for (const piece of [log(0), log(0, 'other'), log(1)]) uploads.put(piece);
    uploads.end('s', 1);
    await clock.advance(0);
    expect(objects()).toEqual([[0, 2, 's0@0 s1@0 ']]);
  });

  it('need no object if the control plane stores them as they are', async () => {
    outcome = 'stored';
    for (const chunk of [0, 1]) uploads.put(log(chunk));
    uploads.end('s', 1);
    await uploads.flushed();
    expect(sent.map(({ head }) => head.is_part)).toEqual([true, true]);
  });

  it('do not stay in memory once they are stored: the next one begins another object', async () => {
    outcome = 'stored';
    const idle = clock.pendingTimers;
    uploads.put(log(0));
    expect(clock.pendingTimers).toBe(idle + 1);
    await clock.advance(0);
    expect(clock.pendingTimers).toBe(idle);
    outcome = 'held';
    for (const chunk of [1, 2]) uploads.put(log(chunk));
    uploads.end('s', 1);
    await clock.advance(0);
    expect(objects()).toEqual([[1, 2, 's1@0 s2@0 ']]);
  });

  it('are an object after all if one of them was given up', async () => {
    outcome = null;
    for (const chunk of [0, 1]) uploads.put(log(chunk));
    await clock.advance(0);
    for (const [chunk, result] of (['stored', 'given_up'] as const).entries()) unanswered[chunk]?.(result);
    uploads.end('s', 1);
    await clock.advance(0);
    expect(objects()).toEqual([[0, 2, 's0@0 s1@0 ']]);
  });

  it('wait with their object until the control plane has answered', async () => {
    outcome = null;
    uploads.put(log(0));
    uploads.end('s', 1);
    await clock.advance(0);
    expect(objects()).toEqual([]);
    answerAll('held');
    await clock.advance(0);
    expect(objects()).toEqual([[0, 1, 's0@0 ']]);
  });

  it('that no control plane has are dropped if another worker has the call', async () => {
    outcome = null;
    uploads.put(log(0));
    await clock.advance(0);
    uploads.put(log(1));
    uploads.drop('s', 1);
    await uploads.flushed();
    expect(sent.map(({ head }) => [head.piece, head.is_part])).toEqual([[0, true]]);
  });

  it('that a control plane holds are stored even if another worker has the call', async () => {
    uploads.put(log(0));
    await clock.advance(0);
    uploads.put(log(1));
    uploads.drop('s', 1);
    await uploads.flushed();
    expect(objects()).toEqual([[0, 1, 's0@0 ']]);
  });

  it('say which ones before them are stored: control planes may drop those', async () => {
    uploads.put(log(0));
    await clock.advance(12 * PIECE_MS);
    uploads.put(log(1));
    await clock.advance(0);
    expect(sent.map(({ head }) => head.stored_before)).toEqual([undefined, undefined, 1]);
  });

  it('that a control plane only holds are on the disk until their object is stored', async () => {
    for (const chunk of [0, 1]) uploads.put(log(chunk));
    await clock.advance(0);
    expect([...(kept ?? [])]).toEqual([0, 1]);
    uploads.end('s', 1);
    await clock.advance(0);
    expect([...(kept ?? [])]).toEqual([]);
  });

  it('are sent again from the disk if their object could not be stored, and not if it is not wanted', async () => {
    ofObjects = 'given_up';
    uploads.put(log(0));
    uploads.end('s', 1);
    await clock.advance(0);
    expect([[...(kept ?? [])], givenUp, lost]).toEqual([[0], [0], 0]);
    ofObjects = 'refused';
    uploads.put(log(0));
    uploads.end('s', 1);
    await clock.advance(0);
    expect([[...(kept ?? [])], givenUp]).toEqual([[], [0]]);
  });

  it('are lost if neither they nor their object could be stored, and the disk has none', async () => {
    ofObjects = 'given_up';
    outcome = 'given_up';
    for (const chunk of [0, 1]) uploads.put(log(chunk));
    await clock.advance(0);
    // The control plane is there again for the third one.
    outcome = 'stored';
    uploads.put(log(2));
    await clock.advance(0);
    expect(lost).toBe(0);
    uploads.end('s', 1);
    await clock.advance(0);
    expect(lost).toBe(2);
  });

  it('are not lost if they were not wanted, and their object could not be stored', async () => {
    outcome = 'refused';
    ofObjects = 'given_up';
    uploads.put(log(0));
    uploads.end('s', 1);
    await clock.advance(0);
    expect([givenUp, lost]).toEqual([[0], 0]);
  });

  it('are not lost if they are objects of their own, and their object could not be stored', async () => {
    kept = null;
    uploads.put(log(0));
    await clock.advance(0);
    ofObjects = 'given_up';
    uploads.end('s', 1);
    await clock.advance(0);
    expect([givenUp, lost]).toEqual([[0], 0]);
  });

  it('are stored without one that cannot be packed, and draining still ends', async () => {
    unpackable = 's1';
    for (const chunk of [0, 1, 2]) uploads.put(log(chunk));
    await uploads.flushed();
    expect([objects(), lost]).toEqual([
      [
        [0, 1, 's0@0 '],
        [2, 1, 's2@0 '],
      ],
      1,
    ]);
  });

  it('are not on the disk if the control plane stores them as they are', async () => {
    outcome = 'stored';
    uploads.put(log(0));
    await clock.advance(0);
    expect([...(kept ?? [])]).toEqual([]);
  });

  it('are objects of their own if the disk is full, for which no other piece waits', async () => {
    kept = null;
    uploads.put(log(0));
    await clock.advance(0);
    expect(sent.map(({ head }) => [head.piece, head.pieces, head.is_part])).toEqual([
      [0, 1, true],
      [0, 1, false],
    ]);
    expect(asObjects).toEqual([0]);
  });

  it('are in two objects if they are more than a hundred', async () => {
    for (let chunk = 0; chunk < 101; chunk++) uploads.put(log(chunk));
    uploads.end('s', 1);
    await clock.advance(0);
    expect(objects().map(([piece, pieces]) => [piece, pieces])).toEqual([
      [0, 100],
      [100, 1],
    ]);
  });

  it('are all stored when the worker has drained, those whose answer was awaited, too', async () => {
    outcome = 'stored';
    uploads.put(log(0, 'earlier'));
    await clock.advance(0);
    outcome = null;
    uploads.put(log(0));
    await uploads.flushed();
    expect(sent.map(({ head }) => [head.session_id, head.is_part])).toEqual([
      ['earlier', true],
      ['s', true],
    ]);
  });
});

describe('the pieces of a track', () => {
  it('know their position in their object, which knows its length', async () => {
    for (const [segment, startMs] of [
      [0, 1_000],
      [1, 1_020],
    ] as const)
      uploads.put(audio(segment, startMs));
    uploads.end('s', 1);
    await clock.advance(0);
    expect(objects()).toEqual([[0, 2, 'audio0  @0 audio1  @4 ']]);
    expect(sent.at(-1)?.head).toMatchObject({ start_ms: 1_000, samples: 8, rate_hz: RATE_HZ, track: 'user' });
  });

  it('are in two objects if one begins before the end of the other: two sources share the track', async () => {
    uploads.put(audio(0, 1_000));
    uploads.put(audio(1, 980));
    uploads.end('s', 1);
    await clock.advance(0);
    expect(objects()).toEqual([
      [0, 1, 'audio0  @0 '],
      [1, 1, 'audio1  @0 '],
    ]);
  });

  it('are in two objects if there is a gap between them, or another rate', async () => {
    uploads.put(audio(0, 1_000));
    uploads.put(audio(1, 1_021));
    uploads.put(audio(2, 1_021, 16_000));
    uploads.put(audio(4, 1_021, 16_000));
    uploads.end('s', 1);
    await clock.advance(0);
    expect(objects()).toEqual([
      [0, 1, 'audio0  @0 '],
      [1, 1, 'audio1  @0 '],
      [2, 1, 'audio2  @0 '],
      [4, 1, 'audio4  @0 '],
    ]);
  });
});
