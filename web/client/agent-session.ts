/**
 * `AgentSession`: the browser's side of a conversation. Requests a session or uses a given one, connects the
 * microphone and the agent's voice over the session's transport, and turns the agent's messages into events.
 * Served as an ES module at `/sdk.js`.
 */
import type { AgentEvent, ClientEvent } from '../../protocol/session-events.ts';
import { type ClientTool, ClientTools } from './client-tools.ts';
import { createDirectTransport } from './direct-transport.ts';
import { type AgentMode, Emitter, type EndReason, SessionError, type SessionStatus } from './events.ts';
import { Levels } from './levels.ts';
import { Microphone } from './microphone.ts';
import { attachCallbacks, type StartOptions } from './options.ts';
import { Speaker } from './speaker.ts';
import { Transcript, type TranscriptSegment } from './transcript.ts';
import type { Transport, TransportListener } from './transport.ts';
import { keepScreenOn } from './wake-lock.ts';
import { requestSession, type SessionGrant } from './wire.ts';

const CLIENT_TOOL_TIMEOUT_MS = 15_000;

/** Parts of a conversation before it is connected. */
interface Parts {
  readonly sessionId: string;
  readonly microphone: Microphone | null;
  readonly speaker: Speaker;
  open(listener: TransportListener): Transport;
}

/** A running conversation. */
export class AgentSession extends Emitter {
  readonly sessionId: string;
  #status: SessionStatus = 'connecting';
  #mode: AgentMode = 'listening';
  #endReason: EndReason | null = null;
  #typedCount = 0;
  readonly #transport: Transport;
  readonly #microphone: Microphone | null;
  readonly #speaker: Speaker;
  readonly #tools: ClientTools;
  readonly #transcript = new Transcript();
  readonly #levels = new Levels();
  #letScreenGo: (() => void) | null = null;
  /** The page is closed or left: without it, the server would wait for the caller to come back. */
  readonly #onPageHide = () => this.end();

  private constructor(options: StartOptions, { sessionId, microphone, speaker, open }: Parts) {
    super();
    this.sessionId = sessionId;
    this.#microphone = microphone;
    this.#speaker = speaker;
    this.#tools = new ClientTools(
      options.clientTools ?? {},
      options.clientToolTimeoutMs ?? CLIENT_TOOL_TIMEOUT_MS,
    );
    attachCallbacks(this, options.callbacks ?? {});
    this.#transport = open({
      onEvent: (event) => this.#receive(event),
      onVoice: (stream) => this.#play(stream),
      onReconnecting: (isReconnecting) => this.#onReconnecting(isReconnecting),
      onLost: () => this.#close('connection_lost'),
    });
  }

  /** Starts a conversation; resolves once connected. Throws `SessionError`. */
  static async start(options: StartOptions): Promise<AgentSession> {
    const { agentId, audio = {}, serverUrl = location.origin } = options;
    const microphone = options.microphone === false ? null : await Microphone.open(audio.inputDeviceId);
    const speaker = new Speaker();
    try {
      if (audio.outputDeviceId !== undefined)
        await applyDeviceChange(speaker.setDevice(audio.outputDeviceId));
      const grant =
        options.sessionToken ??
        (await requestSession(serverUrl.replace(/\/$/, ''), {
          ...options,
          agentId: requireAgentId(agentId),
        }));
      const open = await transportOf(grant);
      const session = new AgentSession(options, { sessionId: grant.session_id, microphone, speaker, open });
      await session.#connect(options.wakeLock !== false);
      return session;
    } catch (error) {
      microphone?.close();
      throw error;
    }
  }

  get status(): SessionStatus {
    return this.#status;
  }

  /** What the agent is doing. */
  get mode(): AgentMode {
    return this.#mode;
  }

  get isSpeaking(): boolean {
    return this.#mode === 'speaking';
  }

  get micMuted(): boolean {
    return this.#microphone?.isMuted ?? true;
  }

  /** Null while the conversation is running. */
  get endReason(): EndReason | null {
    return this.#endReason;
  }

  /** Hangs up. */
  end(): void {
    this.#send({ type: 'user.hangup' });
    this.#close('user_hangup');
  }

  /** Sends a typed message. The agent answers in text only, unless `audio` is true. */
  sendUserMessage(text: string, options: { audio?: boolean } = {}): void {
    this.#send({ type: 'user.message', text, audio: options.audio ?? false });
    // The agent does not echo typed messages, so they are added to the transcript here.
    this.#typedCount += 1;
    this.#onTranscript({
      type: 'transcript',
      role: 'user',
      segmentId: `typed-${this.#typedCount}`,
      text,
      final: true,
    });
  }

  /** Signals user activity on the page, to keep the agent from asking whether anyone is there. */
  sendUserActivity(): void {
    this.#send({ type: 'user.activity' });
  }

  /** Stops the agent's speech. */
  interrupt(): void {
    this.#send({ type: 'user.interrupt' });
  }

  /** Adds a client tool, or replaces the tool of that name. */
  registerClientTool(name: string, tool: ClientTool): void {
    this.#tools.register(name, tool);
  }

  setMicMuted(muted: boolean): void {
    this.#microphone?.mute(muted);
  }

  /** 0 to 1. */
  setOutputVolume(volume: number): void {
    this.#speaker.setVolume(volume);
  }

  /**
   * Switches to another microphone. Throws `SessionError` `device_change_failed`; the previous microphone
   * then stays in use.
   */
  async setInputDevice(deviceId: string): Promise<void> {
    const microphone = this.#microphone;
    if (!microphone)
      throw new SessionError('device_change_failed', 'The conversation was started without a microphone');
    await applyDeviceChange(microphone.change(deviceId, (stream) => this.#transport.setMicrophone(stream)));
    this.#levels.watch('input', microphone.stream);
  }

  /** Switches the agent's voice to another output device. Throws `SessionError` `device_change_failed`. */
  async setOutputDevice(deviceId: string): Promise<void> {
    await applyDeviceChange(this.#speaker.setDevice(deviceId));
  }

  /** Starts playback that the browser blocked; call it from a click handler. */
  async startAudio(): Promise<void> {
    await Promise.all([this.#levels.resume(), this.#speaker.resume()]);
  }

  /** Loudness of the microphone, 0 to 1. */
  getInputVolume(): number {
    return this.#levels.volume('input');
  }

  /** Loudness of the agent, 0 to 1. */
  getOutputVolume(): number {
    return this.#levels.volume('output');
  }

  /** Spectrum of the microphone: 256 bins of 0 to 255; empty without a microphone. */
  getInputFrequencyData(): Uint8Array {
    return this.#levels.frequencies('input');
  }

  /** Spectrum of the agent's voice: 256 bins of 0 to 255; empty before the voice is connected. */
  getOutputFrequencyData(): Uint8Array {
    return this.#levels.frequencies('output');
  }

  /** The transcript so far, oldest first; the last segments may not be final. */
  getTranscript(): readonly TranscriptSegment[] {
    return this.#transcript.all();
  }

  /**
   * The LiveKit room of the conversation, for features this client does not cover; null on a direct
   * connection.
   */
  getRoom(): object | null {
    return this.#transport.room;
  }

  async #connect(wakeLock: boolean): Promise<void> {
    const stream = this.#microphone?.stream ?? null;
    addEventListener('pagehide', this.#onPageHide);
    try {
      if (stream) this.#levels.watch('input', stream);
      await this.#transport.connect(stream);
    } catch (error) {
      if (error instanceof SessionError) this.emit('error', error);
      this.#close('connection_lost');
      throw error;
    }
    if (this.#endReason !== null) throw new SessionError('connection_failed', 'The page was left');
    if (wakeLock) this.#letScreenGo = keepScreenOn();
    this.#setStatus('connected');
    this.emit('connect', { sessionId: this.sessionId });
  }

  #play(stream: MediaStream): void {
    this.#speaker.play(stream);
    this.#levels.watch('output', stream);
  }

  #onReconnecting(isReconnecting: boolean): void {
    // The status stays `connecting` until the first connection is complete.
    if (this.#status !== 'connecting') this.#setStatus(isReconnecting ? 'reconnecting' : 'connected');
  }

  #receive(event: AgentEvent): void {
    if (event.type === 'transcript') this.#onTranscript(event);
    else if (event.type === 'state') this.#onState(event.state);
    else if (event.type === 'client_tool.call') void this.#callTool(event);
    else if (event.type === 'participant.mode') this.emit('participantMode', { mode: event.mode });
    else if (event.type === 'session.ended') this.#close(event.reason);
    else if (event.type === 'error')
      this.emit('error', new SessionError(event.code, 'The agent reported a problem'));
    else if (event.type !== 'session.moved') this.#onTool(event);
  }

  #onTranscript({ role, segmentId, text, final }: Extract<AgentEvent, { type: 'transcript' }>): void {
    const delta = this.#transcript.put({ segmentId, role, text, final });
    if (role === 'user') this.emit('userTranscript', { segmentId, text, final });
    else {
      this.emit('agentResponseDelta', { segmentId, delta, text });
      if (final) this.emit('agentResponse', { segmentId, text });
    }
    if (final && text !== '') this.emit('message', { role, text });
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
      this.emit('toolCallStarted', {
        ...call,
        input: event.input,
        ...(event.inputTruncated ? { inputTruncated: true } : {}),
      });
    else if (event.type === 'tool.completed')
      this.emit('toolCallCompleted', {
        ...call,
        output: event.output,
        ...(event.outputTruncated ? { outputTruncated: true } : {}),
      });
    else if (event.type === 'tool.failed') this.emit('toolCallFailed', { ...call, error: event.error });
  }

  async #callTool({
    callId,
    toolName,
    params,
    expectsResponse,
  }: Extract<AgentEvent, { type: 'client_tool.call' }>): Promise<void> {
    const outcome = await this.#tools.call(toolName, params);
    const failure = 'error' in outcome ? outcome.error : null;
    if (failure) this.emit('error', failure);
    if (!expectsResponse) return;
    const answer =
      'result' in outcome ? { result: outcome.result } : { result: outcome.error.message, isError: true };
    this.#send({ type: 'client_tool.result', callId, ...answer });
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
    removeEventListener('pagehide', this.#onPageHide);
    this.#letScreenGo?.();
    this.#setStatus('ended');
    this.#microphone?.close();
    this.#speaker.close();
    this.#levels.close();
    this.#transport.close();
    this.emit('disconnect', { reason });
  }
}

/** Returns the transport for a grant. LiveKit's client is loaded only if needed. */
async function transportOf(grant: SessionGrant): Promise<(listener: TransportListener) => Transport> {
  const { transport } = grant;
  if (transport === 'webrtc') return (listener) => createDirectTransport(grant, listener);
  if (transport !== 'livekit')
    throw new SessionError(
      'unsupported_transport',
      `This client does not support the transport ${String(transport)}`,
    );
  const { createLivekitTransport } = await import('./livekit-transport.ts');
  return (listener) => createLivekitTransport(grant, listener);
}

async function applyDeviceChange(change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new SessionError('device_change_failed', `The device cannot be used: ${why}`);
  }
}

function requireAgentId(agentId: string | undefined): string {
  if (agentId === undefined)
    throw new SessionError('session_request_failed', 'Give agentId, or sessionToken from your backend');
  return agentId;
}
