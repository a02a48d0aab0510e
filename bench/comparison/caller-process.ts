/**
 * Entry point of the caller's process (`place-call.ts`). Nothing else runs in this process, so its timings
 * are those of the call.
 */
import { callInRoom, type RoomCall, type RoomGrant } from '#caller/room-caller.ts';
import { type Line, prepareScene, type SceneFile } from '#caller/scene.ts';
import { speakerOf } from '#caller/voices.ts';
import type { CuedWord } from './recogniser.ts';

/** The call to place. */
export interface CallOrder {
  readonly grant: RoomGrant;
  readonly scene: SceneFile;
}

/** Messages of the process: each line as it begins, then the finished call. */
export type CallMessage =
  | { readonly line: { readonly text: string; readonly words: readonly CuedWord[] } }
  | { readonly call: RoomCall }
  | { readonly failed: string };

const notifyParent = (message: CallMessage) => void process.send?.(message);
process.on('message', async ({ grant, scene }: CallOrder) => {
  const onLine = ({ text, words }: Line) => notifyParent({ line: { text, words } });
  const news: CallMessage = await speakerOf(scene)
    .then((speaker) => callInRoom(grant, prepareScene(scene, '.', speaker), onLine))
    .then(
      (call) => ({ call }),
      (error: unknown) => ({ failed: String(error) }),
    );
  // LiveKit's library would keep the process alive forever.
  process.send?.(news, () => process.exit(0));
});
