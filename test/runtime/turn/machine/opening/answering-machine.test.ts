import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { speak } from '#caller/spoken.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { type FliteSynthesizer, openFlite } from '#media/speech/local/flite.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import { type Call, startCall } from '#runtime/calls/call.ts';
import { openRtpPeer, type RtpPeer } from '#test/fakes/rtp-peer.ts';
import { tone } from '#test/fakes/tone.ts';
import { testPlan } from '#test/runtime/test-plan.ts';

const RATE_HZ = 8_000;
const FIRST_MESSAGE = 'Hello, this is Ann.';
const VOICEMAIL = 'Your cake is ready.';
const LONG_TALK =
  'Hi there this is John from the accounting department and I am just on my way out of the door to catch ' +
  'a train and my dog is with me and it is raining so please be quick';

const pause = (ms: number) => new Int16Array((RATE_HZ * ms) / 1_000);
const says = (text: string) => speak(text, { rateHz: RATE_HZ, voice: 'rms' }).samples;
const joined = (...parts: readonly Int16Array[]) => Int16Array.from(parts.flatMap((part) => [...part]));
const isLoud = (peer: RtpPeer) => peer.heard.some(({ peak }) => peak > 1_000);
/** In real time, on a busy machine. */
const WITHIN = { timeout: 60_000 };

/**
 * Real audio over RTP: the media thread detects voice and tones, and no words are recognised, as with a
 * recogniser limited to the agent's phrases.
 */
describe.concurrent('answer screening of an outbound call, over RTP', () => {
  let media: LegFactory;
  let voice: FliteSynthesizer;

  beforeAll(async () => {
    media = await startMediaThread({
      rtpPortMin: 24_200,
      rtpPortMax: 24_219,
      iceServers: [],
      clock: systemClock,
      logger: createLogger({ level: 'silent', name: 'test' }),
    });
    voice = await openFlite();
  });
  afterAll(async () => {
    await voice.close();
    await media.close();
  });

  /** Answers a call with this audio, followed by silence. */
  async function answeredWith(
    sound: Int16Array,
  ): Promise<{ call: Call; peer: RtpPeer; said: () => string[] }> {
    const peer = await openRtpPeer();
    const reports: DurableReport[] = [];
    const plan = testPlan({
      prompt: { first_message_mode: 'fixed', first_message: FIRST_MESSAGE },
      conversation: {
        record_audio: false,
        outbound: { amd_enabled: true, voicemail: { action: 'leave_message', message: VOICEMAIL } },
      },
    });
    const call = startCall({
      plan: { ...plan, channel: 'phone_outbound', record_audio: false },
      clock: systemClock,
      logger: pino({ level: 'silent' }),
      random: Math.random,
      recognizer: null,
      synthesizer: voice,
      model: {
        id: 'test/model',
        isCustom: false,
        async *stream() {
          yield { type: 'text', text: 'Fine.' };
        },
      },
      knowledge: null,
      createTools: () => ({
        runner: {
          definitions: [],
          traits: () => null,
          run: () => Promise.reject(new Error('no tools here')),
          close: () => undefined,
        },
        settle: null,
      }),
      report: (report) => reports.push(report),
      live: () => undefined,
      saveRecording: () => undefined,
      saveFlightLog: () => undefined,
    });
    const { leg, localPort } = await media.openRtpLeg({
      localAddress: '127.0.0.1',
      remote: peer.remote,
      recording: null,
    });
    call.attach(leg);
    void peer.speak(localPort, sound);
    const said = () =>
      reports
        .flatMap((report) => (report.type === 'items' ? report.items : []))
        .flatMap((item) => (item.type === 'message' && item.role === 'assistant' ? [item.content] : []));
    return { call, peer, said };
  }

  it('a mailbox: the message is left after the beep, and the call ends', WITHIN, async () => {
    const greeting = says('You have reached the Smith family. Please leave a message after the tone.');
    const { call, peer, said } = await answeredWith(
      joined(greeting, pause(200), tone(1_000, 600), pause(20_000)),
    );
    expect(await call.ended).toBe('agent_hangup');
    expect(said().at(-1)).toBe(VOICEMAIL);
    peer.close();
  });

  it.each([
    ['"Hello?"', () => joined(says('Hello?'), pause(20_000))],
    ['a callee who talks for long', () => joined(says(LONG_TALK), pause(20_000))],
    ['nothing at all', () => pause(20_000)],
  ])('%s is a person, who is greeted and not hung up on', WITHIN, async (_, sound) => {
    const { call, peer, said } = await answeredWith(sound());
    let reason: string | null = null;
    void call.ended.then((ended) => (reason = ended));
    await expect.poll(() => isLoud(peer), { timeout: 40_000 }).toBe(true);
    expect(reason).toBe(null);
    call.end('agent_hangup');
    await call.ended;
    expect(said().join(' ')).not.toContain(VOICEMAIL);
    peer.close();
  });
});
