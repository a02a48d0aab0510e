/** What the fleet has written down about its calls: sessions, wallet and webhooks. */
import type { WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { findFlaws } from '../journeys/stored-books.ts';
import type { Fleet } from './fleet.ts';

const SETTLED_WITHIN_MS = 200_000;
const PAGE = 100;

/** The books of a fleet that has stopped. */
export interface Books {
  readonly sessions: number;
  /** Sessions that did not end with their caller's hang-up, and how. */
  readonly dropped: readonly string[];
  /** Sessions that another worker took over after the loss of theirs. */
  readonly takenOver: number;
  /** Sessions whose end was not reported to the tenant. */
  readonly unreported: number;
  /** Reports that came more than once. */
  readonly repeated: number;
  /** Errors of sessions, ledger and deliveries; empty if everything was settled and charged once. */
  readonly flaws: readonly string[];
}

/** A session as listed. */
interface Listed {
  readonly session_id: string;
  readonly status: string;
  readonly end_reason: string | null;
}

/** Waits until all sessions are over and reported, stops the fleet and reads its books. */
export async function closeBooks(fleet: Fleet, tenant: WebhookReceiver): Promise<Books> {
  const reports = () =>
    tenant.received.filter(({ body }) => body.event === 'call.ended').map(({ body }) => body.session.id);
  const list = async (): Promise<Listed[]> =>
    (await fleet.ask('GET', `/v1/agent/sessions?page_size=${PAGE}`)).sessions;
  const isOver = async () => {
    const sessions = await list();
    const reported = new Set(reports());
    return sessions.every(
      ({ status, session_id: id }) => ['completed', 'failed'].includes(status) && reported.has(id),
    );
  };
  const deadlineMs = performance.now() + SETTLED_WITHIN_MS;
  while (!(await isOver().catch(() => false)) && performance.now() < deadlineMs)
    await new Promise((done) => setTimeout(done, 500));
  const sessions = await list();
  const whole = await Promise.all(
    sessions.map(({ session_id: id }) => fleet.ask('GET', `/v1/agent/sessions/${id}`)),
  );
  const verified = (await fleet.ask('GET', '/admin/wallets/verify')).flaws;
  await fleet.stop();
  const reported = reports();
  return {
    sessions: sessions.length,
    dropped: sessions
      .filter(({ status, end_reason: reason }) => `${status} ${reason}` !== 'completed user_hangup')
      .map(({ session_id: id, status, end_reason: reason }) => `${id}: ${status}, ${reason}`),
    takenOver: whole.filter(({ takeovers }) => takeovers.length > 0).length,
    unreported: sessions.filter(({ session_id: id }) => !reported.includes(id)).length,
    repeated: reported.length - new Set(reported).size,
    flaws: [
      ...verified.map((flaw: unknown) => `wallet ${JSON.stringify(flaw)}`),
      ...(await findFlaws(fleet.dataDir)),
    ],
  };
}
