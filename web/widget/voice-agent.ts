/** `<voice-agent>`: a button in the corner of any page, and the conversation it opens. */
import type { AgentSession } from '../client/agent-session.ts';
import type { SessionEvents } from '../client/events.ts';
import type { StartOptions } from '../client/options.ts';
import type { SessionGrant } from '../client/wire.ts';
import { consentGiven, keepConsent } from './consent.ts';
import { loadClient, ownServer } from './media-client.ts';
import { developerHint, lacksMicrophone, type Problem, problemOf, visitorText } from './problems.ts';
import { ATTRIBUTES, readSettings, type Settings } from './settings.ts';
import { type Actions, FRESH, isRunning, type Surroundings, type WidgetState } from './state.ts';
import { textsIn } from './texts.ts';
import { View } from './view.ts';

/** Returns the response to your backend's session request; called before each start. */
type SessionTokenProvider = () => Promise<SessionGrant>;

const NO_ATTRIBUTES = readSettings(
  () => null,
  document.baseURI,
  () => undefined,
);

/** The widget with the active conversation; a page has one at a time. */
let speaking: VoiceAgent | null = null;

/** The `<voice-agent>` element. */
export class VoiceAgent extends HTMLElement {
  static readonly observedAttributes: readonly string[] = ATTRIBUTES;

  /** For agents that are not public. May be set before this script has loaded. */
  sessionTokenProvider: SessionTokenProvider | null =
    (this as Partial<VoiceAgent>).sessionTokenProvider ?? null;
  readonly #view: View;
  #state: WidgetState = FRESH;
  #settings: Settings = NO_ATTRIBUTES;
  #fetchedName: string | null = null;
  #session: AgentSession | null = null;
  /** Counts the starts, to detect on completion that a start was cancelled. */
  #attempt = 0;
  #wantsMicrophone = true;
  /**
   * For an element that was on the page before this script, the browser calls `attributeChangedCallback` for
   * each attribute first and `connectedCallback` only afterwards.
   */
  #isThere = false;
  #inviting: ReturnType<typeof setTimeout> | undefined;
  readonly #onExpand = (event: Event) => {
    const isOthers = event.target instanceof VoiceAgent && event.target !== this;
    if (!isOthers && !this.#state.isOpen) this.#open();
  };

  constructor() {
    super();
    this.#view = new View(this.attachShadow({ mode: 'open' }), this.#actions());
    this.addEventListener('voice-agent:expand', this.#onExpand);
  }

  connectedCallback(): void {
    document.addEventListener('voice-agent:expand', this.#onExpand);
    this.#isThere = true;
    this.#settings = this.#readSettings();
    this.#change({});
    void this.#fetchName();
    this.#invite();
  }

  disconnectedCallback(): void {
    document.removeEventListener('voice-agent:expand', this.#onExpand);
    clearTimeout(this.#inviting);
    this.#isThere = false;
    // If the element was only moved, it is connected again at once. If it was removed, its conversation ends.
    queueMicrotask(() => {
      if (!this.isConnected) this.#end();
    });
  }

  attributeChangedCallback(name: string): void {
    if (!this.#isThere) return;
    this.#settings = this.#readSettings();
    if (name === 'agent-id' || name === 'server-url') void this.#fetchName();
    if (name.startsWith('proactive-')) this.#invite();
    this.#change({});
  }

  #actions(): Actions {
    return {
      open: () => this.#open(),
      minimise: () => {
        this.#change({ isOpen: false });
        this.#view.focus();
      },
      dismiss: () => this.#change({ isInviting: false }),
      start: (microphone) => void this.#start(microphone),
      accept: () => {
        if (this.#settings.consent) keepConsent(this.#settings.consent.key);
        this.#change({ stage: 'idle' });
        void this.#start(this.#wantsMicrophone);
      },
      end: () => this.#end(),
      mute: () => {
        this.#session?.setMicMuted(!this.#state.isMuted);
        this.#change({ isMuted: this.#session?.micMuted ?? false });
      },
      say: (text) => this.#session?.sendUserMessage(text, { audio: true }),
      type: () => this.#session?.sendUserActivity(),
      level: () => Math.max(this.#session?.getInputVolume() ?? 0, this.#session?.getOutputVolume() ?? 0),
    };
  }

  #open(): void {
    this.#change({ isOpen: true, isInviting: false });
    this.#view.focus();
  }

  async #start(microphone: boolean): Promise<void> {
    if (isRunning(this.#state)) return;
    if (speaking !== null) return this.#change({ problem: 'otherRunning' });
    this.#wantsMicrophone = microphone;
    const { consent } = this.#settings;
    if (consent && !consentGiven(consent.key)) return this.#change({ stage: 'consent', problem: null });
    speaking = this;
    this.#attempt += 1;
    const attempt = this.#attempt;
    const isCalledOff = () => attempt !== this.#attempt;
    this.#change({
      stage: 'connecting',
      problem: null,
      lines: [],
      isMuted: false,
      hasMicrophone: microphone,
    });
    try {
      const client = await loadClient();
      const options = await this.#options(microphone);
      if (isCalledOff()) return;
      this.#tell('call', { options });
      const session = await client.AgentSession.start(options);
      if (isCalledOff()) return session.end();
      this.#follow(session);
    } catch (error) {
      if (!isCalledOff()) this.#failed(error);
    }
  }

  async #options(microphone: boolean): Promise<StartOptions> {
    const { agentId, dynamicVariables, language, userId, serverUrl } = this.#settings;
    const shared = { microphone, serverUrl: serverUrl ?? ownServer() };
    if (this.sessionTokenProvider) return { ...shared, sessionToken: await this.sessionTokenProvider() };
    if (agentId === null) throw new Error('set the attribute agent-id, or the property sessionTokenProvider');
    return {
      ...shared,
      agentId,
      ...(Object.keys(dynamicVariables).length > 0 ? { dynamicVariables } : {}),
      ...(language === null ? {} : { language }),
      ...(userId === null ? {} : { endUserId: userId }),
    };
  }

  #follow(session: AgentSession): void {
    this.#session = session;
    const showLines = () => this.#change({ lines: session.getTranscript() });
    session.on('userTranscript', showLines);
    session.on('agentResponseDelta', showLines);
    session.on('modeChange', ({ mode }) => this.#change({ mode }));
    session.on('statusChange', ({ status }) => {
      if (status !== 'ended') this.#change({ stage: status });
    });
    session.on('error', (error) => this.#report(problemOf(error)));
    session.on('disconnect', ({ reason }) => this.#over(reason));
    this.#change({ stage: 'connected', mode: session.mode, lines: session.getTranscript() });
    this.#tell('connect', { sessionId: session.sessionId });
    if (session.endReason !== null) this.#over(session.endReason);
  }

  #over(reason: SessionEvents['disconnect']['reason']): void {
    this.#session = null;
    this.#free();
    this.#change({ stage: 'ended', problem: reason === 'connection_lost' ? 'connectionLost' : null });
    this.#tell('disconnect', { reason });
  }

  #failed(error: unknown): void {
    const problem = problemOf(error);
    this.#free();
    this.#change({
      stage: 'idle',
      problem: lacksMicrophone(error) ? 'microphoneMissing' : visitorText(problem),
    });
    this.#report(problem);
  }

  /** Hangs up or cancels a start; does nothing otherwise. */
  #end(): void {
    this.#attempt += 1;
    if (this.#session) this.#session.end();
    else if (this.#state.stage === 'connecting') {
      this.#free();
      this.#change({ stage: 'idle' });
    }
  }

  #free(): void {
    if (speaking === this) speaking = null;
  }

  #invite(): void {
    clearTimeout(this.#inviting);
    const { proactiveMessage, proactiveDelayMs } = this.#settings;
    const invite = () =>
      this.#change({
        isInviting: proactiveMessage !== null && this.#state.stage === 'idle' && !this.#state.isOpen,
      });
    this.#inviting = setTimeout(invite, proactiveMessage === null ? 0 : proactiveDelayMs);
  }

  /** Fetches the agent's name if the page sets none. If this fails, the widget works without it. */
  async #fetchName(): Promise<void> {
    const { agentId, agentName, serverUrl } = this.#settings;
    if (agentId === null || agentName !== null) return;
    try {
      const address = `${serverUrl ?? ownServer()}/v1/agent/agents/${encodeURIComponent(agentId)}/widget`;
      const response = await fetch(address, { credentials: 'omit' });
      const answer = (await response.json()) as { agent_name?: unknown; message?: unknown };
      if (response.ok && typeof answer.agent_name === 'string') this.#fetchedName = answer.agent_name;
      else this.#warn(`${address} answered ${response.status}: ${String(answer.message)}`);
      this.#change({});
    } catch {
      // The error is shown when a call is started: an unreachable server must not prevent the widget from
      // showing.
    }
  }

  #readSettings(): Settings {
    return readSettings(
      (name) => this.getAttribute(name),
      document.baseURI,
      (message) => this.#warn(message),
    );
  }

  #change(change: Partial<WidgetState>): void {
    this.#state = { ...this.#state, ...change };
    if (this.isConnected) this.#view.show(this.#state, this.#surroundings());
  }

  #surroundings(): Surroundings {
    const settings = this.#settings;
    const language = settings.language ?? this.closest<HTMLElement>('[lang]')?.lang ?? navigator.language;
    return {
      settings,
      ...textsIn(language, settings.textContents),
      agentName: settings.agentName ?? this.#fetchedName,
    };
  }

  #tell(name: 'call' | 'connect' | 'disconnect' | 'error', detail: object): void {
    this.dispatchEvent(new CustomEvent(`voice-agent:${name}`, { detail, bubbles: true, composed: true }));
  }

  #report(problem: Problem): void {
    this.#warn(`${problem.code}: ${problem.message}. ${developerHint(problem, location.origin)}`);
    this.#tell('error', problem);
  }

  #warn(message: string): void {
    console.warn(`<voice-agent>: ${message}`);
  }
}
