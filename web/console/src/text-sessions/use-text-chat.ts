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
import { newMessage, type OutgoingMessage, sendMessage, type ToolNews } from './message-stream.ts';
import { FROM_CONSOLE, TEXT_SESSIONS } from './text-session.tsx';

/** While nothing is sent from here, the session may go on or end elsewhere. */
const REFRESH_MS = 5_000;

/** A message without an answer. */
export interface PendingMessage extends OutgoingMessage {
  /** When it was sent, RFC 3339. */
  readonly at: string;
  /** The agent's text so far. */
  readonly reply: string;
  readonly tools: readonly ToolNews[];
  readonly isConnected: boolean;
  /** Why there is no answer; null while it may come. */
  readonly problem: string | null;
}

/** A chat. `session` has no data before it has begun. */
export function useTextChat(agentId: string) {
  const client = useQueryClient();
  const [search, setSearch] = useSearchParams();
  const sessionId = search.get('session');
  const path = sessionId === null ? null : `${TEXT_SESSIONS}/${sessionId}`;
  const { pending, deliver, dismiss } = usePending();
  const isWaiting = pending.some(({ problem }) => problem === null);
  const session = useRead<TextSessionDetail>(path, {
    refetchMs: (last) => (isWaiting || last?.status === 'ended' ? false : REFRESH_MS),
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
          const begun = `${TEXT_SESSIONS}/${created.text_session_id}`;
          // Known without a read, which the first message would cancel.
          const empty: TextSessionDetail = { ...created, items: [], cost: '0.00', analysis: null };
          client.setQueryData([begun, {}], empty);
          setSearch({ session: created.text_session_id }, { replace: true });
          if (agentBegins) deliver(begun, null);
        },
      }),
    send: (text: string) => path !== null && deliver(path, text),
    /** Sends a message that got no answer once more, as another one. */
    sendAgain: ({ key, content }: PendingMessage) => {
      dismiss(key);
      if (path !== null) deliver(path, content);
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
  const open = useRef(0);
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

  const deliver = (path: string, content: string | null) => {
    const message = newMessage(content);
    const at = new Date().toISOString();
    const fresh = { at, reply: '', tools: [], isConnected: true, problem: null };
    setPending((before) => [...before, { ...message, ...fresh }]);
    const signal = gone.current?.signal ?? AbortSignal.abort();
    open.current += 1;
    answered(path, message, signal)
      .catch((error: unknown) => {
        if (signal.aborted) return;
        if (isKeyRefusal(error)) void client.invalidateQueries({ queryKey: ['/v1/account'] });
        change(message.key, () => ({ problem: messageOf(error), isConnected: true }));
      })
      .finally(() => {
        open.current -= 1;
        // A message that still waits would be shown twice.
        if (open.current === 0 && !signal.aborted) void client.invalidateQueries({ queryKey: [path] });
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

/** Messages have an id of their own; of other items no two are the same. */
function idOf(item: TextAnswer['items'][number]): unknown {
  return item.type === 'message' ? item.id : item;
}

/** A tool that has ended takes the place of its start. */
function withTool(tools: readonly ToolNews[], tool: ToolNews): readonly ToolNews[] {
  const started = tools.findIndex(
    ({ tool_name, status }) => tool_name === tool.tool_name && status === 'started',
  );
  return tool.status === 'started' || started === -1 ? [...tools, tool] : tools.with(started, tool);
}
