/**
 * A colleague's connection to a running call as React state: listening to both sides, talking to the caller
 * in the agent's place, and handing the call back.
 */
import { useEffect, useRef, useState } from 'react';
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

const ASK_AGAIN_MS = 1_500;
const ASKED_TIMES = 10;
const NOT_NOW =
  'The call could not be taken over: a colleague has it, or it is being transferred. You are listening; ' +
  'try again.';

export function useParticipant(sessionId: string) {
  const path = `/v1/agent/sessions/${sessionId}/participants`;
  const connection = useRef<Connection | null>(null);
  const isGone = useRef(false);
  const [state, setState] = useState<ParticipantState>('away');
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
      connection.current?.session.end();
    };
  }, []);

  const leave = () => {
    const left = connection.current;
    connection.current = null;
    setState('away');
    left?.session.end();
  };

  /** Opens a connection and, once connected, replaces the current one. */
  const open = async (mode: ParticipantMode) => {
    let told: ParticipantMode | null = null;
    let opened: Connection | null = null;
    const isCurrent = () => opened !== null && connection.current === opened;
    const show = (now: ParticipantMode) => {
      told = now;
      if (!isCurrent()) return;
      if (now === 'take_over') setProblem(null);
      setState(now === 'take_over' ? 'talking' : 'listening');
      opened?.session.setMicMuted(now === 'listen');
    };
    const joined = await join(path, mode, {
      onParticipantMode: ({ mode: now }) => {
        if (told === null && mode === 'take_over' && now === 'listen') setProblem(NOT_NOW);
        show(now);
      },
      onDisconnect: ({ reason }) => {
        if (!isCurrent()) return;
        connection.current = null;
        setState(reason === 'connection_lost' ? 'away' : 'over');
        if (reason === 'connection_lost') setProblem('The connection to the call was lost.');
      },
    });
    opened = joined;
    connection.current?.session.end();
    connection.current = joined;
    if (isGone.current) leave();
    else if (told === null) {
      setState('joining');
      await ask(() =>
        isCurrent() && told === null ? call('PATCH', `${path}/${joined.participantId}`, { mode }) : null,
      );
    } else show(told);
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

  return {
    state,
    isBusy,
    problem,
    listen: () => void change('listen'),
    takeOver: () => void change('take_over'),
    leave,
  };
}

async function join(
  path: string,
  mode: ParticipantMode,
  callbacks: NonNullable<Parameters<typeof AgentSession.start>[0]['callbacks']>,
) {
  const grant = await call<ParticipantGrant>('POST', path, { mode });
  const hasMicrophone = mode === 'take_over';
  const session = await AgentSession.start({ sessionToken: grant, microphone: hasMicrophone, callbacks });
  return { session, participantId: grant.participant_id, hasMicrophone };
}

/**
 * A colleague who joins is sent their mode. If that message was lost, the request is repeated to have it sent
 * again.
 */
async function ask(again: () => Promise<unknown> | null): Promise<void> {
  for (let asked = 0; asked < ASKED_TIMES; asked++) {
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    const answer = again();
    if (answer === null) return;
    await answer.catch(() => undefined);
  }
}

function problemOf(error: unknown): string {
  if (error instanceof ApiError) return messageOf(error);
  return error instanceof SessionError ? error.message : 'The call cannot be reached from this browser.';
}
