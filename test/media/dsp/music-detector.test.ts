/** The sounds of a queue, as real audio through G.711. */
import { describe, expect, it } from 'vitest';
import { lineSounds, overTheLine } from '#bench/lines/sounds.ts';
import { musicAfterMs } from '#bench/lines/sounds-table.ts';
import { MusicDetector } from '#media/dsp/music-detector.ts';

const SOUNDS = lineSounds();

describe('the detector of music', () => {
  it.each(SOUNDS.filter(({ isMusic }) => isMusic))('hears $name', ({ samples }) => {
    expect(musicAfterMs(samples)).not.toBeNull();
  });

  it.each(SOUNDS.filter(({ isMusic }) => !isMusic))('does not take for music: $name', ({ samples }) => {
    expect(musicAfterMs(samples)).toBeNull();
  });

  it('says once that music began, and once that it is over', () => {
    const detector = new MusicDetector(8_000);
    const music = SOUNDS.find(({ name }) => name === 'an organ')?.samples ?? new Int16Array(0);
    const quiet = overTheLine(new Int16Array(80_000));
    const changes = [overTheLine(music), quiet].flatMap((sound) =>
      Array.from({ length: sound.length / 160 }, (_, frame) =>
        detector.push(sound.subarray(frame * 160, frame * 160 + 160)),
      ),
    );
    expect(changes.filter((change) => change !== null)).toEqual(['started', 'stopped']);
  });
});
