import { describe, expect, it } from 'vitest';
import { EventChannel } from '#media/webrtc/event-channel.ts';
import { announceAddress } from '#media/webrtc/sdp-candidates.ts';
import type { DataChannel } from '#media/webrtc/webrtc-api.ts';

describe('public address', () => {
  const sdp = [
    'v=0',
    'a=candidate:1 1 udp 2122260223 192.168.1.5 20000 typ host generation 0',
    'a=candidate:2 1 udp 2122194687 10.0.0.5 20000 typ host generation 0',
    'a=candidate:3 1 udp 2122194687 10.0.0.5 20002 typ host generation 0',
    'a=candidate:4 1 udp 2122194686 fd00::5 20004 typ host generation 0',
    'a=candidate:5 1 udp 1686052607 198.51.100.9 40000 typ srflx raddr 192.168.1.5 rport 20000',
    'a=mid:0',
    '',
  ].join('\r\n');

  it('replaces every host address of its family, each port once', () => {
    expect(announceAddress(sdp, '203.0.113.7').split('\r\n')).toEqual([
      'v=0',
      'a=candidate:1 1 udp 2122260223 203.0.113.7 20000 typ host generation 0',
      'a=candidate:3 1 udp 2122194687 203.0.113.7 20002 typ host generation 0',
      'a=candidate:4 1 udp 2122194686 fd00::5 20004 typ host generation 0',
      'a=candidate:5 1 udp 1686052607 198.51.100.9 40000 typ srflx raddr 192.168.1.5 rport 20000',
      'a=mid:0',
      '',
    ]);
  });

  it('does not affect the other address family', () => {
    const announced = announceAddress(sdp, '2001:db8::7');
    expect(announced).toContain('2122194686 2001:db8::7 20004 typ host');
    expect(announced).toContain('192.168.1.5 20000 typ host');
  });
});

describe('the event channel', () => {
  function fakeChannel() {
    const sent: string[] = [];
    const channel = {
      label: 'events',
      readyState: 'connecting' as DataChannel['readyState'],
      bufferedAmount: 0,
      onopen: null as DataChannel['onopen'],
      onclose: null as DataChannel['onclose'],
      onmessage: null as DataChannel['onmessage'],
      send: (text: string) => void sent.push(text),
      close: () => channel.onclose?.(),
    };
    return { channel, sent };
  }

  it('holds at most 256 messages until it opens', () => {
    const events = new EventChannel({
      mayPass: () => true,
      onMessage: () => undefined,
      onClosed: () => undefined,
    });
    for (let n = 0; n < 300; n++) events.send(String(n));
    const { channel, sent } = fakeChannel();
    events.attach(channel);
    expect(sent).toEqual([]);
    channel.readyState = 'open';
    channel.onopen?.();
    expect([sent.length, sent[0], sent.at(-1)]).toEqual([256, '44', '299']);
  });

  it('stops sending to a client that does not read', () => {
    const events = new EventChannel({
      mayPass: () => true,
      onMessage: () => undefined,
      onClosed: () => undefined,
    });
    const { channel, sent } = fakeChannel();
    channel.readyState = 'open';
    channel.bufferedAmount = 2 << 20;
    events.attach(channel);
    events.send('lost');
    channel.bufferedAmount = 0;
    events.send('kept');
    expect(sent).toEqual(['kept']);
  });

  it('survives a channel that reports open while the far end is closing it', () => {
    const events = new EventChannel({
      mayPass: () => true,
      onMessage: () => undefined,
      onClosed: () => undefined,
    });
    const { channel } = fakeChannel();
    channel.readyState = 'open';
    channel.send = () => {
      throw new Error('RTCDataChannel.readyState is not open');
    };
    events.attach(channel);
    expect(() => events.send('too late')).not.toThrow();
  });

  it('accepts only permitted text, and distinguishes a remote close from a local one', () => {
    const messages: string[] = [];
    let closes = 0;
    const events = new EventChannel({
      mayPass: (length) => length < 10,
      onMessage: (text) => messages.push(text),
      onClosed: () => closes++,
    });
    const { channel } = fakeChannel();
    events.attach(channel);
    for (const data of ['ok', new ArrayBuffer(4), 'x'.repeat(10)]) channel.onmessage?.({ data });
    expect(messages).toEqual(['ok']);
    channel.onclose?.();
    expect(closes).toBe(1);
    events.close();
    expect(closes).toBe(1);
  });
});
