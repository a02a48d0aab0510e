import { expect, it } from 'vitest';
import { EventBatcher } from '#media/leg/event-batch.ts';
import { LegAudio, type MediaShared } from '#media/leg/leg-audio.ts';
import { Pacer } from '#media/leg/pacer.ts';
import { SpeechDetector } from '#media/voice-activity/vad.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { manualThread } from '../../fakes/manual-thread.ts';

const FRAME_SAMPLES = 160;

function host() {
  const clock = new ManualClock();
  let turns = 0;
  const detector = new SpeechDetector(clock, () => undefined);
  const shared: MediaShared = {
    clock,
    pacer: new Pacer(
      clock,
      () => {
        turns += 1;
      },
      manualThread(clock),
    ),
    events: new EventBatcher(),
    detector,
    isOwnAddress: () => false,
    speech: { untilMs: Number.POSITIVE_INFINITY },
    audios: new Map(),
    log: () => undefined,
  };
  const open = (leg: number) =>
    new LegAudio({ leg, inRateHz: 8000, outRateHz: 8000, originMs: 0, recording: null }, shared);
  return { clock, detector, open, turns: () => turns };
}

/** Two packets of loud audio are more than one window of the detector. */
function hearLoud(audio: LegAudio | undefined): void {
  const samples = new Int16Array(FRAME_SAMPLES).map((_, index) => (index % 16 < 8 ? 8_000 : -8_000));
  for (const atMs of [0, 20]) audio?.hear(samples, atMs);
}

it('few legs send their audio to the speech detector with the packet that completes a window', async () => {
  const { clock, detector, open, turns } = host();
  const audio = open(1);
  hearLoud(audio);
  expect(detector.hasQueued).toBe(false);
  await clock.advance(20);
  expect(turns()).toBe(0);
  audio.close();
  await detector.close();
});

it('the audio of many legs waits for the next turn of the wheel, which sends it together', async () => {
  const { clock, detector, open, turns } = host();
  const audios = [1, 2, 3, 4].map(open);
  hearLoud(audios[0]);
  expect(detector.hasQueued).toBe(true);
  await clock.advance(20);
  expect(turns()).toBe(1);
  for (const audio of audios) audio.close();
  await detector.close();
});
