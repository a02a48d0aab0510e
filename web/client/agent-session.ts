/**
 * `AgentSession`: the browser's side of a conversation (supplement 5). It asks for a session or is handed one, connects the microphone and the agent's voice
 * over the transport the session comes with, and turns the agent's messages into events. Served as an ES module at `/sdk.js`.
 */
import type { AgentEvent, ClientEvent } from '../../config/session-events.ts';
import { createDirectTransport } from './direct-transport.ts';
import { type AgentMode, Emitter, type EndReason, SessionError, type SessionStatus } from './events.ts';
import { Levels } from './levels.ts';
import type { Transport, TransportListener } from './transport.ts';
import { requestSession, type SessionGrant, type SessionRequest } from './wire.ts';

/** A function the agent may call on the page. What it returns is told to the agent. */
export type ClientTool = (params: Record<string, unknown>) => unknown;

/** How a session is started: with a public agent's id, or with the answer of your own backend's session request. */
export interface StartOptions extends Omit<SessionRequest, 'agentId'> {
  agentId?: string;
  sessionToken?: SessionGrant;
  /** Base address of Parley; the page's own by default. */
  serverUrl?: string;
  /** False: no microphone is asked for; the conversation is typed. */
  microphone?: boolean;
  clientTools?: Record<string, ClientTool>;
  /** How long a client tool may take, ms. */
  clientToolTimeoutMs?: number;
}

/** One running conversation. */
export class AgentSession extends Emitter {
  readonly sessionId: string;
  #status: SessionStatus = 'connecting';
  #mode: AgentMode = 'listening';
  #endReason: EndReason | null = null;
  #micMuted = false;
  readonly #options: StartOptions;
  readonly #transport: Transport;
  readonly #player = new Audio();
  readonly #tools: Map<string, ClientTool>;
  readonly #texts = new Map<string, string>();
  readonly #levels = new Levels();
  #microphone: MediaStream | null = null;
  #toldReason: EndReason | null = null;

  private constructor(options: StartOptions, sessionId: string, open: (listener: TransportListener) => Transport) {
    super();
    this.#options = options;
    this.sessionId = sessionId;
    this.#tools = new Map(Object.entries(options.clientTools ?? {}));
    this.#transport = open({
      onEvent: (event) => this.#receive(event),
      onVoice: (stream) => this.#play(stream),
      onReconnecting: (isReconnecting) => this.#onReconnecting(isReconnecting),
      onLost: () => this.#close(this.#toldReason ?? 'connection_lost'),
    });
    this.#player.autoplay = true;
  }

  /** Starts a conversation; resolves once connected. Throws `SessionError`. */
  static async start(options: StartOptions): Promise<AgentSession> {
    const serverUrl = options.serverUrl ?? location.origin;
    const microphone = options.microphone === false ? null : await openMicrophone();
    try {
      const grant = options.sessionToken ?? (await requestSession(serverUrl, { ...options, agentId: required(options.agentId) }));
      const session = new AgentSession(options, grant.session_id, await transportOf(grant));
      try {
        await session.#connect(microphone);
      } catch (error) {
        session.#close('connection_lost');
        throw error;
      }
      return session;
    } catch (error) {
      for (const track of microphone?.getTracks() ?? []) track.stop();
      throw error;
    }
  }

  get status(): SessionStatus {
    return this.#status;
  }

  get mode(): AgentMode {
    return this.#mode;
  }

  get isSpeaking(): boolean {
    return this.#mode === 'speaking';
  }

  get micMuted(): boolean {
    return this.#micMuted;
  }

  get endReason(): EndReason | null {
    return this.#endReason;
  }

  /** Hangs up. */
  end(): void {
    this.#send({ type: 'user.hangup' });
    this.#close('user_hangup');
  }

  /** Says something in writing; `audio: false` asks for an answer in text only. */
  sendUserMessage(text: string, options: { audio?: boolean } = {}): void {
    this.#send({ type: 'user.message', text, audio: options.audio ?? false });
  }

  /** Tells the agent that the user is busy on the page, so that it does not ask whether anyone is there. */
  sendUserActivity(): void {
    this.#send({ type: 'user.activity' });
  }

  /** Stops the agent's speech. */
  interrupt(): void {
    this.#send({ type: 'user.interrupt' });
  }

  registerClientTool(name: string, tool: ClientTool): void {
    this.#tools.set(name, tool);
  }

  setMicMuted(muted: boolean): void {
    this.#micMuted = muted;
    for (const track of this.#microphone?.getAudioTracks() ?? []) track.enabled = !muted;
  }

  /** 0 to 1. */
  setOutputVolume(volume: number): void {
    this.#player.volume = Math.min(1, Math.max(0, volume));
  }

  /** Starts playback where the browser held it back until a click. */
  async startAudio(): Promise<void> {
    await this.#player.play();
  }

  /** Loudness of the microphone, 0 to 1. */
  getInputVolume(): number {
    return this.#levels.input();
  }

  /** Loudness of the agent, 0 to 1. */
  getOutputVolume(): number {
    return this.#levels.output();
  }

  /** The LiveKit room of the conversation, for what this client does not cover; null on a direct connection. */
  getRoom(): object | null {
    return this.#transport.room;
  }

  async #connect(microphone: MediaStream | null): Promise<void> {
    this.#microphone = microphone;
    if (microphone) this.#levels.watchInput(microphone);
    await this.#transport.connect(microphone);
    this.#setStatus('connected');
    this.emit('connect', { sessionId: this.sessionId });
  }

  #play(stream: MediaStream): void {
    this.#player.srcObject = stream;
    this.#levels.watchOutput(stream);
    // A page without a click may not play yet; `startAudio` is for that.
    this.#player.play().catch(() => undefined);
  }

  #onReconnecting(isReconnecting: boolean): void {
    // Before it was ever whole it is still connecting.
    if (this.#status !== 'connecting') this.#setStatus(isReconnecting ? 'reconnecting' : 'connected');
  }

  #receive(event: AgentEvent): void {
    if (event.type === 'transcript') this.#onTranscript(event);
    else if (event.type === 'state') this.#onState(event.state);
    else if (event.type === 'client_tool.call') void this.#callTool(event);
    else if (event.type === 'session.ended') {
      this.#toldReason = event.reason;
      this.#close(event.reason);
    } else if (event.type === 'error') this.emit('error', new SessionError(event.code, 'The agent reported a problem'));
    else this.#onTool(event);
  }

  #onTranscript({ role, segmentId, text, final }: Extract<AgentEvent, { type: 'transcript' }>): void {
    if (role === 'user') this.emit('userTranscript', { segmentId, text, final });
    else {
      const before = this.#texts.get(segmentId) ?? '';
      this.#texts.set(segmentId, text);
      this.emit('agentResponseDelta', { segmentId, delta: text.startsWith(before) ? text.slice(before.length) : text, text });
      if (final) this.emit('agentResponse', { segmentId, text });
    }
    if (final) {
      this.#texts.delete(segmentId);
      this.emit('message', { role, text });
    }
  }

  #onState(state: string): void {
    const mode: AgentMode = state === 'speaking' || state === 'thinking' ? state : 'listening';
    if (mode === this.#mode) return;
    this.#mode = mode;
    this.emit('modeChange', { mode });
  }

  #onTool(event: Extract<AgentEvent, { type: `tool.${string}` }>): void {
    const call = { callId: event.callId, toolName: event.toolName, source: event.toolSource };
    if (event.type === 'tool.started')
      this.emit('toolCallStarted', { ...call, input: event.input, ...(event.inputTruncated ? { inputTruncated: true } : {}) });
    else if (event.type === 'tool.completed')
      this.emit('toolCallCompleted', { ...call, output: event.output, ...(event.outputTruncated ? { outputTruncated: true } : {}) });
    else this.emit('toolCallFailed', { ...call, error: event.error });
  }

  async #callTool({ callId, toolName, params, expectsResponse }: Extract<AgentEvent, { type: 'client_tool.call' }>): Promise<void> {
    const tool = this.#tools.get(toolName);
    const answer = (event: Omit<Extract<ClientEvent, { type: 'client_tool.result' }>, 'type' | 'callId'>) => {
      if (expectsResponse) this.#send({ type: 'client_tool.result', callId, ...event });
    };
    if (!tool) {
      answer({ isError: true, result: `The page has no tool named ${toolName}` });
      return;
    }
    try {
      answer({ result: await withTimeout(Promise.resolve(tool(params)), this.#options.clientToolTimeoutMs ?? 15_000) });
    } catch (error) {
      const code = error instanceof SessionError ? error.code : 'tool_failed';
      const message = error instanceof Error ? error.message : String(error);
      this.emit('error', new SessionError(code, message));
      answer({ isError: true, result: message });
    }
  }

  #send(event: ClientEvent): void {
    this.#transport.send(event);
  }

  #setStatus(status: SessionStatus): void {
    if (status === this.#status || this.#status === 'ended') return;
    this.#status = status;
    this.emit('statusChange', { status });
  }

  #close(reason: EndReason): void {
    if (this.#status === 'ended') return;
    this.#endReason = reason;
    this.#setStatus('ended');
    for (const track of this.#microphone?.getTracks() ?? []) track.stop();
    this.#player.srcObject = null;
    this.#levels.close();
    this.#transport.close();
    this.emit('disconnect', { reason });
  }
}

/** The transport a grant asks for; LiveKit's client is loaded only for those who need it. */
async function transportOf(grant: SessionGrant): Promise<(listener: TransportListener) => Transport> {
  const { transport } = grant;
  if (transport === 'webrtc') return (listener) => createDirectTransport(grant, listener);
  if (transport !== 'livekit') throw new SessionError('unsupported_transport', `This client cannot use the transport ${String(transport)}`);
  const { createLivekitTransport } = await import('./livekit-transport.ts');
  return (listener) => createLivekitTransport(grant, listener);
}

async function openMicrophone(): Promise<MediaStream> {
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true, noiseSuppression: true, autoGainControl: true } });
  } catch {
    throw new SessionError('mic_permission_denied', 'The microphone is not available; allow it for this page, or type instead');
  }
}

function withTimeout<Value>(work: Promise<Value>, ms: number): Promise<Value> {
  return Promise.race([
    work,
    new Promise<Value>((_, reject) => setTimeout(() => reject(new SessionError('tool_timeout', `No result within ${ms} ms`)), ms)),
  ]);
}

function required(agentId: string | undefined): string {
  if (agentId === undefined) throw new SessionError('session_request_failed', 'Give agentId, or sessionToken from your backend');
  return agentId;
}
