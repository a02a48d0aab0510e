/** The conversation of one call on one worker, from a script: what the turn loop would report. */
import { randomUUID } from 'node:crypto';
import type { EndReason } from '#protocol/session-record.ts';
import type { DurableReport, ReportedDialog } from '#protocol/worker-link.ts';
import type { Move } from '#runtime/turn/machine/moving-call.ts';
import type { Job } from '#runtime/worker/job-table.ts';
import type { Random } from '../simulation/random.ts';
import type { VirtualProcess } from './virtual-process.ts';

/** What a call does. */
export interface CallScript {
  readonly channel: 'phone' | 'web';
  /** It reports nothing while it goes on, as a call transferred to a person. */
  readonly isQuiet: boolean;
  /** The agent hangs up after this time, ms; null: the caller does. */
  readonly agentEndsAfterMs: number | null;
  /** From a reply to the caller's next turn, ms; absent: a few seconds. */
  readonly turnAfterMs?: number;
}

/** What it needs of its worker. */
export interface CallHost {
  readonly process: VirtualProcess;
  readonly random: Random;
  report(report: DurableReport): void;
  live(text: string, isFinal: boolean): void;
  /** How another worker could take it from now on. */
  onMove(move: Move): void;
  /** It has ended: its dialog is closed and its slot free. */
  onEnded(reason: EndReason): void;
}

/** A caller who is not connected within this time does not come. */
const JOIN_MS = 20_000;
/** As in the product's calls: a caller who does not return to the next worker has left with the last one. */
const RETURN_MS = 10_000;

/** A call in progress. */
export class ScriptedCall {
  readonly #host: CallHost;
  readonly #script: CallScript;
  /** When the worker before was lost; null for a call that begins here. */
  readonly #lostAt: string | null;
  #hasJoined: boolean;
  #hasCaller = false;
  #isOver = false;
  #turn = 0;

  constructor(host: CallHost, script: CallScript, lostAt: string | null) {
    this.#host = host;
    this.#script = script;
    this.#lostAt = lostAt;
    this.#hasJoined = lostAt !== null;
    host.process.after(lostAt === null ? JOIN_MS : RETURN_MS, () => {
      if (!this.#hasCaller) this.end('heartbeat_timeout');
    });
  }

  /** True while agent and caller hear each other. */
  get isTalking(): boolean {
    return this.#hasCaller && !this.#isOver;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The caller is connected. */
  attach(): void {
    if (this.#isOver || this.#hasCaller) return;
    this.#hasCaller = true;
    this.#host.report({ type: 'joined', at: this.#wallTime() });
    this.#hasJoined = true;
    this.#host.onMove('unnoticed');
    const { agentEndsAfterMs } = this.#script;
    if (agentEndsAfterMs !== null) this.#host.process.after(agentEndsAfterMs, () => this.end('agent_hangup'));
    if (!this.#script.isQuiet) this.#scheduleTurn();
  }

  end(reason: EndReason): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#host.onMove('never');
    const { report } = this.#host;
    const startedAt = this.#wallTime();
    const track = {
      role: 'agent',
      segments: 1,
      rate_hz: 8_000,
      started_at: startedAt,
      duration_ms: 1,
    } as const;
    report({ type: 'recording', tracks: [track] });
    const at = this.#hasCaller || this.#lostAt === null ? this.#wallTime() : this.#lostAt;
    report({ type: 'ended', at, end_reason: this.#hasJoined ? reason : 'cancelled' });
    this.#host.onEnded(reason);
  }

  /** Stops without a word, because another worker has the call. */
  drop(): void {
    this.#isOver = true;
    this.#host.onMove('never');
  }

  #wallTime(): string {
    return new Date(this.#host.process.wallTime()).toISOString();
  }

  #scheduleTurn(): void {
    const { process, random } = this.#host;
    process.after(this.#script.turnAfterMs ?? random.between(2_000, 7_000), () => {
      if (this.#isOver) return;
      this.#turn += 1;
      const text = `turn ${this.#turn} ${randomUUID()}`;
      this.#host.onMove('noticed');
      this.#host.live(text.slice(0, 4), false);
      this.#report('user', text);
      process.after(random.between(300, 1_500), () => {
        if (this.#isOver) return;
        this.#report('assistant', `reply ${text}`);
        this.#host.live(text, true);
        this.#host.report({
          type: 'usage',
          turn_id: this.#turn,
          model: 'test/model',
          input_tokens: 1,
          cached_input_tokens: null,
          output_tokens: 1,
          discarded_output_tokens: 0,
        });
        this.#host.onMove('unnoticed');
        this.#scheduleTurn();
      });
    });
  }

  #report(role: 'user' | 'assistant', content: string): void {
    const item = {
      type: 'message',
      role,
      content,
      turn_id: this.#turn,
      created_at: this.#wallTime(),
    } as const;
    this.#host.report({ type: 'items', items: [{ ...item, id: randomUUID() }] });
  }
}

/** How the dialog of a call could go on with another worker; `contact` is the address of this one. */
export function dialogOf(
  { sessionId, epoch }: Pick<Job, 'sessionId' | 'epoch'>,
  contact: string,
): ReportedDialog {
  return {
    sip_call_id: `call-${sessionId}`,
    local_tag: 'local',
    remote_tag: 'remote',
    local_party: '<sip:agent@parley>;tag=local',
    remote_party: '<sip:caller@carrier>;tag=remote',
    route_set: [],
    local_cseq: epoch,
    remote_target: 'sip:caller@carrier',
    local_contact: `sip:${contact}`,
    local_sdp: '',
    remote_sdp: '',
  };
}
