import { describe, expect, it } from 'vitest';
import { Recorder, type RecordingEvent } from '#media/leg/recorder.ts';

function open(firstSegment = 0) {
  const events: RecordingEvent[] = [];
  const recorder = new Recorder(
    { originMs: 1000, userRateHz: 8000, agentRateHz: 24_000, firstSegment },
    (event) => events.push(event),
  );
  const write = (slot: number) =>
    recorder.write(slot, new Int16Array(160).fill(slot), new Int16Array(480).fill(slot));
  return { recorder, events, write };
}

describe('the recorder', () => {
  it('emits segments of 4.8 s of both tracks on one timeline, and the rest on close', () => {
    const { recorder, events, write } = open(4);
    for (let slot = 10; slot < 10 + 260; slot++) write(slot);
    recorder.close();
    expect(
      events.map(({ track, segment, startMs, rateHz, samples }) => [
        track,
        segment,
        startMs,
        rateHz,
        samples.length,
      ]),
    ).toEqual([
      ['user', 4, 1200, 8000, 38_400],
      ['agent', 4, 1200, 24_000, 115_200],
      ['user', 5, 6000, 8000, 3200],
      ['agent', 5, 6000, 24_000, 9600],
    ]);
  });

  it('places every frame at the time of its slot, with silence for skipped slots', () => {
    const { recorder, events, write } = open();
    for (const slot of [0, 1, 5, 700, 701]) write(slot);
    recorder.close();
    const user = events.filter((event) => event.track === 'user');
    const at = (slot: number) => {
      const ms = 1000 + slot * 20;
      const segment = user.findLast((event) => event.startMs <= ms);
      return segment?.samples[((ms - segment.startMs) * 8000) / 1000];
    };
    expect([0, 1, 2, 4, 5, 6, 300, 699, 700, 701].map(at)).toEqual([0, 1, 0, 0, 5, 0, 0, 0, 700, 701]);
    expect(user.map((event) => event.segment)).toEqual([0, 1, 2]);
  });

  it('compensates the delay of the jitter buffer, also when the delay grows and shrinks', () => {
    const { recorder, events } = open();
    const lags = [0, 0, 0, 2, 2, 3, 3, 3, 1];
    for (const [slot, lag] of lags.entries())
      recorder.write(slot, new Int16Array(160).fill(10 * slot), new Int16Array(480), lag);
    recorder.close();
    const user = events.find((event) => event.track === 'user');
    // Slot 5 lands on the position of slot 4 because the delay grew; slots 5 and 6 were skipped when it
    // shrank.
    expect(Array.from({ length: 8 }, (_, slot) => user?.samples[slot * 160])).toEqual([
      0, 30, 50, 60, 70, 0, 0, 80,
    ]);
    expect(user?.startMs).toBe(1000);
    // A first frame from before the start of the track is left out.
    const early = open();
    early.recorder.write(7, new Int16Array(160).fill(1), new Int16Array(480), 2);
    early.recorder.close();
    expect(early.events.map(({ track }) => track)).toEqual(['agent']);
  });

  it('emits nothing when nothing was recorded', () => {
    const { recorder, events } = open();
    recorder.close();
    expect(events).toEqual([]);
  });
});
