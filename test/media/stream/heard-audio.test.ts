import { beforeEach, describe, expect, it } from 'vitest';
import type { PlayoutEvent } from '#media/leg/playout.ts';
import { HeardAudio, MAX_UNHEARD_FRAMES } from '#media/stream/heard-audio.ts';

const FRAME = 160;
let events: PlayoutEvent[];
let heard: HeardAudio;
let nowMs: number;

beforeEach(() => {
  events = [];
  nowMs = 0;
  heard = new HeardAudio((event) => events.push(event));
});

/** Sends a frame of the first piece of a reply; returns the mark that follows it. */
function send(frame: number, saying?: PlayoutEvent): string | null {
  if (saying) heard.take(saying, nowMs);
  const mark = heard.sent({ replyId: 'a', pieceId: 0, sample: frame * FRAME }, nowMs);
  nowMs += 20;
  return mark;
}

const word = (mark: number) =>
  ({ type: 'playout.mark', atMs: nowMs, replyId: 'a', pieceId: 0, mark }) as const;
const finished = () => ({ type: 'playout.finished', atMs: nowMs, replyId: 'a' }) as const;
const cleared = () =>
  ({
    type: 'playout.cleared',
    atMs: nowMs,
    position: { replyId: 'a', pieceId: 0, sample: 10 * FRAME },
  }) as const;
const typesOf = () => events.map(({ type }) => type);

describe('what was heard of a reply that a vendor plays', () => {
  it('is a word once the mark after it has come back', () => {
    const mark = send(1, word(0));
    expect(mark).not.toBeNull();
    expect(events).toEqual([]);
    nowMs = 150;
    heard.returned(String(mark), nowMs);
    expect(events).toEqual([{ ...word(0), atMs: 150 }]);
  });

  it('is the whole reply once the mark after its end has come back', () => {
    const mark = send(1);
    heard.take(finished(), nowMs);
    heard.endSlot(nowMs);
    expect([mark, events]).toEqual([null, []]);
    const next = send(2, word(0));
    heard.returned(String(next), nowMs);
    expect(typesOf()).toEqual(['playout.finished', 'playout.mark']);
  });

  it('is known at least every 100 ms', () => {
    const marks = Array.from({ length: 10 }, (_, index) => send(index + 1));
    expect(marks.map((mark) => mark !== null)).toEqual(
      Array.from({ length: 10 }, (_, index) => index % 5 === 4),
    );
  });

  it('is, when the rest is discarded, what was marked and the time since', () => {
    const marks = Array.from({ length: 10 }, (_, index) => send(index + 1));
    nowMs = 300;
    heard.returned(String(marks[4]), nowMs);
    nowMs = 350;
    heard.take(cleared(), nowMs);
    expect(events).toEqual([
      { type: 'playout.cleared', atMs: 350, position: { replyId: 'a', pieceId: 0, sample: 7 * FRAME } },
    ]);
  });

  it('is nothing of words that were discarded, even if their mark comes back', () => {
    for (let frame = 1; frame <= 4; frame++) send(frame);
    const mark = send(5, word(0));
    nowMs = 60;
    heard.take(cleared(), nowMs);
    heard.returned(String(mark), nowMs);
    expect(typesOf()).toEqual(['playout.cleared']);
  });

  it('keeps a reply waiting while too much of it is unheard', () => {
    let sent = 0;
    while (heard.canSend) send(++sent);
    expect(sent).toBe(MAX_UNHEARD_FRAMES);
    heard.returned('5', nowMs);
    expect(heard.canSend).toBe(true);
  });

  it('is estimated from what was sent if marks do not come back, until one does', () => {
    let sent = 0;
    while (heard.canSend) send(++sent);
    nowMs += 3_000;
    heard.endSlot(nowMs);
    expect(heard.canSend).toBe(true);
    const mark = send(++sent, word(0));
    expect(typesOf()).toEqual(['playout.mark']);
    heard.returned(String(mark), nowMs);
    send(++sent, word(1));
    expect(typesOf()).toEqual(['playout.mark']);
  });
});
