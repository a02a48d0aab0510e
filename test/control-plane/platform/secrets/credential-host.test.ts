/**
 * Write-only credentials stay with the host they were given for: requests to another host do not carry them,
 * and the answer says so.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { planTools } from '#control-plane/catalogue/tools/plan-tools.ts';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';

let api: TestApi;
let user: TestUser;
const ask = (method: 'GET' | 'POST' | 'PUT' | 'PATCH', path: string, body?: unknown) =>
  api.request(method, `/v1/agent/${path}`, { key: user.key, ...(body === undefined ? {} : { body }) });

beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  user = await api.createUser();
});
afterAll(() => api.close());

describe('a tool whose URL is changed', () => {
  const URL_GIVEN = 'https://api.example.com/orders/{{id}}';
  let toolId: string;

  beforeEach(async () => {
    const headers = [
      { name: 'Authorization', kind: 'authorization_bearer', value: 'Bearer planted' },
      { name: 'X-Tenant', value: 'seven' },
    ];
    toolId = (await ask('POST', 'tools', { name: 'orders', url: URL_GIVEN, headers })).body.tool_id;
  });

  /** The headers a call is instructed to send with the tool. */
  async function headersSent() {
    const stored = await api.context.models.tools.findById(toolId).lean();
    if (!stored) throw new Error('no tool');
    return planTools(api.context.secretBox, [{ ...stored, tool_id: toolId }])[0]?.headers;
  }

  it.each([
    'https://other.example.com/orders/{{id}}',
    'https://api.example.com:8443/orders/{{id}}',
    'http://api.example.com/orders',
    'https://api.example.com.evil.example.com/orders',
    'https://api.example.com{{id}}/orders',
    'https:\\\\other.example.com/orders',
    '{{host}}/orders',
  ])('security 20: drops its credentials and says so if the new URL is on another host: %s', async (url) => {
    const { status, body } = await ask('PATCH', `tools/${toolId}`, { url });
    expect(status).toBe(200);
    expect(body.headers).toEqual([
      { name: 'Authorization', kind: 'authorization_bearer', value: null, has_secret: false },
      { name: 'X-Tenant', kind: 'custom', value: 'seven', has_secret: false },
    ]);
    expect(await headersSent()).toEqual([{ name: 'X-Tenant', value: 'seven' }]);
  });

  it.each([
    'https://api.example.com/v2/orders',
    'https://API.example.com:443/orders/{{id}}?x={{y}}',
    'https://api.example.com',
  ])('security 20: keeps its credentials if the new URL is another path of its host: %s', async (url) => {
    expect((await ask('PATCH', `tools/${toolId}`, { url })).body.headers[0].has_secret).toBe(true);
    expect(await headersSent()).toContainEqual({ name: 'Authorization', value: 'Bearer planted' });
  });

  it('security 20: uses the credentials sent with the new URL, and later changes keep them', async () => {
    const headers = [{ name: 'Authorization', kind: 'authorization_bearer', value: 'Bearer new' }];
    const moved = await ask('PATCH', `tools/${toolId}`, { url: 'https://other.example.com', headers });
    expect(moved.body.headers[0].has_secret).toBe(true);
    await ask('PATCH', `tools/${toolId}`, { description: 'x' });
    expect(await headersSent()).toEqual([{ name: 'Authorization', value: 'Bearer new' }]);
  });

  it('security 20: loses them permanently: a change back to the first host does not restore them', async () => {
    await ask('PATCH', `tools/${toolId}`, { url: 'https://other.example.com' });
    expect((await ask('PATCH', `tools/${toolId}`, { url: URL_GIVEN })).body.headers[0].has_secret).toBe(
      false,
    );
  });
});

describe('a custom model whose address is changed', () => {
  const custom = { base_url: 'https://llm.example.com/v1', model: 'm', api_key: 'sk-planted' };
  let agentId: string;
  const patch = async (change: object) =>
    (await ask('PATCH', `agents/${agentId}/config`, { llm: { custom: change } })).body.llm.custom;

  beforeEach(async () => {
    agentId = (await ask('POST', 'agents', { name: 'a', config: { llm: { custom } } })).body.agent_id;
  });

  it('security 20: drops its key and says so if the new address is on another host', async () => {
    expect(await patch({ base_url: 'https://other.example.com/v1' })).toMatchObject({ has_secret: false });
    expect((await api.context.models.agents.findById(agentId).lean())?.secrets.llm_api_key).toBeNull();
  });

  it('security 20: keeps its key if the new address is another path of its host', async () => {
    expect(await patch({ base_url: 'https://llm.example.com/v2' })).toMatchObject({ has_secret: true });
  });

  it('security 20: uses the key sent with an address on another host', async () => {
    expect(await patch({ base_url: 'https://other.example.com/v1', api_key: 'sk-new' })).toMatchObject({
      has_secret: true,
    });
    const agent = await api.context.models.agents.findById(agentId).lean();
    expect(api.context.secretBox.open(agent?.secrets.llm_api_key ?? '')).toBe('sk-new');
  });
});

describe('a trunk whose address is changed', () => {
  const trunk = {
    inbound_allowed_addresses: ['203.0.113.1'],
    termination_uri: 'sip.example.com:5061',
    termination_auth_username: 'parley',
    termination_auth_password: 'planted',
  };
  let numberId: string;
  let next = 15550300000;
  const put = (change: object) =>
    ask('PUT', `phone-numbers/${numberId}/sip-config`, {
      ...trunk,
      termination_auth_password: '',
      ...change,
    });

  beforeEach(async () => {
    numberId = (await ask('POST', 'phone-numbers', { provider: 'sip', phone_number: `+${next++}`, ...trunk }))
      .body.phone_number_id;
  });

  it.each(['other.example.com:5061', 'sip.example.com', 'sip.example.com:5062'])(
    'security 20: requires its password again if the new address is %s',
    async (uri) => {
      const { status, body } = await put({ termination_uri: uri });
      expect(status).toBe(422);
      expect(body).toEqual([
        expect.objectContaining({
          loc: ['body', 'termination_auth_password'],
          msg: expect.stringContaining('given again'),
        }),
      ]);
      expect((await put({ termination_uri: uri, termination_auth_password: 'new' })).status).toBe(200);
    },
  );

  it('security 20: keeps its password while the address is unchanged', async () => {
    expect(
      (await put({ termination_uri: 'SIP.example.com:5061', termination_transport: 'tls' })).status,
    ).toBe(200);
  });
});
