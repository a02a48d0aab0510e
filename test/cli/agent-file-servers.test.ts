/** Optional sections of agent files, such as tool servers: exports and imports against the API. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runParley } from '#test/command-line.ts';
import { openTestApi, type TestApi } from '../control-plane/test-api.ts';

let api: TestApi;
let url: string;
let folder: string;

beforeAll(async () => {
  api = await openTestApi({ EGRESS_ALLOW: '127.0.0.1' });
  url = await api.app.listen({ port: 0, host: '127.0.0.1' });
  folder = mkdtempSync(join(tmpdir(), 'agent-files-'));
});
afterAll(async () => {
  await api.close();
  rmSync(folder, { recursive: true, force: true });
});

const parley = (...args: string[]) =>
  runParley(args, { folder, environment: { PARLEY_URL: url, PARLEY_API_KEY: api.rootKey } });
const ask = async (method: 'GET' | 'POST', path: string, body?: object) =>
  (await api.request(method, path, { key: api.rootKey, ...(body ? { body } : {}) })).body;

/** Creates a server of this name; returns its id. */
async function serverNamed(name: string): Promise<string> {
  const headers = [{ name: 'Authorization', kind: 'authorization_bearer', value: 'Bearer top-secret' }];
  const server = { name, url: 'https://tools.example.com/mcp', headers };
  return (await ask('POST', '/v1/agent/tool-servers', server)).tool_server_id;
}

/** Writes an agent file whose agent uses these servers. */
function fileWith(agent: string, servers: readonly string[]): string {
  const file = join(folder, `${agent}.yaml`);
  const config = { tool_servers: { servers } };
  writeFileSync(file, JSON.stringify({ parley: 1, agent: { name: agent }, config }));
  return file;
}

async function serversOf(agent: string): Promise<unknown> {
  const { agents } = await ask('GET', '/v1/agent/agents');
  const { agent_id: id } = agents.find(({ name }: { name: string }) => name === agent) ?? {};
  return id === undefined ? null : (await ask('GET', `/v1/agent/agents/${id}/config`)).tool_servers;
}

describe('the tool servers in an agent file', () => {
  it('are named, without address and credentials, and an import attaches those of that name', async () => {
    const id = await serverNamed('Calendar');
    const file = fileWith('Salon', ['Calendar']);
    expect((await parley('import', file)).out).toContain('+    servers:');
    expect(await serversOf('Salon')).toEqual({ tool_server_ids: [id] });
    const { out } = await parley('agents', 'export', 'Salon');
    expect(parse(out).config.tool_servers).toEqual({ servers: ['Calendar'] });
    expect(out).not.toMatch(/top-secret|tools\.example\.com/);
    expect((await parley('import', file)).out).toContain('nothing changed');
  });

  it('are refused before anything changes if none of that name is stored', async () => {
    const { code, err } = await parley('import', fileWith('Bakery', ['Nowhere']));
    expect([code, err]).toEqual([2, expect.stringContaining('the tool server “Nowhere”')]);
    expect(await serversOf('Bakery')).toBeNull();
  });

  it('are refused if several have the name', async () => {
    for (let count = 0; count < 2; count++) await serverNamed('Twice');
    const { code, err } = await parley('import', fileWith('Bakery', ['Twice']));
    expect([code, err]).toEqual([2, expect.stringContaining('several are named “Twice”')]);
  });

  it('are detached by an empty list, and a second import changes nothing', async () => {
    await serverNamed('Orders');
    await parley('import', fileWith('Shop', ['Orders']));
    const file = fileWith('Shop', []);
    expect((await parley('import', file)).code).toBe(0);
    expect(await serversOf('Shop')).toBeUndefined();
    expect((await parley('import', file)).out).toContain('nothing changed');
  });
});

describe('an optional section of an agent file', () => {
  it.each(['answer_hints', 'press_keys'])(
    '%s is set, removed where it is off, and then changes nothing',
    async (section) => {
      const fileOf = (enabled: boolean) => {
        const file = join(folder, `${section}-${enabled}.yaml`);
        const config = { [section]: { enabled } };
        writeFileSync(file, JSON.stringify({ parley: 1, agent: { name: section }, config }));
        return file;
      };
      await parley('import', fileOf(true));
      expect((await parley('import', fileOf(true))).out).toContain('nothing changed');
      expect((await parley('import', fileOf(false))).code).toBe(0);
      expect(parse((await parley('agents', 'export', section)).out).config).not.toHaveProperty(section);
      expect((await parley('import', fileOf(false))).out).toContain('nothing changed');
    },
  );
});
