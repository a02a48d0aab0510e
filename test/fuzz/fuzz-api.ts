/**
 * Sends hostile requests to every described route of a running product and checks each answer: it must not be
 * an internal fault, have an undescribed shape, or repeat a planted value or a key in a refusal.
 */
import { Agent, request as httpRequest } from 'node:http';
import fc from 'fast-check';
import { z } from 'zod';
import { errorBody, validationEntry } from '#control-plane/platform/http/problems.ts';
import { ENDLESS, type Route, routesOf } from '#test/control-plane/described-routes.ts';
import { MARK } from './arbitrary-of.ts';
import { type HostileRequest, hostileRequest } from './hostile-request.ts';

/** Target and length of a run. */
export interface FuzzOptions {
  readonly url: string;
  readonly rootKey: string;
  readonly seed: number;
  /** Requests per route. */
  readonly runs: number;
}

/** Results of a run. */
export interface FuzzResult {
  readonly requests: number;
  /** Answers by status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** One text per failing route, with the smallest request that shows the fault. */
  readonly findings: readonly string[];
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** A full backup returns all data by design, and an endless stream never ends. */
const LEFT_OUT = new Set([ENDLESS, 'POST /admin/backup']);
const ANSWER_MS = 30_000;
const proErrorBody = z.object({
  status: z.number(),
  message: z.string(),
  code: z.string().nullable(),
  request_id: z.string(),
});

/** Sends `runs` requests to each route; the product's state afterwards is arbitrary. */
export async function fuzzApi(options: FuzzOptions): Promise<FuzzResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const statuses = new Map<number, number>();
  const findings: string[] = [];
  const send = (method: string, key: string, request: HostileRequest) =>
    sendTo(options.url, agent, { method, key, request });
  const prepared = await prepare(options);
  let requests = 0;
  for (const route of prepared.routes) {
    const key = route.access === 'operator' ? options.rootKey : prepared.key;
    const property = fc.asyncProperty(hostileRequest(route, prepared.ids), async (request) => {
      const answer = await send(route.method, key, request);
      requests++;
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      const wrong = problemOf(route, answer, [key, options.rootKey]);
      if (wrong !== null) throw new Error(`${wrong}: ${answer.status} ${answer.text.slice(0, 300)}`);
    });
    const outcome = await fc.check(property, { seed: options.seed, numRuns: options.runs });
    if (outcome.failed)
      findings.push(
        `${route.name} (seed ${outcome.seed}): ${String(outcome.errorInstance)} for ` +
          `${shown(outcome.counterexample?.[0])}`,
      );
  }
  agent.destroy();
  return { requests, statuses, findings };
}

/** Creates a tenant with one object of each kind, so that paths exist. */
async function prepare({ url, rootKey }: FuzzOptions) {
  const ask = async (path: string, body: object | null, key: string) => {
    const answer = await fetch(url + path, {
      ...(body === null ? {} : { method: 'POST', body: JSON.stringify(body) }),
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === null ? {} : { 'content-type': 'application/json' }),
      },
    });
    // biome-ignore lint/suspicious/noExplicitAny: answers of routes that have tests of their own
    return (await answer.json()) as any;
  };
  const account = { name: 'Fuzz', credit: '100000.00', phone_number_limit: 1_000 };
  const { api_key: key } = await ask('/admin/users', account, rootKey);
  const { user_id } = await ask('/admin/users', account, rootKey);
  const { agent_id } = await ask('/v1/agent/agents', { name: 'a' }, key);
  await ask(`/v1/agent/agents/${agent_id}/publish`, {}, key);
  const { tool_id } = await ask(
    '/v1/agent/tools',
    { name: 't', url: 'https://a.example.com', timeout_seconds: 1 },
    key,
  );
  const { phone_number_id } = await ask(
    '/v1/agent/phone-numbers',
    { provider: 'managed', phone_number: '+15550177001', agent_id },
    key,
  );
  const { session_id } = await ask('/v1/agent/sessions', { agent_id }, key);
  const routes = routesOf(await ask('/openapi.json', null, key)).filter(({ name }) => !LEFT_OUT.has(name));
  return {
    key,
    routes,
    ids: { agent_id, tool_id, phone_number_id, session_id, user_id, version_number: '1', id: 'default' },
  };
}

function sendTo(
  url: string,
  agent: Agent,
  { method, key, request }: { method: string; key: string; request: HostileRequest },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      ...request.headers,
      ...(request.body ? { 'content-length': String(request.body.length) } : {}),
    };
    const outgoing = httpRequest(
      url + request.path,
      { method, agent, headers, timeout: ANSWER_MS },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk) => chunks.push(chunk)).on('error', reject);
        incoming.on('end', () =>
          resolve({
            status: incoming.statusCode ?? 0,
            type: String(incoming.headers['content-type'] ?? ''),
            text: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    outgoing
      .on('timeout', () => outgoing.destroy(new Error(`no answer within ${ANSWER_MS} ms`)))
      .on('error', reject);
    outgoing.end(request.body ?? undefined);
  });
}

/** Returns the fault of an answer, or null. */
function problemOf(route: Route, { status, type, text }: Answer, keys: readonly string[]): string | null {
  // 502 and 503 report a failed dependency; every other status from 500 on is an internal fault.
  if (status >= 500 && status !== 502 && status !== 503) return 'a fault of ours';
  if (keys.some((key) => text.includes(key))) return 'a key is repeated';
  if (status < 400)
    return route.answers.has(String(status)) || isCompatible(route)
      ? null
      : 'a success that is not described';
  if (text.includes(MARK)) return 'a planted value is repeated';
  if (text === '') return status === 401 || status === 415 ? null : 'a refusal without a body';
  if (isCompatible(route)) return null;
  if (!type.startsWith('application/json')) return 'a refusal that is no JSON';
  const body: unknown = JSON.parse(text);
  const isKnown = [errorBody, proErrorBody, z.array(validationEntry).min(1)].some(
    (shape) => shape.safeParse(body).success,
  );
  return isKnown ? null : 'a refusal of another shape';
}

/** The compatible APIs answer in the format of their protocol. */
function isCompatible(route: Route): boolean {
  return route.path.startsWith('/compat');
}

function shown(request: HostileRequest | undefined): string {
  return request
    ? JSON.stringify({ ...request, body: request.body?.toString() ?? null }).slice(0, 1_000)
    : 'nothing';
}
