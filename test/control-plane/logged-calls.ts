/** Calls of an agent with their flight logs, for tests: sent as a worker sends them. */
import { type PlainHead, packUploads, type Upload } from '#protocol/uploads.ts';
import type { TestCalls } from './test-calls.ts';

/** A worker sends a longer log in several requests. */
const PIECE_BYTES = 512 * 1024;

/** Sends uploads with the token of workers, or another one. */
export function putUploads(
  { app, context }: TestCalls,
  uploads: readonly Upload<object>[],
  { url = '/internal/uploads', token = context.credentials.workerToken } = {},
) {
  return app.inject({
    method: 'POST',
    url,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
    payload: packUploads(uploads),
  });
}

/** A call by the web, which the caller has joined; it begins later than those before it. */
export async function begunCall(
  api: TestCalls,
  key: string,
  body: { readonly agent_id: string; readonly end_user_id?: string },
): Promise<string> {
  await api.clock.advance(1);
  const created = await api.request('POST', '/v1/agent/sessions', { key, body });
  const id: string = created.body.session_id;
  await api.report(id, { type: 'joined', at: api.at() });
  return id;
}

/** Ends a call that has this flight log, or none. Throws if the log is refused. */
export async function endCall(api: TestCalls, id: string, log: string | null): Promise<void> {
  await sendLog(api, id, log ?? '');
  await api.report(id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
}

/** Sends the flight log of a call. Throws if it is refused. */
export async function sendLog(api: TestCalls, id: string, log: string): Promise<void> {
  const bytes = Buffer.from(log);
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    const chunk = at / PIECE_BYTES;
    const head = { type: 'flight_log', session_id: id, epoch: 1, chunk } satisfies PlainHead;
    const { payload } = await putUploads(api, [{ head, bytes: bytes.subarray(at, at + PIECE_BYTES) }]);
    if (JSON.parse(payload).refused?.length !== 0) throw new Error(`not stored: ${payload}`);
  }
}
