/** News of a turn for those who wait for it, on all replicas: what the agent writes, and that it is over. */
import { z } from 'zod';
import { textTurnEvent } from '#protocol/text-turn.ts';
import type { Context } from '../../platform/context.ts';
import type { Coordination } from '../../platform/store/coordination.ts';

/** A turn's news. It may be lost; the store has the result. */
const turnNews = z.union([textTurnEvent, z.object({ type: z.literal('over') })]);
export type TextTurnNews = z.output<typeof turnNews>;

function channelOf(turnId: string): string {
  return `text-turn:${turnId}`;
}

/** Publishes that a turn is over; does not wait for it. */
export function publishTurnOver(context: Pick<Context, 'coordination'>, turnId: string): void {
  void context.coordination.publish(channelOf(turnId), { type: 'over' });
}

/** Returns what passes on the live events of workers that are about a turn. */
export function relayTurnEvents(
  context: Pick<Context, 'coordination'>,
): (turnId: string, event: Readonly<Record<string, unknown>>) => void {
  return (turnId, event) => {
    if (!String(event['type']).startsWith('text_')) return;
    const parsed = textTurnEvent.safeParse(event);
    if (parsed.success) void context.coordination.publish(channelOf(turnId), parsed.data);
  };
}

/** Calls `listener` with the news of a turn; resolves with a function that unsubscribes. */
export function onTurnNews(
  coordination: Coordination,
  turnId: string,
  listener: (news: TextTurnNews) => void,
): Promise<() => Promise<void>> {
  return coordination.subscribe(channelOf(turnId), (message) => {
    const parsed = turnNews.safeParse(message);
    if (parsed.success) listener(parsed.data);
  });
}
