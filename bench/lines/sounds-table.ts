/** The verdicts of the detector of music on made sounds: which, when, and at what cost. */
import { MusicDetector } from '#media/dsp/music-detector.ts';
import { lineSounds, overTheLine } from './sounds.ts';

const FRAME_SAMPLES = 160;
const FRAME_MS = 20;
const MEASURED_FRAMES = 20_000;

/** ms until a sound is taken for music; null if it never is. */
export function musicAfterMs(samples: Int16Array): number | null {
  const line = overTheLine(samples);
  const detector = new MusicDetector(8_000);
  for (let at = 0; at + FRAME_SAMPLES <= line.length; at += FRAME_SAMPLES)
    if (detector.push(line.subarray(at, at + FRAME_SAMPLES)) === 'started')
      return (at / FRAME_SAMPLES + 1) * FRAME_MS;
  return null;
}

/** A Markdown table of all sounds. */
export function soundsTable(): string {
  const rows = lineSounds().map(({ isMusic, name, samples }) => {
    const ms = musicAfterMs(samples);
    const taken = ms === null ? 'no music' : `music after ${(ms / 1_000).toFixed(1)} s`;
    return `| ${name} | ${taken} | ${isMusic === (ms !== null) ? 'yes' : '**no**'} |`;
  });
  return ['| Sound | Taken for | Right |', '|---|---|---|', ...rows].join('\n');
}

/** Processor time for a frame, µs. */
export function detectorCost(): string {
  const [sound] = lineSounds();
  const line = overTheLine(sound?.samples ?? new Int16Array(0));
  const detector = new MusicDetector(8_000);
  const before = process.cpuUsage();
  for (let frame = 0; frame < MEASURED_FRAMES; frame++) {
    const at = (frame * FRAME_SAMPLES) % (line.length - FRAME_SAMPLES);
    detector.push(line.subarray(at, at + FRAME_SAMPLES));
  }
  return (process.cpuUsage(before).user / MEASURED_FRAMES).toFixed(1);
}
