/**
 * A colleague's connection to a running call as React state: listening to both sides, talking to the caller
 * in the agent's place, and handing the call back.
 */
import { type RefObject, useEffect, useRef, useState } from 'react';
import type { ParticipantMode } from '../../../../protocol/session-events.ts';
import { AgentSession } from '../../../client/agent-session.ts';
import { SessionError } from '../../../client/events.ts';
import { ApiError, call } from '../api/client.ts';
import { messageOf } from '../api/queries.ts';
import type { ParticipantGrant } from '../api/types.ts';

/** State of the colleague's connection. */
export type ParticipantState = 'away' | 'joining' | 'listening' | 'talking' | 'over';

/** A connection to the call. If it was opened for listening, it has no microphone. */
interface Connection {
  readonly session: AgentSession;
  readonly participantId: string;
  readonly hasMicrophone: boolean;
}

const RETRY_MS = 1_500;
const RETRIES = 10;
const TAKEOVER_REFUSED =
  'The call could not be taken over: a colleague has it, or it is being transferred. You are listening; ' +
  'try again.';

export function useParticipant(sessionId: string) {
  const path = `/v1/agent/sessions/${sessionId}/participants`;
  const connection = useRef<Connection | null>(null);
  const isGone = useEndOnUnmount(connection);
  const [state, setState] = useState<ParticipantState>('away');
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);

  const leave = () => {
    const left = connection.current;
    connection.current = null;
    setState('away');
    left?.session.end();
  };

  /** Opens a connection and, once connected, replaces the current one. */
  const open = async (mode: ParticipantMode) => {
    let confirmedMode: ParticipantMode | null = null;
    let opened: Connection | null = null;
    const isCurrent = () => opened !== null && connection.current === opened;
    const show = (now: ParticipantMode) => {
      confirmedMode = now;
      if (!isCurrent()) return;
      if (now === 'take_over') setProblem(null);
      setState(now === 'take_over' ? 'talking' : 'listening');
      opened?.session.setMicMuted(now === 'listen');
    };
    const onDisconnect = ({ reason }: { readonly reason: string }) => {
      if (!isCurrent()) return;
      connection.current = null;
      setState(reason === 'connection_lost' ? 'away' : 'over');
      if (reason === 'connection_lost') setProblem('The connection to the call was lost.');
    };
    const joined = await join(path, mode, {
      onParticipantMode: ({ mode: now }) => {
        if (confirmedMode === null && mode === 'take_over' && now === 'listen') setProblem(TAKEOVER_REFUSED);
        show(now);
      },
      onDisconnect,
    });
    opened = joined;
    connection.current?.session.end();
    connection.current = joined;
    if (isGone.current) leave();
    else if (confirmedMode === null) {
      setState('joining');
      await repeatUntilAnswered(() =>
        isCurrent() && confirmedMode === null
          ? call('PATCH', `${path}/${joined.participantId}`, { mode })
          : null,
      );
    } else show(confirmedMode);
  };

  const change = async (mode: ParticipantMode) => {
    const now = connection.current;
    setProblem(null);
    setBusy(true);
    if (!now) setState('joining');
    try {
      if (now && (mode === 'listen' || now.hasMicrophone))
        await call('PATCH', `${path}/${now.participantId}`, { mode });
      else await open(mode);
    } catch (error) {
      setState((before) => (before === 'joining' ? 'away' : before));
      setProblem(problemOf(error));
    } finally {
      setBusy(false);
    }
  };

  const listen = () => void change('listen');
  const takeOver = () => void change('take_over');
  return { state, isBusy, problem, listen, takeOver, leave };
}

/** Ends the connection when the component unmounts; the result is then true. */
function useEndOnUnmount(connection: RefObject<Connection | null>): RefObject<boolean> {
  const isGone = useRef(false);
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
      connection.current?.session.end();
    };
  }, [connection]);
  return isGone;
}

async function join(
  path: string,
  mode: ParticipantMode,
  callbacks: NonNullable<Parameters<typeof AgentSession.start>[0]['callbacks']>,
) {
  // Only a request with an extension rings phones.
  const grant = await call<Exclude<ParticipantGrant, { transport: 'phone' }>>('POST', path, { mode });
  const hasMicrophone = mode === 'take_over';
  const session = await AgentSession.start({ sessionToken: grant, microphone: hasMicrophone, callbacks });
  return { session, participantId: grant.participant_id, hasMicrophone };
}

/**
 * A colleague who joins is sent their mode. If that message was lost, the request is repeated to have it sent
 * again.
 */
async function repeatUntilAnswered(request: () => Promise<unknown> | null): Promise<void> {
  for (let attempt = 0; attempt < RETRIES; attempt++) {
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    const answer = request();
    if (answer === null) return;
    await answer.catch(() => undefined);
  }
}

function problemOf(error: unknown): string {
  if (error instanceof ApiError) return messageOf(error);
  return error instanceof SessionError ? error.message : 'The call cannot be reached from this browser.';
}
