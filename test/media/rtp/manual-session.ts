/** An RTP session as the media thread runs it, on a real socket, with a clock advanced by the test. */
import { systemClock } from '#base/clock.ts';
import { EventBatcher, unpackEvents } from '#media/leg/event-batch.ts';
import type { LegEvent } from '#media/leg/leg.ts';
import type { RtpLegOptions } from '#media/leg/leg-factory.ts';
import { Pacer } from '#media/leg/pacer.ts';
import type { RtpCodec } from '#media/leg/rtp-remote.ts';
import { PortPool } from '#media/rtp/port-pool.ts';
import { openRtpSession } from '#media/rtp/rtp-session.ts';
import { SpeechDetector } from '#media/voice-activity/vad.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { manualThread } from '#test/fakes/manual-thread.ts';
import { mediaShared } from '#test/fakes/media-shared.ts';
import { openRtpPeer } from '#test/fakes/rtp-peer.ts';

/**
 * Opens a session with a peer that uses this codec. `report` returns everything reported so far, `logged`
 * holds every message of the log.
 */
export async function openManualSession(
  codec: RtpCodec = 'PCMU',
  ports = new PortPool(23_200, 23_249),
  over: Partial<Pick<RtpLegOptions, 'wasHeard' | 'awaitsStream' | 'recording'>> = {},
) {
  const clock = new ManualClock();
  const events = new EventBatcher();
  const detector = new SpeechDetector(systemClock, () => undefined);
  const logged: string[] = [];
  const pacer = new Pacer(clock, () => undefined, manualThread(clock));
  const shared = mediaShared({
    clock,
    pacer,
    events,
    detector,
    log: (_level, message) => void logged.push(message),
  });
  const peer = await openRtpPeer(codec);
  const options = {
    leg: 1,
    localAddress: '127.0.0.1',
    remote: peer.remote,
    recording: null,
    ports,
    onClosed: () => undefined,
    ...over,
  };
  const { leg, opened } = await openRtpSession(options, shared);
  const reported: LegEvent[] = [];
  const report = () => {
    const taken = events.take(Number.POSITIVE_INFINITY);
    if (taken) reported.push(...(unpackEvents(taken.batch).get(1) ?? []));
    return reported;
  };
  const close = async () => {
    await leg.close();
    peer.close();
    pacer.close();
    await detector.close();
  };
  return {
    clock,
    peer,
    leg,
    port: opened.localPort ?? 0,
    rateHz: opened.inRateHz,
    report,
    logged,
    ports,
    /** Until when the sessions of the thread may speak. */
    speech: shared.speech,
    close,
  };
}
