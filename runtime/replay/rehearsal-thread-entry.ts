/** The thread that runs calls again under an agent's draft, reports what became of each, and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { treatThisThreadAsOthers } from '#base/thread-priority.ts';
import { rehearseCall } from './rehearsal/rehearse-call.ts';
import type { RehearsalRequest } from './replay-request.ts';

treatThisThreadAsOthers();

const { calls } = workerData as RehearsalRequest;
parentPort?.postMessage({ calls: calls.map(rehearseCall) });
