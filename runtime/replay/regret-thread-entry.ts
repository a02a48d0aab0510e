/** The thread that measures the regret of calls, reports what became of each, and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { treatThisThreadAsOthers } from '#base/thread-priority.ts';
import { regretOfCall } from './regret/regret-of-call.ts';
import type { RegretRequest } from './replay-request.ts';

treatThisThreadAsOthers();

const { calls } = workerData as RegretRequest;
parentPort?.postMessage({ calls: calls.map(regretOfCall) });
