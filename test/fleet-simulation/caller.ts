/** One caller of the fleet: calls, talks, hangs up; a browser reconnects by itself. */

import { sessionDraft } from '#control-plane/calls/sessions/new-session.ts';
import { assignSession, placeSession } from '#control-plane/calls/sessions/place-session.ts';
import { loadSession } from '#control-plane/calls/sessions/session-store.ts';
import type { Context } from '#control-plane/platform/context.ts';
import type { AgentDocument } from '#control-plane/platform/store/models/agent-model.ts';
import type { VersionDocument } from '#control-plane/platform/store/models/version-model.ts';
import { isLive } from '#control-plane/platform/store/session-status.ts';
import { testPlan, WEB } from '#test/runtime/test-plan.ts';
import type { Random } from '../simulation/random.ts';
import type { SimulatedClock } from '../simulation/simulated-clock.ts';
import type { ControlPlaneProcess } from './control-plane-process.ts';
import type { CallScript } from './scripted-call.ts';
import type { SignallingProcess } from './signalling-process.ts';
import type { WorkerProcess } from './worker-process.ts';

/** The account that pays for calls. */
export const ACCOUNT = 'account';
/** Signalling refuses a caller after this long without an answer. */
const ADMISSION_MS = 12_000;
/** A browser tries to connect this often, and notices this late that nothing is heard. */
const RETRY_MS = 1_000;
const SILENCE_MS = 3_000;

const AGENT = { _id: 'agent', team_id: 'team', workspace_id: 'workspace', name: 'Agent' } as AgentDocument;
const VERSION = {
  _id: 'version',
  config_hash: '',
  config: { webhooks: { post_call: [{ url: 'https://example.com/hook' }] } },
  secrets: { post_call: [] },
} as unknown as VersionDocument;
const PLANS = { phone: testPlan(), web: testPlan({}, WEB) };

/** What a caller is going to do. */
export interface CallerPlan {
  readonly sessionId: string;
  /** Who pays; absent: the one account. */
  readonly account?: string;
  readonly atMs: number;
  /** How long they stay once connected. */
  readonly staysMs: number;
  readonly script: CallScript;
}

/** The fleet as a caller reaches it. */
export interface Reach {
  readonly clock: SimulatedClock;
  readonly random: Random;
  /** A control plane that a load balancer would choose. */
  controlPlane(): ControlPlaneProcess | null;
  /** The signalling server that a carrier would choose. */
  signalling(): SignallingProcess | null;
  workerOf(instanceId: string): WorkerProcess | null;
}

/** A caller and what is true about their call, whatever the database says. */
export class Caller {
  readonly plan: CallerPlan;
  readonly #reach: Reach;
  state: 'waiting' | 'refused' | 'connected' | 'left' = 'waiting';
  /** The worker whose agent they hear. */
  holder: WorkerProcess | null = null;
  /** Time of the first word, ms of the world's clock. */
  connectedMs: number | null = null;
  /** Last time at which their worker lived and had the call, or noticed that they had left, ms. */
  servedMs = 0;
  /** Last time at which a control plane could prove that, ms. */
  provenMs = 0;
  /** Since when the database could know of the call, ms; null: from the next connection. */
  provableFromMs: number | null = null;
  connections = 0;
  #offers = 0;
  /** The offer of the browser that waits for its answer. */
  #offered: string | null = null;

  constructor(plan: CallerPlan, reach: Reach) {
    this.plan = plan;
    this.#reach = reach;
  }

  /** They wait for an answer, or talk. */
  get isThere(): boolean {
    return this.state === 'waiting' || this.state === 'connected';
  }

  /** Their agent can be heard. */
  get isServed(): boolean {
    const { sessionId } = this.plan;
    return this.holder?.speaks(sessionId) === true && this.holder.isTalking(sessionId);
  }

  /** A worker holds their line, though it may be paused or, cut off, silent. */
  get isHeld(): boolean {
    return this.holder?.process.isAlive === true && this.holder.hasCall(this.plan.sessionId);
  }

  /** Calls; resolves or gives up by itself. */
  call(): void {
    const isPhone = this.plan.script.channel === 'phone';
    const controlPlane = this.#reach.controlPlane();
    const server = isPhone ? this.#reach.signalling() : null;
    if (!controlPlane || (isPhone && !server)) {
      this.state = 'refused';
      return;
    }
    const { clock } = this.#reach;
    const timeout = clock.after(ADMISSION_MS, () => {
      if (this.state === 'waiting') this.state = 'refused';
    });
    controlPlane.process.enter(() => {
      this.#open(controlPlane.context, server).then(
        (instanceId) => {
          if (server) clock.after(20, () => this.#invite(instanceId, server));
          else {
            timeout.cancel();
            this.#connectBrowser();
          }
        },
        () => {
          this.state = 'refused';
        },
      );
    });
  }

  /** A worker answers: true if the caller is there and hears it from now on. */
  connect(worker: WorkerProcess, offer?: string): boolean {
    if (!this.isThere) return false;
    // The browser has given this offer up, as when the worker was paused.
    if (offer !== undefined && offer !== this.#offered) return false;
    if (this.state === 'waiting') {
      this.state = 'connected';
      this.connectedMs = this.#reach.clock.now();
      this.#reach.clock.after(this.plan.staysMs, () => this.#leave());
    }
    this.provableFromMs ??= this.#reach.clock.now();
    this.holder = worker;
    this.connections += 1;
    return true;
  }

  /** Their agent has hung up. */
  hungUp(): void {
    if (this.state === 'connected') this.state = 'left';
  }

  #leave(): void {
    if (this.state !== 'connected') return;
    this.hungUp();
    const { holder } = this;
    holder?.process.enter(() => {
      this.servedMs = this.#reach.clock.now();
      holder.callerLeft(this.plan.sessionId);
    });
  }

  async #open(context: Context, server: SignallingProcess | null): Promise<string> {
    const { sessionId, script, account = ACCOUNT } = this.plan;
    const isPhone = script.channel === 'phone';
    const plan = { ...PLANS[script.channel], session_id: sessionId };
    const draft = sessionDraft(context, {
      sessionId,
      agent: AGENT,
      version: VERSION,
      share: null,
      userId: account,
      channel: plan.channel,
      source: isPhone ? 'phone' : 'api_key',
      direction: 'inbound',
      isPreview: false,
      name: null,
      timezone: null,
      endUserId: null,
      metadata: {},
      callerNumber: null,
      dialedNumber: null,
      sipCallId: isPhone ? `call-${sessionId}` : null,
      recordAudio: false,
      tokenHash: null,
    });
    const route = server && { workerTags: server.tags(), server: server.name };
    const placed = await placeSession(context, draft, {
      kind: script.channel,
      plan,
      ...(route && { route }),
    });
    await assignSession(context, placed, plan);
    return placed.placement.instanceId;
  }

  #invite(instanceId: string, server: SignallingProcess): void {
    const worker = this.#reach.workerOf(instanceId);
    const refused = () => {
      if (this.state === 'waiting') this.state = 'refused';
    };
    if (!worker?.process.isAlive || !server.tags().includes(instanceId)) refused();
    else worker.process.enter(() => worker.invite(`call-${this.plan.sessionId}`, refused));
  }

  /** Offers a connection to any control plane until the session is over. */
  #connectBrowser(): void {
    if (!this.isThere) return;
    const { clock } = this.#reach;
    const again = () => clock.after(RETRY_MS, () => this.#connectBrowser());
    if (this.isServed) {
      clock.after(SILENCE_MS, () => this.#connectBrowser());
      return;
    }
    const controlPlane = this.#reach.controlPlane();
    if (!controlPlane) again();
    else
      controlPlane.process.enter(() => {
        this.#offer(controlPlane.context).then((isOver) => {
          if (isOver) this.hungUp();
          else again();
        }, again);
      });
  }

  /** True when the session is over. */
  async #offer(context: Context): Promise<boolean> {
    const session = await loadSession(context, this.plan.sessionId);
    if (!session || !isLive(session.status)) return true;
    const { worker, epoch, _id } = session;
    if (!worker) return false;
    const offer = `offer ${++this.#offers}`;
    this.#offered = offer;
    await context.dispatch.offerWebrtc(worker.instance_id, { sessionId: _id, epoch }, offer).finally(() => {
      if (this.#offered === offer) this.#offered = null;
    });
    return false;
  }
}
