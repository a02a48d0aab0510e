/** The transfers of one call: starts and counts them, and rejoins caller and person after a failover. */
import { LIMITS } from '#config/limits.ts';
import type { Leg } from '#media/leg/leg.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import { dialogReport } from './dialog-report.ts';
import { JoinedTalk } from './joined-talk.ts';
import { type PhoneLine, startTransfer, type Transfer, type TransferDeps } from './transfer.ts';

/** The transfer the conversation asks for. */
export type TransferWish = Pick<TransferDeps, 'destination' | 'notes'>;

/** Dependencies common to all transfers of a call. */
export interface CallTransfersDeps
  extends Pick<
    TransferDeps,
    'plan' | 'clock' | 'logger' | 'recognizer' | 'synthesizer' | 'within' | 'tell' | 'onRecording'
  > {
  readonly placeCall?: TransferDeps['placeCall'];
  readonly mayTransfer?: NonNullable<TransferDeps['mayTransfer']>;
  readonly findPhones?: NonNullable<TransferDeps['findPhones']>;
  /** Reports the person the caller is talking with. */
  report(report: DurableReport): void;
}

/** The transfers of one call; at most one at a time. */
export class CallTransfers {
  readonly #deps: CallTransfersDeps;
  #current: Transfer | null = null;
  #begun: number;
  #isAbandoned = false;

  /** `begun` counts the transfers an earlier worker started. */
  constructor(deps: CallTransfersDeps, begun: number) {
    this.#deps = deps;
    this.#begun = begun;
  }

  /** True while no transfer is in progress. */
  get isIdle(): boolean {
    return this.#current === null;
  }

  /** Calls the person. Beyond `LIMITS.transfersPerCall` it fails at once. `line` is the caller's dialog. */
  start(caller: Leg, line: PhoneLine | null, wish: TransferWish): void {
    const { findPhones = null, mayTransfer = null, placeCall = null, tell } = this.#deps;
    this.#begun += 1;
    if (this.#begun > LIMITS.transfersPerCall) {
      const message = 'Nobody else can be called in this conversation.';
      tell({ type: 'transfer.finished', isDone: false, message });
      return;
    }
    this.#current = startTransfer({
      ...this.#deps,
      findPhones,
      mayTransfer,
      placeCall,
      ...wish,
      caller,
      line,
      onPerson: (person) =>
        this.#deps.report({
          type: 'person',
          person: person && { dialog: dialogReport(person.dialog), is_joined: person.isJoined },
        }),
    });
  }

  /** Rejoins the caller with the person they were talking with when their worker died. */
  rejoin(caller: Leg, person: Leg): void {
    this.#current = new JoinedTalk({
      caller,
      person,
      onRecording: this.#deps.onRecording,
      onPersonLeft: () => this.#deps.tell({ type: 'transfer.finished', isDone: true, message: '' }),
    });
  }

  /** Forwards a key the caller pressed. */
  press(digit: string): void {
    this.#current?.press(digit);
  }

  /** True once another worker has the call. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** Another worker has the call. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#current?.abandon();
  }

  /** Stops because the caller left or the call ends. Resolves when no more recording follows. */
  async stop(): Promise<void> {
    await this.#current?.stop();
  }
}
