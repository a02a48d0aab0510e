/**
 * `npm run scene:operator`: what a new operator does by the documentation, for real. Three machines run the
 * parts with the chart's settings; a phone outside calls; the worker of its call is drained while it talks;
 * somebody joins a room; Prometheus' engine answers every query of the dashboards and alerts. Prints each
 * command and what was seen, and exits with 1 if something is missing. `-- --logs` also prints the parts.
 * Needs root, tini, baresip, redis-server, livekit-server, render-chart and parley-rule-check (.ci/).
 */
import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { dispose } from '@livekit/rtc-node';
import { voicedSeconds } from '#caller/voiced.ts';
import { openLink } from '#test/fakes/link.ts';
import { LivekitCaller } from '#test/fakes/livekit-caller.ts';
import { startS3Server } from '#test/fakes/s3-server.ts';
import { openWebhookReceiver, type WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { runInNamespaces } from '../fleet-scene/namespaces.ts';
import { OUTSIDE, openNetwork } from '../fleet-scene/network.ts';
import { callWithBaresip } from '../journeys/baresip-caller.ts';
import { QUESTION } from '../journeys/microphone.ts';
import { describePanels, pendingAlerts, problemsOf } from './judge.ts';
import { Machines, METRICS_TOKEN, type Pod, SIP_PORT } from './machines.ts';
import { Prometheus } from './prometheus.ts';

const NEEDED = ['tini', 'render-chart', 'baresip', 'redis-server', 'livekit-server', 'parley-rule-check'];
const NUMBER = '+15550100000';
/**
 * Seconds of silence around the questions: the worker is drained after the first. The last one is what a rate
 * sees of metrics that begin with the second, at the other control plane.
 */
const MICROPHONE = [4, QUESTION, 22, QUESTION, 12, QUESTION, 12] as const;
const ROOM_MS = 8_000;
const WITHIN_MS = 60_000;
/** For the last reports, and for what is read from the database every ten seconds. */
const SETTLES_MS = 15_000;
const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);
const problems: string[] = [];

await runInNamespaces(NEEDED, scene);

async function scene(): Promise<void> {
  const network = openNetwork();
  const tenant = await openWebhookReceiver();
  const s3 = await startS3Server();
  const hook = await openLink(portOf(tenant.url), { address: OUTSIDE });
  const bucket = await openLink(portOf(s3.endpoint), { address: OUTSIDE });
  const beganMs = performance.now();
  const machines = await Machines.start(network, `s3://calls?endpoint=http://${OUTSIDE}:${bucket.port}`);
  const pods = machines.pods.map(({ name, address }) => `${name} at ${address}`).join(', ');
  saw('render-chart deploy/chart parley calls deploy/chart/values/three-nodes.yaml < my-values.yaml', [
    `${pods}: ready after ${seconds(beganMs)}`,
  ]);
  try {
    await walk(machines, tenant, `http://${OUTSIDE}:${hook.port}/hook`);
  } catch (error) {
    problems.push(String(error));
    console.error(error, machines.lastOutput);
  }
  if (process.argv.includes('--logs')) console.log(machines.lastOutput);
  console.log(problems.length === 0 ? 'met' : `missed:\n  ${problems.join('\n  ')}`);
  await machines.close();
  // The native part of the participant would keep this process running.
  await dispose();
  // The kernel ends what else is in these namespaces.
  process.exit(problems.length === 0 ? 0 : 1);
}

async function walk(machines: Machines, tenant: WebhookReceiver, webhookUrl: string): Promise<void> {
  const prometheus = new Prometheus(
    {
      parley: machines.controlPlanes.map(({ address }) => address),
      'parley-calls': [...machines.workers, ...machines.signalling].map(({ address }) => address),
    },
    { folder: mkdtempSync(join(tmpdir(), 'operator-prometheus-')), token: METRICS_TOKEN },
  );
  const { agents } = await machines.ask('GET', '/v1/agent/agents');
  const agent = `/v1/agent/agents/${agents[0].agent_id}`;
  await machines.ask('PATCH', `${agent}/config`, { webhooks: { post_call: [{ url: webhookUrl }] } });
  await machines.ask('POST', `${agent}/publish`);
  saw(`PATCH ${agent}/config {"webhooks": …}; POST …/publish`, ['published']);
  await callAndDrain(machines);
  await joinRoom(machines, agents[0].agent_id);
  const ended = () => tenant.received.filter(({ body }) => body.event === 'call.ended');
  await until('both calls are reported', () => ended().length >= 2);
  saw('the tenant’s endpoint', [tenant.received.map(({ body }) => body.event).join(', ')]);
  await sleep(SETTLES_MS);
  await showStatus(machines);
  const answers = await prometheus.answers();
  saw('Grafana’s panels, answered by Prometheus’ engine', describePanels(answers));
  saw('alerts whose condition held at some time', [pendingAlerts(answers).join(', ') || 'none']);
  saw('what Prometheus could not read, while the drained worker was away', [...new Set(prometheus.problems)]);
  problems.push(...problemsOf(answers));
}

/** A phone asks, its worker is drained, it asks again: another worker answers. */
async function callAndDrain(machines: Machines): Promise<void> {
  const [, second] = machines.addresses;
  const target = `sip:${NUMBER}@${second}:${SIP_PORT}`;
  const call = callWithBaresip(target, 'me', MICROPHONE);
  const find = () => machines.ask('GET', '/v1/agent/sessions?status=active');
  await until('the call is active', async () => (await find()).sessions.length === 1);
  const [{ session_id: id }] = (await find()).sessions;
  const session = () => machines.ask('GET', `/v1/agent/sessions/${id}`);
  const said = async (): Promise<string[]> =>
    (await session()).items
      .filter(({ content }: { content?: string }) => content)
      .map(({ role, content }: { role: string; content: string }) => `${role}: ${content}`);
  const answers = async () => (await said()).filter((line) => line.startsWith('assistant: We are open'));
  await until('the first question is answered', async () => (await answers()).length === 1);
  const drained = await workerWithCall(machines);
  const beganMs = performance.now();
  drained.program.signal('SIGTERM');
  await until('it is not ready', async () => !(await machines.isReady(drained)));
  const status = await drained.program.ended();
  const took = seconds(beganMs);
  const takeovers = JSON.stringify((await session()).takeovers);
  saw(`kill -TERM ${drained.name} (as kubectl drain does)`, [
    `not ready at once; ended with ${status} after ${took}; ${takeovers}`,
  ]);
  const next = await workerWithCall(machines);
  if (next === drained || status !== 0) problems.push(`${next.name} has the call, ${drained.name} ${status}`);
  saw(`curl http://${next.address}/metrics`, [`parley_jobs 1: ${next.name} has the call`]);
  const { samples, rateHz } = await call;
  await until('the call is settled', async () => (await session()).status === 'completed');
  if ((await answers()).length !== 3)
    problems.push(`${(await answers()).length} of 3 questions were answered`);
  saw(`baresip -e "/dial ${target}"`, [
    ...(await said()),
    `${voicedSeconds(samples, rateHz)} s of voice heard; ended as ${(await session()).end_reason}`,
  ]);
  drained.start();
  await machines.untilReady([drained]);
  saw(`${drained.name} starts again`, ['ready']);
}

async function workerWithCall({ workers }: Machines): Promise<Pod> {
  for (const pod of workers) {
    const answer = await fetch(`http://${pod.address}/metrics`).catch(() => null);
    if (/^parley_jobs 1$/m.test((await answer?.text()) ?? '')) return pod;
  }
  throw new Error('no worker has the call');
}

/** Joins a session's room by the address that the API gives, and listens to the greeting. */
async function joinRoom(machines: Machines, agentId: string): Promise<void> {
  const session = await machines.ask('POST', '/v1/agent/sessions', { agent_id: agentId });
  const caller = await LivekitCaller.join(session.livekit_url, session.token);
  await sleep(ROOM_MS);
  const blocks = caller.loudBlocks;
  await caller.hangUp();
  if (blocks === 0) problems.push('nothing was heard in the room');
  saw(`POST /v1/agent/sessions; a participant joins ${session.livekit_url}`, [
    `${blocks / 100} s of voice heard`,
  ]);
}

/** `parley status`, as in the documentation of operations. */
async function showStatus(machines: Machines): Promise<void> {
  const [first, ...others] = [...machines.controlPlanes, ...machines.workers, ...machines.signalling].map(
    ({ address }) => `http://${address}`,
  );
  const words = ['status', '--url', first ?? '', ...others.flatMap((url) => ['--part', url])];
  const { stdout } = await run(process.execPath, ['parley.mjs', ...words], {
    cwd: ROOT,
    env: { ...process.env, PARLEY_API_KEY: machines.rootKey, METRICS_TOKEN },
  }).catch((error: { readonly stdout: string; readonly stderr: string }) => {
    problems.push(`parley status: ${error.stdout}${error.stderr}`);
    return error;
  });
  saw(`npx parley ${words.join(' ')}`, stdout.trimEnd().split('\n'));
}

/** Prints a command and what it showed. */
function saw(command: string, lines: readonly string[]): void {
  console.log(`$ ${command}`);
  for (const line of lines) console.log(`  ${line}`);
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + WITHIN_MS;
  while (!(await holds())) {
    if (performance.now() > deadlineMs) throw new Error(`${what}: not within ${WITHIN_MS} ms`);
    await sleep(100);
  }
}

function seconds(sinceMs: number): string {
  return `${((performance.now() - sinceMs) / 1_000).toFixed(1)} s`;
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
