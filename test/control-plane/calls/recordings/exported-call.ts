/** An API with an ended call of which everything is stored, and a key that may export it. */
import { encodeFlac } from '#media/speech/audio/flac-encoder.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { AudioHead, PlainHead, Upload } from '#protocol/uploads.ts';
import { storedLog } from '../../../runtime/replay/logged-call.ts';
import { putUploads } from '../../logged-calls.ts';
import type { TestResponse, TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const RATE_HZ = 8_000;
const SECOND = RATE_HZ;

/** What a caller may say to break out of a page. */
export const HOSTILE =
  '</script><script>document.title = "taken"</script><img src=x onerror="document.title = 1"> <!-- "\u2028';

/** Calls to export. */
export class ExportedCalls {
  readonly api: TestCalls;
  readonly user: TestUser;
  /** May export calls. */
  readonly key: string;
  readonly #agentId: string;

  private constructor(api: TestCalls, user: TestUser, key: string, agentId: string) {
    this.api = api;
    this.user = user;
    this.key = key;
    this.#agentId = agentId;
  }

  static async open(environment: Record<string, string> = {}): Promise<ExportedCalls> {
    const api = await openTestCalls(environment);
    const user = await api.createUser();
    const { body } = await api.request('POST', '/admin/keys', {
      key: api.rootKey,
      body: { user_id: user.userId, name: 'exports', may_export_calls: true },
    });
    return new ExportedCalls(api, user, body.api_key, await api.publishAgent(user));
  }

  /** A call that has been joined. */
  async begin(body: Record<string, unknown> = {}): Promise<string> {
    const created = await this.api.request('POST', '/v1/agent/sessions', {
      key: this.user.key,
      body: { agent_id: this.#agentId, ...body },
    });
    const id: string = created.body.session_id;
    await this.api.report(id, { type: 'joined', at: this.api.at() });
    return id;
  }

  async end(id: string): Promise<void> {
    await this.api.report(id, { type: 'ended', at: this.api.at(2_000), end_reason: 'user_hangup' });
  }

  /** A simulated call with two seconds of both sides, a hostile transcript and its flight log. */
  async make(seed = 1): Promise<string> {
    const id = await this.begin({ end_user_id: 'guest-17', metadata: { order: HOSTILE } });
    const said = (role: 'user' | 'assistant', content: string, turn: number): SessionItem => ({
      type: 'message',
      role,
      content,
      turn_id: turn,
      created_at: this.api.at(turn * 100),
      id: `m${turn}`,
    });
    const items = [
      said('user', 'When do you open?', 1),
      said('assistant', 'At noon.', 2),
      said('user', HOSTILE, 3),
    ];
    await this.api.report(id, { type: 'items', items });
    const log = Buffer.from(await storedLog(seed));
    await this.#put('/internal/uploads', [
      { head: { type: 'flight_log', session_id: id, epoch: 1, chunk: 0 } satisfies PlainHead, bytes: log },
      { head: this.#plain(id), bytes: Buffer.alloc(2 * SECOND * 2, 1) },
    ]);
    await this.#put('/internal/pieces', [
      { head: this.#flac(id), bytes: encodeFlac(tone(2 * SECOND), RATE_HZ) },
    ]);
    await this.end(id);
    return id;
  }

  export(id: string, redact: readonly string[] = [], key = this.key): Promise<TestResponse> {
    return this.api.request('POST', `/v1/agent/sessions/${id}/call-file`, { key, body: { redact } });
  }

  /** The text of a file. Throws if it is refused. */
  async fileOf(id: string, redact: readonly string[] = []): Promise<string> {
    const { status, text } = await this.export(id, redact);
    if (status !== 200) throw new Error(`not exported: ${text}`);
    return text;
  }

  /** As workers one version older send it, uncompressed. */
  #plain(id: string): PlainHead {
    const start_ms = this.api.clock.wallTime();
    const of = { session_id: id, epoch: 1, track: 'agent', segment: 0 } as const;
    return { type: 'recording', ...of, start_ms, rate_hz: RATE_HZ };
  }

  #flac(id: string): AudioHead {
    return {
      type: 'audio',
      session_id: id,
      epoch: 1,
      object: 0,
      piece: 0,
      pieces: 1,
      is_part: false,
      track: 'user',
      start_ms: this.api.clock.wallTime(),
      rate_hz: RATE_HZ,
      samples: 2 * SECOND,
    };
  }

  async #put(url: string, uploads: readonly Upload<object>[]): Promise<void> {
    const { statusCode, payload } = await putUploads(this.api, uploads, { url });
    if (statusCode !== 200) throw new Error(`not stored: ${payload}`);
  }
}

function tone(samples: number): Int16Array {
  return Int16Array.from({ length: samples }, (_, at) => 8_000 * Math.sin(at / 9));
}
