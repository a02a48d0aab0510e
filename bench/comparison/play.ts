/** Plays scenes to one running side, several at a time. */
import { randomUUID } from 'node:crypto';
import type { RoomCall } from '#caller/room-caller.ts';
import type { SceneFile } from '#caller/scene.ts';
import { quantile } from '#caller/statistics.ts';
import { type CallResult, judgeCall } from './judge.ts';
import { placeCall } from './place-call.ts';
import { HEARD_OUT } from './script.ts';
import type { Side } from './side.ts';

/** Longest wait for an agent to connect to the recogniser; a call without it is judged as it is. */
const CONNECTED_MS = 15_000;
/** On a line with a television, only what is clearly louder is the caller's voice. */
const LOUD_RMS = 800;

/** A call and what was made of it. */
export interface Played {
  readonly call: RoomCall;
  readonly said: readonly string[] | null;
  readonly heard: CallResult;
  /** 99th percentile of how late the caller's process ran. */
  readonly latenessMs: number;
}

/** Starts calls one after the other, so that the recogniser knows whose connection is whose. */
export class CallStarter {
  readonly #side: Side;
  #last: Promise<unknown> = Promise.resolve();

  constructor(side: Side) {
    this.#side = side;
  }

  /** Plays a scene. `onLine` gets the index of each line as it begins. Throws if the call did not connect. */
  async play(scene: SceneFile, onLine?: (index: number) => void): Promise<Played> {
    const before = this.#last;
    const { promise: isUp, resolve: next } = Promise.withResolvers<void>();
    this.#last = isUp;
    await before;
    try {
      return await this.#play(scene, { next, onLine });
    } finally {
      next();
    }
  }

  async #play(
    scene: SceneFile,
    { next, onLine }: { readonly next: () => void; readonly onLine: ((index: number) => void) | undefined },
  ): Promise<Played> {
    const { engines } = this.#side;
    const id = randomUUID();
    const limit = setTimeout(next, CONNECTED_MS);
    engines.expect(id, scene.background ? LOUD_RMS : undefined).then(next, next);
    try {
      const { grant, said } = await this.#side.prepare();
      const call = await placeCall({ grant, scene }, (words, index) => {
        engines.order({ call: id, cue: { words, isStanding: false } });
        onLine?.(index);
      });
      const kept = await said();
      return {
        call,
        said: kept,
        heard: judgeCall(call, kept, HEARD_OUT.has(scene.name)),
        latenessMs: quantile(call.latenessMs, 0.99),
      };
    } finally {
      clearTimeout(limit);
    }
  }
}

/** Plays all scenes, at most `atOnce` at a time, in their order. Failed calls are passed to `onFailed`. */
export async function playAll(
  side: Side,
  scenes: readonly SceneFile[],
  options: {
    readonly atOnce: number;
    readonly onPlayed: (scene: SceneFile, played: Played) => void;
    readonly onFailed: (scene: SceneFile, error: unknown) => void;
  },
): Promise<void> {
  const starter = new CallStarter(side);
  const waiting = [...scenes];
  const work = async () => {
    for (let scene = waiting.shift(); scene; scene = waiting.shift())
      try {
        options.onPlayed(scene, await starter.play(scene));
      } catch (error) {
        options.onFailed(scene, error);
      }
  };
  await Promise.all(Array.from({ length: options.atOnce }, work));
}
