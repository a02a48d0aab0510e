/** Waits for the end of a turn, wherever it runs. */
import { fault } from '#config/errors.ts';
import type { TextTurnEvent } from '#protocol/text-turn.ts';
import type { Context } from '../../platform/context.ts';
import type { TextTurnDocument } from '../../platform/store/models/text-session-model.ts';
import { outsideRequest } from '../../platform/store/request-wait.ts';
import { onTurnNews } from './text-turn-news.ts';

/** The news of other replicas may be lost. */
const LOOK_MS = 2_000;

/** How to wait. */
export interface TurnWait {
  /** Aborts when the client is gone. The turn goes on. */
  readonly signal: AbortSignal;
  /** Called with what the agent writes and does. */
  onEvent?(event: TextTurnEvent): void;
  /** Called once nothing is missed any more: the turn may begin. */
  onReady?(): void;
}

/**
 * Resolves with the turn once it is over. Throws `out_of_credit` if it was refused meanwhile, and the reason
 * of the signal.
 */
export async function awaitTurn(
  context: Context,
  turnId: string,
  { signal, onEvent = () => undefined, onReady }: TurnWait,
): Promise<TextTurnDocument> {
  let wake: () => void = () => undefined;
  let isOver = false;
  const stop = await onTurnNews(context.coordination, turnId, (news) => {
    if (news.type !== 'over') return onEvent(news);
    isOver = true;
    wake();
  });
  onReady?.();
  const abort = () => wake();
  signal.addEventListener('abort', abort);
  try {
    for (;;) {
      signal.throwIfAborted();
      isOver = false;
      const turn = await outsideRequest(() =>
        context.models.textTurns.findById(turnId).lean<TextTurnDocument>(),
      );
      if (!turn) throw fault('out_of_credit');
      if (turn.status === 'answered' || turn.status === 'failed') return turn;
      if (isOver) continue;
      await new Promise<void>((resolve) => {
        const timer = context.clock.after(LOOK_MS, resolve);
        wake = () => {
          timer.cancel();
          resolve();
        };
        if (signal.aborted) wake();
      });
    }
  } finally {
    signal.removeEventListener('abort', abort);
    await stop();
  }
}
