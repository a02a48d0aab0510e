/** Journey: the API is what its description says, to a client generated from it and to hostile requests. */
import { OpenAPIClientAxios } from 'openapi-client-axios';
import { beforeAll, describe, expect, it } from 'vitest';
import { MARK } from '#test/fuzz/arbitrary-of.ts';
import { fuzzApi } from '#test/fuzz/fuzz-api.ts';
import type { Product } from './product.ts';
import type { VendorStage } from './vendor-stage.ts';

/** A method of the client: parameters by name, then the body. */
type Operation = (
  parameters?: Readonly<Record<string, string | number | boolean>> | null,
  body?: object,
  // biome-ignore lint/suspicious/noExplicitAny: the client is made from a document, not from types
) => Promise<{ status: number; data: any }>;

const FIXED_SEED = 20_261_121;
const RUNS = 8;

let product: Product;
let client: Readonly<Record<string, Operation>>;

async function generateClient(): Promise<void> {
  const generator = new OpenAPIClientAxios({
    definition: `${product.url}/openapi.json`,
    axiosConfigDefaults: {
      headers: { authorization: `Bearer ${product.rootKey}` },
      validateStatus: () => true,
    },
  });
  const made: unknown = await generator.init();
  client = made as Readonly<Record<string, Operation>>;
}

/** Calls a method by its operation name in the description. */
async function call(name: string, parameters: Parameters<Operation>[0] = null, body?: object) {
  const operation = client[name];
  if (!operation) throw new Error(`the client has no ${name}`);
  const { status, data } = await operation(parameters, body);
  return { status, data };
}

/** Describes it on a shared product, whose data it changes at random. */
export function describeDescribedApi(stage: VendorStage): void {
  describe('the described API', () => {
    beforeAll(() => {
      product = stage.product;
      return generateClient();
    });

    describe('a client generated from /openapi.json', () => {
      it('creates an agent, starts a session with it and ends the session', async () => {
        const tool = await call('postTools', null, {
          name: 'Find a table',
          url: 'https://tables.example.com/{{guests}}',
          arguments: [{ name: 'guests' }],
        });
        const agent = await call('postAgents', null, {
          name: 'Front desk',
          config: { tools: { tool_ids: [tool.data.tool_id] } },
        });
        expect([tool.status, agent.status]).toEqual([201, 201]);
        const { agent_id } = agent.data;
        const patched = await call(
          'patchAgentsByAgentIdConfig',
          { agent_id },
          { prompt: { first_message_mode: 'off' } },
        );
        expect([patched.status, patched.data.prompt.first_message_mode]).toEqual([200, 'off']);
        expect(await call('postAgentsByAgentIdPublish', { agent_id })).toMatchObject({
          status: 200,
          data: { version_number: 1 },
        });
        const version = await call('getAgentsByAgentIdVersionsByVersionNumber', {
          agent_id,
          version_number: 1,
        });
        expect(version.data.config.tools.tool_ids).toEqual([tool.data.tool_id]);
        const session = await call('postSessions', null, { agent_id, metadata: { table: 4 } });
        expect([session.status, session.data.transport]).toEqual([201, 'webrtc']);
        const { session_id } = session.data;
        expect((await call('postSessionsBySessionIdEnd', { session_id })).status).toBe(204);
        expect((await call('getSessionsBySessionId', { session_id })).data).toMatchObject({
          status: 'failed',
          end_reason: 'cancelled',
          metadata: { table: 4 },
        });
        const listed = await call('getSessions', {
          status: 'failed',
          agent_id,
          page: 1,
          include_total: true,
        });
        expect([listed.data.total, listed.data.sessions[0].session_id]).toEqual([1, session_id]);
        expect((await call('deleteAgentsByAgentId', { agent_id })).status).toBe(204);
        expect(await call('getAgentsByAgentId', { agent_id })).toEqual({
          status: 404,
          data: { status: 404, message: 'Not found', reason: null },
        });
      });

      it('reads the wallet, creates a user and a key, and receives the error of a field', async () => {
        const user = await call('postAdminUsers', null, { name: 'Luigi', credit: '3.00' });
        expect(user.status).toBe(201);
        const { user_id } = user.data;
        const topped = await call(
          'postAdminWalletByUserIdTopUp',
          { user_id },
          { amount: '2.00', idempotency_key: 'a' },
        );
        expect(topped.data.credit).toBe('5.00');
        expect((await call('getWalletByUserIdApiCredit', { user_id })).data).toEqual(topped.data);
        const key = await call('postKeys', null, { name: 'Website' });
        expect((await call('deleteKeysByKeyId', { key_id: key.data.key_id })).status).toBe(204);
        const wrong = await call('postTools', null, { name: '' });
        expect([wrong.status, wrong.data[0].loc]).toEqual([422, ['body', 'name']]);
      });
    });

    describe('every described route handles hostile requests', () => {
      it.each([
        ['a fixed seed', FIXED_SEED],
        ['a random seed', Math.floor(Math.random() * 2 ** 31)],
      ])('answers them all as described: %s', { timeout: 240_000 }, async (_name, seed) => {
        console.log(`fuzz seed ${seed}`);
        const { requests, findings, statuses } = await fuzzApi({
          url: product.url,
          rootKey: product.rootKey,
          seed,
          runs: RUNS,
        });
        expect(findings).toEqual([]);
        expect(requests).toBeGreaterThan(80 * RUNS);
        // Requests must also get past validation.
        for (const status of [200, 201, 404, 422]) expect([...statuses.keys()]).toContain(status);
        expect(await product.api('GET', '/healthz')).toMatchObject({ status: 200 });
        expect(product.log).not.toContain(MARK);
      });
    });
  });
}
