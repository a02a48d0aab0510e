/**
 * Entry point of the process with the scripted workers and their callers. A call is admitted as signalling
 * asks for it, and its INVITE goes to the worker that the answer names.
 */
import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { admissionAnswer } from '#protocol/sip-admission.ts';
import { createPacker } from '#runtime/link/packer.ts';
import { ScriptedWorker, SIP_SERVER } from './scripted-worker.ts';

/** Job of this process. */
export interface FleetJob {
  readonly url: string;
  readonly token: string;
  readonly number: string;
  readonly spoolRoot: string;
  readonly workers: number;
  /** Calls at the same time. */
  readonly calls: number;
  readonly callMs: number;
}

/** Counts since the process began, answered to each message after the job. */
export interface FleetCounts {
  readonly live: number;
  readonly begun: number;
  readonly ended: number;
  /** Refusals and failures, with their number. */
  readonly troubles: readonly (readonly [string, number])[];
  /** Times of the answers to admissions since the last message, ms. */
  readonly admissionMs: readonly number[];
}

/** Free slots beyond the calls, for analyses and calls that overlap. */
const SPARE = 1.3;
/** Free slots of each worker besides: a few calls more are many for a small fleet. */
const SPARE_SLOTS = 3;

process.once('message', (job: FleetJob) => void run(job));
process.on('disconnect', () => process.exit(0));

async function run(job: FleetJob): Promise<void> {
  const logger = createLogger({ level: 'error', format: 'json', name: 'bench' });
  const capacity = Math.ceil((job.calls * SPARE) / job.workers) + SPARE_SLOTS;
  const packer = createPacker();
  const workers = await Promise.all(
    Array.from({ length: job.workers }, () => ScriptedWorker.open({ ...job, logger, packer, capacity })),
  );
  while (!workers.every(({ isConnected }) => isConnected))
    await new Promise((resolve) => setTimeout(resolve, 50));
  const byTag = new Map(workers.map((worker) => [worker.tag, worker]));
  const pool = new Pool(job.url, { connections: 50 });
  const refused = new Map<string, number>();
  let admissionMs: number[] = [];
  let live = 0;
  let begun = 0;

  async function call(): Promise<void> {
    const callId = randomUUID();
    const startMs = performance.now();
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: '/internal/sip/admit',
      headers: { authorization: `Bearer ${job.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        call_id: callId,
        from_user: '+15550100001',
        to_user: job.number,
        source_address: '127.0.0.1',
        source_port: 5_060,
        transport: 'udp',
        headers: {},
        is_local: true,
        worker_tags: [...byTag.keys()],
        server: SIP_SERVER,
      }),
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${statusCode} ${text}`);
    const answer = admissionAnswer.parse(JSON.parse(text));
    if (answer.action === 'reject') throw new Error(`${answer.data.status} ${answer.data.reason}`);
    admissionMs.push(performance.now() - startMs);
    live += 1;
    begun += 1;
    await byTag
      .get(answer.data.tag)
      ?.invite(callId)
      .finally(() => {
        live -= 1;
      });
  }

  async function callUntilStopped(): Promise<void> {
    const startMs = performance.now();
    for (let index = 0; ; index++) {
      const dueMs = startMs + (index * job.callMs) / job.calls;
      await systemClock.sleep(Math.max(0, dueMs - performance.now()));
      call().catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        refused.set(reason, (refused.get(reason) ?? 0) + 1);
      });
    }
  }

  void callUntilStopped();
  process.send?.('connected');
  process.on('message', () => {
    const ended = workers.reduce((sum, worker) => sum + worker.ended, 0);
    const troubles = [...refused, ...workers.flatMap((worker) => [...worker.troubles])];
    process.send?.({ live, begun, ended, troubles, admissionMs } satisfies FleetCounts);
    admissionMs = [];
  });
}
