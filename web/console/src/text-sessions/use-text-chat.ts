/**
 * A chat with an agent as React state: the session as the API has it, and after it the messages that were
 * sent from here and have no answer yet. The session's id is in the address, so a reloaded page goes on with
 * it.
 */
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useSearchParams } from 'wouter';
import { call, isKeyRefusal } from '../api/client.ts';
import { messageOf, useChange, useRead } from '../api/queries.ts';
import type { TextAnswer, TextSession, TextSessionDetail } from '../api/types.ts';
import { isOver, newMessage, type OutgoingMessage, sendMessage, type ToolNews } from './message-stream.ts';
import { FROM_CONSOLE, TEXT_SESSIONS, textSessionPath } from './text-session.tsx';

/** While nothing is sent from here, the session may go on or end elsewhere. */
const REFRESH_MS = 5_000;

/** A message without an answer. */
export interface PendingMessage extends OutgoingMessage {
  /** Address of its session. */
  readonly path: string;
  /** When it was sent, RFC 3339. */
  readonly at: string;
  /** The agent's text so far. */
  readonly reply: string;
  readonly tools: readonly ToolNews[];
  readonly isConnected: boolean;
  /** Why there is no answer; null while it may come. */
  readonly problem: string | null;
  /** The answer will not come any more. */
  readonly isOver: boolean;
}

/** A chat. `session` has no data before it has begun. */
export function useTextChat(agentId: string) {
  const client = useQueryClient();
  const [search, setSearch] = useSearchParams();
  const sessionId = search.get('session');
  const path = sessionId === null ? null : textSessionPath(sessionId);
  const { pending: all, deliver, dismiss } = usePending();
  // Those of a conversation that was left are not shown in the next one.
  const pending = all.filter((one) => one.path === path);
  const isWaiting = pending.some(({ problem }) => problem === null);
  const session = useRead<TextSessionDetail>(path, {
    refetchMs: (last) => (last?.status === 'ended' ? false : REFRESH_MS),
    // The session has the message as soon as it is accepted: it would be shown twice.
    isPaused: isWaiting,
  });
  const begin = useChange(
    () => call<TextSession>('POST', TEXT_SESSIONS, { agent_id: agentId, metadata: FROM_CONSOLE }),
    { touches: [TEXT_SESSIONS], quiet: true },
  );
  const end = useChange(() => call('POST', `${path}/end`), { touches: [TEXT_SESSIONS] });
  return {
    sessionId,
    session,
    pending,
    isBeginning: begin.isPending,
    problem: begin.error && messageOf(begin.error),
    begin: (agentBegins: boolean) =>
      begin.mutate(undefined, {
        onSuccess: (created) => {
          const begun = textSessionPath(created.text_session_id);
          // Known without a read, which the first message would cancel.
          const empty: TextSessionDetail = { ...created, items: [], cost: '0.00', analysis: null };
          client.setQueryData([begun, {}], empty);
          setSearch({ session: created.text_session_id }, { replace: true });
          if (agentBegins) deliver(begun, newMessage(null));
        },
      }),
    send: (text: string) => path !== null && deliver(path, newMessage(text)),
    /** Sends a message that got no answer once more; as another one if the first is over. */
    sendAgain: ({ key, path: to, content, isOver: isAnother }: PendingMessage) => {
      dismiss(key);
      deliver(to, isAnother ? newMessage(content) : { key, content });
    },
    dismiss,
    end: () => end.mutate(),
    leave: () => setSearch({}, { replace: true }),
  };
}

export type TextChat = ReturnType<typeof useTextChat>;

/** The messages that wait for their answers, each on a connection of its own. */
function usePending() {
  const client = useQueryClient();
  const [pending, setPending] = useState<readonly PendingMessage[]>([]);
  const gone = useRef<AbortController | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    gone.current = controller;
    return () => controller.abort();
  }, []);
  const dismiss = (key: string) => setPending((before) => before.filter((one) => one.key !== key));
  const change = (key: string, patch: (one: PendingMessage) => Partial<PendingMessage>) =>
    setPending((before) => before.map((one) => (one.key === key ? { ...one, ...patch(one) } : one)));

  const answered = async (path: string, message: OutgoingMessage, signal: AbortSignal) => {
    const { key } = message;
    // An answer on its way may already have the message, which is shown as pending.
    await client.cancelQueries({ queryKey: [path] });
    const news = {
      onText: (piece: string) => change(key, ({ reply }) => ({ reply: reply + piece })),
      onTool: (tool: ToolNews) => change(key, ({ tools }) => ({ tools: withTool(tools, tool) })),
      onConnection: (isConnected: boolean) => change(key, () => ({ isConnected })),
    };
    putAnswer(client, path, await sendMessage(path, message, news, signal));
    dismiss(key);
  };

  const deliver = (path: string, message: OutgoingMessage) => {
    const at = new Date().toISOString();
    const fresh = { at, reply: '', tools: [], isConnected: true, problem: null, isOver: false };
    setPending((before) => [...before, { ...message, path, ...fresh }]);
    const signal = gone.current?.signal ?? AbortSignal.abort();
    answered(path, message, signal)
      .catch((error: unknown) => {
        if (signal.aborted) return;
        if (isKeyRefusal(error)) void client.invalidateQueries({ queryKey: ['/v1/account'] });
        change(message.key, () => ({ problem: messageOf(error), isOver: isOver(error), isConnected: true }));
      })
      .finally(() => {
        if (!signal.aborted) void client.invalidateQueries({ queryKey: [path] });
      });
  };
  return { pending, deliver, dismiss };
}

/** Adds an answer to the session as it was read, which may have its message already. */
function putAnswer(client: QueryClient, path: string, { items, session_status }: TextAnswer): void {
  const ids = new Set(items.map(idOf));
  client.setQueryData<TextSessionDetail>([path, {}], (before) => {
    if (!before) return before;
    const others = before.items.filter((item) => !ids.has(idOf(item)));
    return { ...before, items: [...others, ...items], status: session_status };
  });
}

/** Messages have an id of their own; other items are told apart by their contents. */
function idOf(item: TextAnswer['items'][number]): string {
  return item.type === 'message' ? item.id : JSON.stringify(item);
}

/** A tool that has ended takes the place of its start. */
function withTool(tools: readonly ToolNews[], tool: ToolNews): readonly ToolNews[] {
  const started = tools.findIndex(
    ({ tool_name, status }) => tool_name === tool.tool_name && status === 'started',
  );
  return tool.status === 'started' || started === -1 ? [...tools, tool] : tools.with(started, tool);
}
