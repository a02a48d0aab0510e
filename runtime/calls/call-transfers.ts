/** The transfers of one call: starts each, counts them, and joins caller and person again after a failover. */
import { LIMITS } from '#config/limits.ts';
import type { Leg } from '#media/leg/leg.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import { dialogReport } from './dialog-report.ts';
import { JoinedTalk } from './joined-talk.ts';
import { type PhoneLine, startTransfer, type Transfer, type TransferDeps } from './transfer.ts';

/** A person the caller is transferred to, as the conversation asks for it. */
export type TransferWish = Pick<TransferDeps, 'destination' | 'notes'>;

/** What transfers are made with, whoever is called. */
export interface CallTransfersDeps
  extends Pick<
    TransferDeps,
    'plan' | 'clock' | 'logger' | 'recognizer' | 'synthesizer' | 'within' | 'tell' | 'onRecording'
  > {
  readonly placeCall?: TransferDeps['placeCall'];
  readonly mayTransfer?: NonNullable<TransferDeps['mayTransfer']>;
  /** Reports whom the caller is talking with. */
  report(report: DurableReport): void;
}

/** The transfers of one call; at most one is under way. */
export class CallTransfers {
  readonly #deps: CallTransfersDeps;
  #current: Transfer | null = null;
  #begun: number;

  /** `begun` counts those that an earlier worker began. */
  constructor(deps: CallTransfersDeps, begun: number) {
    this.#deps = deps;
    this.#begun = begun;
  }

  /** True while nobody else has been called. */
  get isIdle(): boolean {
    return this.#current === null;
  }

  /** Calls the person; beyond `LIMITS.transfersPerCall` it fails at once. `line` is the caller's dialog. */
  start(caller: Leg, line: PhoneLine | null, wish: TransferWish): void {
    const { mayTransfer = null, placeCall = null, tell } = this.#deps;
    this.#begun += 1;
    if (this.#begun > LIMITS.transfersPerCall) {
      const message = 'Nobody else can be called in this conversation.';
      tell({ type: 'transfer.finished', isDone: false, message });
      return;
    }
    this.#current = startTransfer({
      ...this.#deps,
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

  /** Joins the caller again with the person they talked with when their worker died. */
  rejoin(caller: Leg, person: Leg): void {
    this.#current = new JoinedTalk({
      caller,
      person,
      onRecording: this.#deps.onRecording,
      onPersonLeft: () => this.#deps.tell({ type: 'transfer.finished', isDone: true, message: '' }),
    });
  }

  /** Hands on a key the caller pressed. */
  press(digit: string): void {
    this.#current?.press(digit);
  }

  /** The caller is gone, or the call ends. Resolves when no recording follows. */
  async stop(): Promise<void> {
    await this.#current?.stop();
  }
}
