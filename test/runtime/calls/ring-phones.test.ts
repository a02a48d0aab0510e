/** Several phones of one extension, rung at once. */
import { describe, expect, it } from 'vitest';
import type { Leg } from '#media/leg/leg.ts';
import { ringPhones } from '#runtime/calls/ring-phones.ts';
import type { OutboundCall } from '#telephony/outbound-call.ts';
import { InviteRefused } from '#telephony/signalling.ts';

/** A phone that the test lets end its call. */
class RungPhone {
  readonly #end = Promise.withResolvers<OutboundCall>();
  readonly commands: unknown[] = [];
  isCancelled = false;

  readonly call = (signal: AbortSignal): Promise<OutboundCall> => {
    signal.addEventListener('abort', () => {
      this.isCancelled = true;
      this.#end.resolve({ outcome: 'cancelled' });
    });
    return this.#end.promise;
  };

  answer(): void {
    const leg = { send: (command: unknown) => this.commands.push(command) } as unknown as Leg;
    this.#end.resolve({ outcome: 'answered', leg } as OutboundCall);
  }

  refuse(status: number, outcome: 'busy' | 'no_answer' | 'failed' = 'failed'): void {
    this.#end.resolve({ outcome, error: new InviteRefused(status) });
  }
}

function ring(count: number) {
  const phones = Array.from({ length: count }, () => new RungPhone());
  const abort = new AbortController();
  const call = ringPhones(
    phones.map((phone) => phone.call),
    abort.signal,
  );
  return { phones: phones as [RungPhone, RungPhone, RungPhone], abort, call };
}

describe('phones that are rung at once', () => {
  it('are cancelled when one of them answers, which has the call', async () => {
    const { phones, call } = ring(3);
    phones[1].answer();
    expect((await call).outcome).toBe('answered');
    expect(phones.map(({ isCancelled }) => isCancelled)).toEqual([true, true, true]);
    expect(phones[1].commands).toEqual([]);
  });

  it('have one winner if two answer in the same moment: the second is hung up', async () => {
    const { phones, call } = ring(2);
    phones[0].answer();
    phones[1].answer();
    await call;
    await new Promise(setImmediate);
    expect([phones[0].commands, phones[1].commands]).toEqual([[], [{ do: 'close' }]]);
  });

  it('go on ringing when one is busy or switched off', async () => {
    const { phones, call } = ring(3);
    phones[0].refuse(486, 'busy');
    phones[1].refuse(503);
    await new Promise(setImmediate);
    expect(phones[2].isCancelled).toBe(false);
    phones[2].answer();
    expect((await call).outcome).toBe('answered');
  });

  it('stop ringing when a person has declined for all of them (603)', async () => {
    const { phones, call } = ring(2);
    phones[0].refuse(603);
    expect(await call).toMatchObject({ outcome: 'failed', error: { status: 603 } });
    expect(phones[1].isCancelled).toBe(true);
  });

  it('that all end without an answer tell the most telling reason', async () => {
    const { phones, call } = ring(3);
    phones[0].refuse(503);
    phones[1].refuse(480, 'no_answer');
    phones[2].refuse(486, 'busy');
    expect((await call).outcome).toBe('busy');
  });

  it('are cancelled with the transfer', async () => {
    const { phones, abort, call } = ring(2);
    abort.abort();
    expect((await call).outcome).toBe('cancelled');
    expect(phones[0].isCancelled && phones[1].isCancelled).toBe(true);
  });
});
