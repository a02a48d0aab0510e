/** Options for starting a conversation. */
import type { ClientTool } from './client-tools.ts';
import type { Emitter, SessionEvents } from './events.ts';
import type { SessionGrant, SessionRequest } from './wire.ts';

/** One callback per event, named `on` plus the event: `onConnect`, `onMessage`, `onError` and so on. */
export type Callbacks = {
  [Name in keyof SessionEvents as `on${Capitalize<Name>}`]?: (payload: SessionEvents[Name]) => void;
};

/**
 * Either a public agent's id or the response to your backend's session request. Fields of the session request
 * are sent only with an `agentId`.
 */
export interface StartOptions extends Omit<SessionRequest, 'agentId'> {
  agentId?: string;
  /** The unchanged response of `POST /v1/agent/sessions`. */
  sessionToken?: SessionGrant;
  /** Base address of Parley; defaults to the page's own. */
  serverUrl?: string;
  /** False: the microphone is not requested; the conversation is typed. */
  microphone?: boolean;
  /** Device ids (`navigator.mediaDevices.enumerateDevices`); default to the browser's choice. */
  audio?: { inputDeviceId?: string; outputDeviceId?: string };
  /** False: the screen may turn off during the conversation. */
  wakeLock?: boolean;
  clientTools?: Record<string, ClientTool>;
  /** Timeout of a client tool, ms; 15,000 by default. The tool's own timeout on the server also applies. */
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

/** Registers the callbacks as listeners of their events. */
export function attachCallbacks(session: Emitter, callbacks: Callbacks): void {
  for (const name of Object.keys(CALLBACK_OF) as (keyof SessionEvents)[]) {
    const callback = callbacks[CALLBACK_OF[name]] as ((payload: unknown) => void) | undefined;
    if (callback) session.on(name, callback);
  }
}
