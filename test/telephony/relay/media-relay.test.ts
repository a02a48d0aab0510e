import { beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { createMediaRelay, type MediaRelay } from '#telephony/relay/media-relay.ts';
import { type NgClient, type NgCommand, NgRefused, NgSilent } from '#telephony/relay/ng-client.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

/** A relay that executes, refuses or ignores its commands. */
class Relay implements NgClient {
  readonly commands: NgCommand[] = [];
  state: 'well' | 'refusing' | 'silent' = 'well';
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  async ask(command: NgCommand) {
    this.commands.push(command);
    if (this.state === 'silent') throw new NgSilent(this.name);
    if (this.state === 'refusing') throw new NgRefused(this.name);
    return { result: 'ok', sdp: `by ${this.name}` };
  }

  close(): void {
    this.state = 'silent';
  }

  get asked(): string[] {
    return this.commands.map(({ command }) => command);
  }
}

describe('the relay of a call', () => {
  let clock: ManualClock;
  let a: Relay;
  let b: Relay;
  let relay: MediaRelay;

  beforeEach(() => {
    clock = new ManualClock();
    [a, b] = [new Relay('a'), new Relay('b')];
    let count = 0;
    const interfaces = { network: 'public', worker: 'private' };
    relay = createMediaRelay({
      relays: [a, b],
      interfaces,
      clock,
      logger: createLogger({ level: 'silent', name: 'test' }),
      callId: () => `call-${++count}`,
    });
  });

  it('is chosen among all relays, and stays the same throughout the call', async () => {
    const [first, second] = [relay.openCall(), relay.openCall()];
    expect(await first.offer('network', 'v=0\r\n')).toBe('by a');
    expect(await second.offer('network', 'v=0\r\n')).toBe('by b');
    expect(await first.answer('worker', 'v=0\r\n')).toBe('by a');
    expect(a.commands.at(-1)).toMatchObject({
      command: 'answer',
      'call-id': 'call-1',
      'from-tag': 'network',
      'to-tag': 'worker',
    });
  });

  it('learns from which side to which an offer goes', async () => {
    const call = relay.openCall();
    await call.offer('network', 'v=0\r\n');
    await call.offer('worker', 'v=0\r\n');
    expect(a.commands).toMatchObject([
      { 'from-tag': 'network', direction: ['public', 'private'] },
      { 'from-tag': 'worker', direction: ['private', 'public'] },
    ]);
  });

  it('is not a silent one, which is asked last for ten seconds', async () => {
    a.state = 'silent';
    expect(await relay.openCall().offer('network', 'v=0\r\n')).toBe('by b');
    a.state = 'well';
    expect(await relay.openCall().offer('network', 'v=0\r\n')).toBe('by b');
    expect(await relay.openCall().offer('network', 'v=0\r\n')).toBe('by b');
    await clock.advance(10_000);
    const carriers = [
      await relay.openCall().offer('network', 'v=0\r\n'),
      await relay.openCall().offer('network', 'v=0\r\n'),
    ];
    expect(carriers.sort()).toEqual(['by a', 'by b']);
  });

  it('is another one if the first refuses, for that call only', async () => {
    a.state = 'refusing';
    expect(await relay.openCall().offer('network', 'v=0\r\n')).toBe('by b');
    a.state = 'well';
    await relay.openCall().offer('network', 'v=0\r\n');
    expect(await relay.openCall().offer('network', 'v=0\r\n')).toBe('by a');
  });

  it('may change with an offer if it is lost, but not with an answer', async () => {
    const call = relay.openCall();
    await call.offer('network', 'v=0\r\n');
    a.state = 'silent';
    await expect(call.answer('worker', 'v=0\r\n')).rejects.toMatchObject({ code: 'media_relay_unreachable' });
    expect(await call.offer('network', 'v=0\r\n')).toBe('by b');
    expect(await call.answer('worker', 'v=0\r\n')).toBe('by b');
  });

  it('is required: without any relay a call is not carried', async () => {
    a.state = 'silent';
    b.state = 'refusing';
    await expect(relay.openCall().offer('network', 'v=0\r\n')).rejects.toMatchObject({
      code: 'media_relay_unreachable',
      sipStatus: 503,
    });
  });

  it('gets the end of the call, as does every relay asked before, which may have acted in silence', async () => {
    a.state = 'silent';
    const call = relay.openCall();
    await call.offer('network', 'v=0\r\n');
    call.end();
    call.end();
    await expect
      .poll(() => [a.asked, b.asked])
      .toEqual([
        ['offer', 'delete'],
        ['offer', 'delete'],
      ]);
  });

  it('gets no command after the end of the call', async () => {
    const call = relay.openCall();
    call.end();
    await expect(call.offer('network', 'v=0\r\n')).rejects.toMatchObject({ code: 'media_relay_unreachable' });
    expect(a.asked).toEqual([]);
  });

  it('gets descriptions with a final line break, because it would append to an open last line', async () => {
    await relay.openCall().offer('network', 'v=0\r\nm=audio 4000 RTP/AVP 0');
    expect(a.commands[0]?.['sdp']).toBe('v=0\r\nm=audio 4000 RTP/AVP 0\r\n');
  });
});
