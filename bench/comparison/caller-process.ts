/**
 * Entry of the caller's own process (`place-call.ts`): nothing else runs in it, so that its times are those
 * of the call.
 */
import { callInRoom, type RoomCall, type RoomGrant } from '#caller/room-caller.ts';
import { type Line, prepareScene, type SceneFile } from '#caller/scene.ts';
import type { CuedWord } from './recogniser.ts';

/** What is to be done. */
export interface CallOrder {
  readonly grant: RoomGrant;
  readonly scene: SceneFile;
}

/** What the process says: each line as it begins, and the call once it is over. */
export type CallNews =
  | { readonly line: { readonly text: string; readonly words: readonly CuedWord[] } }
  | { readonly call: RoomCall }
  | { readonly failed: string };

const tell = (news: CallNews) => void process.send?.(news);
process.once('message', async ({ grant, scene }: CallOrder) => {
  const onLine = ({ text, words }: Line) => tell({ line: { text, words } });
  const news: CallNews = await callInRoom(grant, prepareScene(scene), onLine).then(
    (call) => ({ call }),
    (error: unknown) => ({ failed: String(error) }),
  );
  // LiveKit's library would keep the process for ever.
  process.send?.(news, () => process.exit(0));
});
