import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DigitReceiver, DigitSender, type ReceivedDigit } from '#media/rtp/dtmf.ts';

const event = (code: number, duration: number, isEnd = false) =>
  Uint8Array.of(code, (isEnd ? 0x80 : 0) | 10, duration >> 8, duration & 0xff);

describe('received telephone events', () => {
  it('report a press once, with its complete duration, however often its end is repeated', () => {
    const receiver = new DigitReceiver();
    expect(receiver.push(1000, event(5, 160), 0)).toEqual([]);
    expect(receiver.push(1000, event(5, 320), 20)).toEqual([]);
    expect(receiver.push(1000, event(5, 800, true), 100)).toEqual([{ digit: '5', durationMs: 100, atMs: 0 }]);
    expect(receiver.push(1000, event(5, 800, true), 101)).toEqual([]);
    expect(receiver.push(1000, event(5, 800), 102)).toEqual([]);
    expect(receiver.expire(1000)).toBeNull();
  });

  it('report a press of which only one packet arrived', () => {
    expect(new DigitReceiver().push(7, event(11, 800, true), 5)).toMatchObject([{ digit: '#' }]);
  });

  it('report a press with a lost end when the next press begins, or soon after', () => {
    const receiver = new DigitReceiver();
    receiver.push(1000, event(1, 320), 0);
    expect(receiver.push(3000, event(2, 160), 300)).toMatchObject([{ digit: '1', durationMs: 40 }]);
    expect(receiver.expire(350)).toBeNull();
    expect(receiver.expire(450)).toMatchObject({ digit: '2' });
    expect(receiver.push(3000, event(2, 800, true), 460)).toEqual([]);
  });

  it('report the same key pressed twice as two presses', () => {
    const receiver = new DigitReceiver();
    const digits = [1000, 3000].flatMap((timestamp) =>
      receiver.push(timestamp, event(9, 800, true), timestamp / 8),
    );
    expect(digits.map(({ digit }) => digit)).toEqual(['9', '9']);
  });

  it('never throw, and only ever report telephone keys', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(2 ** 32 - 1), fc.uint8Array({ maxLength: 8 }))), (packets) => {
        const receiver = new DigitReceiver();
        const digits = packets.flatMap(([timestamp, payload], n) =>
          receiver.push(timestamp, payload, n * 20),
        );
        expect(digits.every(({ digit }) => /^[0-9*#A-D]$/.test(digit))).toBe(true);
      }),
    );
  });
});

describe('sent telephone events', () => {
  /** Keys a receiver reports when the packets selected by `isLost` never arrive. */
  function carry(digits: string, isLost: (packet: number) => boolean): string {
    const sender = new DigitSender();
    sender.enqueue(digits);
    const receiver = new DigitReceiver();
    const heard: ReceivedDigit[] = [];
    let timestamp = 0;
    for (let slot = 0, packet = 0; sender.isSending; slot++) {
      const next = sender.next();
      if (next?.isFirst) timestamp = slot * 160 + 1;
      if (next && !isLost(packet++)) heard.push(...receiver.push(timestamp, next.payload, slot * 20));
    }
    const last = receiver.expire(1e9);
    return [...heard, ...(last ? [last] : [])].map(({ digit }) => digit).join('');
  }

  it('arrive as typed, even when any one packet of each press is lost', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...'0123456789*#ABCD'), { minLength: 1, maxLength: 12 }),
        fc.nat(6),
        (keys, lost) => {
          const digits = keys.join('');
          expect(carry(digits, (packet) => packet % 7 === lost)).toBe(digits);
        },
      ),
    );
  });

  it('skip characters that are not keys', () => {
    expect(carry('1-2 x3', () => false)).toBe('123');
  });
});

describe('sent keys with pauses', () => {
  /** The slots at which each press begins, and at which the presses are over. */
  function slotsOf(...presses: readonly (readonly [string, string | null])[]) {
    const begun: string[] = [];
    const over: string[] = [];
    let slot = 0;
    const sender = new DigitSender((pressId) => void over.push(`${pressId} at ${slot}`));
    for (const [keys, pressId] of presses) sender.enqueue(keys, pressId);
    for (; sender.isSending && slot < 1_000; slot++) {
      const packet = sender.next();
      if (packet?.isFirst) begun.push(`${packet.key} at ${slot}`);
    }
    return { begun, over };
  }

  it('wait half a second for w, one for W and two for a comma; a key and its pause take 200 ms', () => {
    expect(slotsOf(['1w2W3,4', null]).begun).toEqual(['1 at 0', '2 at 35', '3 at 95', '4 at 205']);
  });

  it('are reported when the pause after the last key is over, presses in their order', () => {
    expect(slotsOf(['12', 'a'], ['3w', 'b'])).toEqual({
      begun: ['1 at 0', '2 at 10', '3 at 20'],
      over: ['a at 19', 'b at 54'],
    });
  });

  it('are reported at once if there are none', () => {
    expect(slotsOf(['', 'none']).over).toEqual(['none at 0']);
  });

  it('end when they are dropped, and are not reported', () => {
    const over: string[] = [];
    const sender = new DigitSender((pressId) => void over.push(pressId));
    sender.enqueue('12', 'a');
    sender.next();
    sender.drop();
    expect([sender.isSending, sender.next(), over]).toEqual([false, null, []]);
  });
});
