/** Keys that a call presses, as real far ends take them: telephone events, INFO, tones in the audio. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import type { LegEvent } from '#media/leg/leg.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import { dialOutboundCall } from '#telephony/outbound-call.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { keysInEvents, keysInTones } from '../fakes/key-ear.ts';
import { openRtpPeer, type RtpPeer } from '../fakes/rtp-peer.ts';
import { connectTestWorker, startTestSignalling } from '../fakes/signalling.ts';
import { type PhoneManner, type SippPhone, startSippPhone } from '../fakes/sipp-phone.ts';
import { describeNeeds } from '../needs.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const EVENTS = 101;

describeNeeds(['sipp'])('keys that are pressed on a call', () => {
  let media: LegFactory;
  let server: EmbeddedSignalling;
  let worker: Signalling;
  let ear: RtpPeer;

  beforeAll(async () => {
    media = await startMediaThread({
      rtpPortMin: 24_240,
      rtpPortMax: 24_259,
      iceServers: [],
      clock: systemClock,
      logger,
    });
    server = await startTestSignalling({
      admit: async () => ({ action: 'reject', data: { status: 404, reason: 'Not Found' } }),
    });
    worker = await connectTestWorker(server);
  });
  afterAll(async () => {
    worker.close();
    await server.close();
    await media.close();
  });
  beforeEach(async () => {
    ear = await openRtpPeer();
  });
  afterEach(() => ear.close());

  /** Calls a phone, presses keys until all have been sent, and hangs up. */
  async function press(manner: PhoneManner, digits: string): Promise<SippPhone> {
    const phone = await startSippPhone(manner, ear.port);
    const call = await dialOutboundCall(
      {
        clock: systemClock,
        media,
        signalling: worker,
        sipHost: '127.0.0.1',
        sipPublicIp: undefined,
        random: Math.random,
      },
      {
        toUri: `sip:+15557660001@${phone.address}`,
        fromNumber: '+15557660002',
        headers: { 'X-Service-Session-Id': 'a1' },
        credentials: null,
        recording: null,
        ringMs: 20_000,
      },
      new AbortController().signal,
    );
    if (call.outcome !== 'answered') throw new Error(`not answered: ${call.outcome}`);
    const events: LegEvent[] = [];
    call.leg.listen((batch) => void events.push(...batch));
    call.leg.send({ do: 'sendDigits', digits, pressId: 'p' });
    await expect
      .poll(() => events.some((event) => event.type === 'digits.sent' && event.pressId === 'p'), {
        timeout: 15_000,
      })
      .toBe(true);
    call.leg.send({ do: 'close' });
    return phone;
  }

  const audio = () => ear.heard.filter(({ payloadType }) => payloadType === 0);
  /** The audio as it was sent, without a jitter buffer. */
  const heardKeys = () => keysInTones(ear.audio()).map(({ key }) => key);

  it('are telephone events where they were negotiated: in order, in time, each end three times', async () => {
    const phone = await press({ does: 'takeKeys', by: 'events' }, '1w2#D');
    expect((await phone.ended).code).toBe(0);
    const packets = ear.heard.filter(({ payloadType }) => payloadType === EVENTS);
    const keys = keysInEvents(packets);
    expect(keys.map(({ key }) => key).join('')).toBe('12#D');
    expect(keys.map(({ durationMs, ends }) => [durationMs, ends])).toEqual(Array(4).fill([100, 3]));
    const since = keys.map(({ timestamp }) => (timestamp - (keys[0]?.timestamp ?? 0)) / 8);
    // The clock of the events is that of the audio: 200 ms a key, and half a second of pause.
    expect(since).toEqual([0, 700, 900, 1_100]);
    expect(packets.filter(({ marker }) => marker)).toHaveLength(4);
    expect(heardKeys()).toEqual([]);
  });

  it('go on in the stream of the audio: one source, no sequence number twice', async () => {
    await press({ does: 'takeKeys', by: 'events' }, '12');
    expect(new Set(ear.heard.map(({ ssrc }) => ssrc)).size).toBe(1);
    const numbers = ear.heard.map(({ sequence }) => sequence);
    expect(numbers.map((number) => (number - (numbers[0] ?? 0)) & 0xffff)).toEqual(numbers.map((_, n) => n));
  });

  it('are tones where nothing else is taken, of 100 ms each with a pause after them', async () => {
    const phone = await press({ does: 'takeKeys', by: 'audio' }, '159*0#D2');
    expect((await phone.ended).code).toBe(0);
    expect(heardKeys().join('')).toBe('159*0#D2');
    for (const { durationMs } of keysInTones(ear.audio())) expect(durationMs).toBeGreaterThanOrEqual(80);
    expect(ear.heard.filter(({ payloadType }) => payloadType === EVENTS)).toEqual([]);
  });

  it('are INFO where the far end allows it and takes no events', async () => {
    const phone = await press({ does: 'takeKeys', by: 'info', keys: '12#' }, '1w2#');
    expect((await phone.ended).code).toBe(0);
    expect(heardKeys()).toEqual([]);
    expect(audio().length).toBeGreaterThan(0);
  });

  it('are tones from the first refusal of an INFO on, and none is sent twice', async () => {
    const phone = await press({ does: 'takeKeys', by: 'info', keys: '1', refuses: true }, '12');
    expect((await phone.ended).code).toBe(0);
    expect(heardKeys().join('')).toBe('12');
  });
});
