/**
 * A caller whose call a vendor brings as a media stream: plays a scene, knowing nothing of the agent but its
 * voice. Times are those of this process.
 */
import type { TimedLine, Timeline } from '#protocol/audible-timeline.ts';
import { BLOCK_SAMPLES, BlockStream } from './block-stream.ts';
import { LineSound } from './line-sound.ts';
import { playScene } from './play-scene.ts';
import type { Scene } from './scene.ts';
import { dialByStream, type StreamDial } from './stream-phone.ts';

/** Calls, plays the scene and hangs up. Throws if the call is not answered. */
export async function callOverStream(dial: StreamDial, scene: Scene): Promise<Timeline> {
  const phone = await dialByStream(dial);
  if ('rejected' in phone) throw new Error(`the call was rejected: ${phone.rejected}`);
  let half: Int16Array | null = null;
  const stream = new BlockStream(new LineSound(scene), (block) => {
    if (half) phone.drive(Int16Array.of(...half, ...block));
    half = half ? null : block;
  });
  phone.onPlayed = (frame) => {
    stream.hear(frame.subarray(0, BLOCK_SAMPLES));
    stream.hear(frame.subarray(BLOCK_SAMPLES));
  };
  stream.start();
  const lines: TimedLine[] = [];
  await playScene(scene, stream, {
    onLine: undefined,
    onSaid: ({ text, means }, said) => lines.push({ text, means, ...said }),
  });
  stream.stop();
  await phone.hangUp();
  return { agent: stream.stretches, lines };
}
