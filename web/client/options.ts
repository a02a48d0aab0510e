/** How a conversation is started. */
import type { ClientTool } from './client-tools.ts';
import type { Emitter, SessionEvents } from './events.ts';
import type { SessionGrant, SessionRequest } from './wire.ts';

/** One function per event, named `on` and the event: `onConnect`, `onMessage`, `onError` and so on. */
export type Callbacks = {
  [Name in keyof SessionEvents as `on${Capitalize<Name>}`]?: (payload: SessionEvents[Name]) => void;
};

/**
 * With a public agent's id, or with the answer of your own backend's session request; what concerns the
 * request is sent with an `agentId` only.
 */
export interface StartOptions extends Omit<SessionRequest, 'agentId'> {
  agentId?: string;
  /** The answer of `POST /v1/agent/sessions`, as it came. */
  sessionToken?: SessionGrant;
  /** Base address of Parley; the page's own by default. */
  serverUrl?: string;
  /** False: no microphone is asked for; the conversation is typed. */
  microphone?: boolean;
  /** Devices by their id (`navigator.mediaDevices.enumerateDevices`); the browser's choice by default. */
  audio?: { inputDeviceId?: string; outputDeviceId?: string };
  /** False: the screen may go dark while the conversation runs. */
  wakeLock?: boolean;
  clientTools?: Record<string, ClientTool>;
  /**
   * How long a client tool may take, ms; 15,000 by default. The tool's own deadline on the server holds as
   * well.
   */
  clientToolTimeoutMs?: number;
  callbacks?: Callbacks;
}

const CALLBACK_OF: { readonly [Name in keyof SessionEvents]: `on${Capitalize<Name>}` } = {
  connect: 'onConnect',
  disconnect: 'onDisconnect',
  statusChange: 'onStatusChange',
  modeChange: 'onModeChange',
  userTranscript: 'onUserTranscript',
  agentResponseDelta: 'onAgentResponseDelta',
  agentResponse: 'onAgentResponse',
  message: 'onMessage',
  toolCallStarted: 'onToolCallStarted',
  toolCallCompleted: 'onToolCallCompleted',
  toolCallFailed: 'onToolCallFailed',
  participantMode: 'onParticipantMode',
  error: 'onError',
};

/** Has the callbacks called on their events. */
export function attachCallbacks(session: Emitter, callbacks: Callbacks): void {
  for (const name of Object.keys(CALLBACK_OF) as (keyof SessionEvents)[]) {
    const callback = callbacks[CALLBACK_OF[name]] as ((payload: unknown) => void) | undefined;
    if (callback) session.on(name, callback);
  }
}
