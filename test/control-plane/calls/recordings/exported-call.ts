/** An API with an ended call of which everything is stored, and a key that may export it. */
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { encodeFlac } from '#media/speech/audio/flac-encoder.ts';
import { joinPieces } from '#protocol/join-pieces.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { PieceHead, PlainHead, Upload } from '#protocol/uploads.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import type { Piece } from '#runtime/link/uploads.ts';
import { CallStretches } from '#runtime/worker/call-stretches.ts';
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

  /** A call that has been joined; `isEarlier`: an earlier version, which had no chains, has created it. */
  async begin(body: Record<string, unknown> = {}, isEarlier = false): Promise<string> {
    const created = await this.api.request('POST', '/v1/agent/sessions', {
      key: this.user.key,
      body: { agent_id: this.#agentId, ...body },
    });
    const id: string = created.body.session_id;
    const { sessions } = this.api.context.models;
    if (isEarlier) await sessions.updateOne({ _id: id }, { $unset: { chain_head: 1 } });
    await this.api.report(id, { type: 'joined', at: this.api.at() });
    return id;
  }

  async end(id: string): Promise<void> {
    await this.api.report(id, { type: 'ended', at: this.api.at(2_000), end_reason: 'user_hangup' });
  }

  /**
   * A simulated call with two seconds of both sides, a hostile transcript and its flight log. The sound of
   * the agent comes as from a worker of an earlier version, which names no stretches.
   */
  async make(seed = 1): Promise<string> {
    const id = await this.begin({ end_user_id: 'guest-17', metadata: { order: HOSTILE } });
    const log = Buffer.from(await storedLog(seed));
    const middle = log.indexOf('\n', log.length / 2) + 1;
    await this.store(
      id,
      [
        this.#chunk(id, 0, log.subarray(0, middle)),
        this.#chunk(id, 1, log.subarray(middle)),
        this.sound(id, 0),
        this.sound(id, 1),
      ],
      this.#said(),
    );
    await this.#put('/internal/uploads', [{ head: this.#plain(id), bytes: Buffer.alloc(2 * SECOND * 2, 1) }]);
    await this.end(id);
    return id;
  }

  /** As `make`, begun and stored by an earlier version, in which nothing was signed while a call ran. */
  async makeEarlier(seed = 1): Promise<string> {
    const id = await this.begin({ end_user_id: 'guest-17', metadata: { order: HOSTILE } }, true);
    await this.api.report(id, { type: 'items', items: this.#said() });
    const head = { type: 'flight_log', session_id: id, epoch: 1, chunk: 0 } satisfies PlainHead;
    await this.#put('/internal/uploads', [
      { head, bytes: Buffer.from(await storedLog(seed)) },
      { head: this.#plain(id), bytes: Buffer.alloc(2 * SECOND * 2, 1) },
    ]);
    await this.end(id);
    return id;
  }

  /** Stores pieces as a worker does, in objects, and names them in a report with these words. */
  async store(
    id: string,
    pieces: readonly Piece[],
    items: readonly SessionItem[] = [],
    replica: Pick<TestCalls, 'report'> = this.api,
  ): Promise<void> {
    const reports: DurableReport[] = [];
    const packed: Upload[] = [];
    const stretches = new CallStretches({
      clock: this.api.clock,
      uploads: {
        put: (piece, onPacked) => {
          const upload = packedPiece(piece);
          packed.push(upload);
          onPacked?.(upload.bytes);
        },
      },
      report: (report) => reports.push(report),
    });
    for (const piece of pieces) stretches.put(piece);
    await setImmediate();
    stretches.report({ type: 'items', items: [...items] });
    await stretches.close();
    await this.storeUnnamed(packed);
    for (const report of reports) await replica.report(id, report);
  }

  /** Stores pieces that are packed; no report names them. */
  async storeUnnamed(packed: readonly Upload[]): Promise<void> {
    await this.#put('/internal/pieces', joinPieces(packed));
  }

  /** A second of the caller. */
  sound(id: string, segment: number, epoch = 1): Piece {
    const samples = tone(SECOND, segment * SECOND);
    const start_ms = this.api.clock.wallTime() + segment * 1_000;
    return {
      head: { type: 'recording', session_id: id, epoch, track: 'user', segment, start_ms, rate_hz: RATE_HZ },
      bytes: new Uint8Array(samples.buffer),
    };
  }

  #chunk(id: string, chunk: number, bytes: Uint8Array): Piece {
    return { head: { type: 'flight_log', session_id: id, epoch: 1, chunk }, bytes };
  }

  #said(): SessionItem[] {
    const said = (role: 'user' | 'assistant', content: string, turn: number): SessionItem => ({
      type: 'message',
      role,
      content,
      turn_id: turn,
      created_at: this.api.at(turn * 100),
      id: `m${turn}`,
    });
    return [said('user', 'When do you open?', 1), said('assistant', 'At noon.', 2), said('user', HOSTILE, 3)];
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

  async #put(url: string, uploads: readonly Upload<object>[]): Promise<void> {
    const { statusCode, payload } = await putUploads(this.api, uploads, { url });
    if (statusCode !== 200) throw new Error(`not stored: ${payload}`);
  }
}

/** A piece as its worker compresses and sends it. */
export function packedPiece({ head, bytes }: Piece): Upload {
  const { session_id, epoch } = head;
  const of = { session_id, epoch, object: 0, pieces: 1, is_part: true };
  if (head.type === 'flight_log') {
    const log: PieceHead = { type: 'log', ...of, piece: head.chunk };
    return { head: log, bytes: gzipSync(bytes) };
  }
  const samples = new Int16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2);
  const { track, segment: piece, start_ms, rate_hz } = head;
  return {
    head: { type: 'audio', ...of, piece, track, start_ms, rate_hz, samples: samples.length },
    bytes: encodeFlac(samples, rate_hz, piece * samples.length),
  };
}

function tone(samples: number, from: number): Int16Array {
  return Int16Array.from({ length: samples }, (_, at) => 8_000 * Math.sin((from + at) / 9));
}
