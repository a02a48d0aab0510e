/**
 * A caller in a LiveKit room: joins with a token, plays a scene to the agent in it, and leaves. Knows only
 * the agent's voice.
 */
import {
  AudioFrame,
  AudioSource,
  AudioStream,
  LocalAudioTrack,
  type RemoteTrack,
  Room,
  RoomEvent,
  TrackKind,
  TrackPublishOptions,
  TrackSource,
} from '@livekit/rtc-node';
import type { TimedLine, Timeline } from '#protocol/audible-timeline.ts';
import { BlockStream } from './block-stream.ts';
import { LineSound } from './line-sound.ts';
import { playScene } from './play-scene.ts';
import { CALLER_RATE_HZ, type Line, type Scene } from './scene.ts';

/** Address and token of the room. */
export interface RoomGrant {
  readonly url: string;
  readonly token: string;
}

/** An ended call. */
export interface RoomCall extends Timeline {
  readonly joinedMs: number;
  /** Times of the 10 ms blocks in which the agent was audible. */
  readonly voicedMs: readonly number[];
  /** Lateness of each sent block, ms: the measurement error of the times. */
  readonly latenessMs: readonly number[];
  /** False if the caller was removed, or the connection broke, before the end of the scene. */
  readonly endedByCaller: boolean;
}

/** Plays the scene in the room. Throws if the room cannot be joined. */
export async function callInRoom(
  grant: RoomGrant,
  scene: Scene,
  onLine: (line: Line) => void,
): Promise<RoomCall> {
  const room = new Room();
  const source = new AudioSource(CALLER_RATE_HZ, 1, 0);
  const microphone = LocalAudioTrack.createAudioTrack('microphone', source);
  const stream = new BlockStream(new LineSound(scene), (block) => {
    source.captureFrame(new AudioFrame(block, CALLER_RATE_HZ, 1, block.length)).catch(() => undefined);
  });
  room.on(RoomEvent.TrackSubscribed, (track) => {
    if (track.kind === TrackKind.KIND_AUDIO) listen(track, stream).catch(() => undefined);
  });
  const removed = new Promise<boolean>((resolve) => {
    room.on(RoomEvent.Disconnected, () => resolve(false));
  });
  await room.connect(grant.url, grant.token, { autoSubscribe: true, dynacast: false });
  const joinedMs = performance.timeOrigin + performance.now();
  await room.localParticipant?.publishTrack(
    microphone,
    new TrackPublishOptions({ source: TrackSource.SOURCE_MICROPHONE }),
  );
  stream.start();
  const lines: TimedLine[] = [];
  const played = playScene(scene, stream, {
    onLine,
    onSaid: ({ text, means }, said) => lines.push({ text, means, ...said }),
  });
  const endedByCaller = await Promise.race([played.then(() => true), removed]);
  stream.stop();
  await room.disconnect();
  await microphone.close();
  return {
    joinedMs,
    agent: stream.stretches,
    lines,
    voicedMs: stream.voicedMs,
    latenessMs: stream.latenessMs,
    endedByCaller,
  };
}

async function listen(track: RemoteTrack, stream: BlockStream): Promise<void> {
  for await (const { data } of new AudioStream(track, {
    sampleRate: CALLER_RATE_HZ,
    numChannels: 1,
    frameSizeMs: 10,
  }))
    stream.hear(data);
}
