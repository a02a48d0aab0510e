/**
 * Finds out when a caller can hear the agent. The server reports a subscription before the caller's
 * connection for it exists, and drops what is sent until then. A remote procedure call travels over the same
 * connection: LiveKit's clients refuse a method that they do not know, and this refusal is the answer.
 */
import type { Room } from '@livekit/rtc-node';
import type { Clock, Timer } from '#base/clock.ts';

type Library = Pick<typeof import('@livekit/rtc-node'), 'RpcError'>;

const METHOD = 'parley.reach';
/** A call that was dropped is never answered. */
const EVERY_MS = 200;
const ANSWER_MS = 2_000;

/** Calls the participant again and again until one call is answered, then calls `onReached`. */
export function reachCaller(
  room: Room,
  {
    identity,
    clock,
    library,
    onReached,
  }: {
    readonly identity: string;
    readonly clock: Clock;
    readonly library: Library;
    readonly onReached: () => void;
  },
): Timer {
  let isOver = false;
  const timer = clock.every(EVERY_MS, ask);
  const cancel = () => {
    isOver = true;
    timer.cancel();
  };
  const reached = () => {
    if (isOver) return;
    cancel();
    onReached();
  };

  function ask(): void {
    const call = { destinationIdentity: identity, method: METHOD, payload: '', responseTimeout: ANSWER_MS };
    room.localParticipant?.performRpc(call).then(reached, (error: unknown) => {
      const { RpcError } = library;
      if (error instanceof RpcError && error.code === RpcError.ErrorCode.UNSUPPORTED_METHOD) reached();
    });
  }

  ask();
  return { cancel };
}
