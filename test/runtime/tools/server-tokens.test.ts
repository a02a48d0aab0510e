/** OAuth of tool servers: real servers and a real issuer, over sockets. */
import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { McpTokens } from '#protocol/mcp-tokens.ts';
import { listenLocally } from '#test/fakes/local-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { type FakeMcpServer, type FakeTool, startMcpServer } from '#test/fakes/mcp-server.ts';
import { plannedServer } from './planned-server.ts';
import { openConversation } from './served-conversation.ts';

const SLOTS: FakeTool = { name: 'slots', description: 'Free times', run: () => 'nine' };
const CREDENTIALS = { client_id: 'parley', client_secret: 'hush', scope: '' };
const LIFE_SECONDS = 600;

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** An authorisation server that grants a token for client credentials, and records what it was sent. */
async function startIssuer() {
  const asked: { readonly authorization: string | undefined; readonly body: string; guest: unknown }[] = [];
  const issuer = { base: '', asked, token: 't0ken', expires_in: LIFE_SECONDS as number | undefined };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const isToken = request.method === 'POST' && request.url === '/token';
    if (isToken)
      asked.push({
        authorization: request.headers.authorization,
        body: Buffer.concat(chunks).toString(),
        guest: request.headers['x-guest'],
      });
    const { base, token, expires_in } = issuer;
    const metadata = {
      issuer: base,
      token_endpoint: `${base}/token`,
      authorization_endpoint: `${base}/authorize`,
      response_types_supported: ['code'],
      grant_types_supported: ['client_credentials'],
      token_endpoint_auth_methods_supported: ['client_secret_basic'],
    };
    const answer = isToken ? { access_token: token, token_type: 'Bearer', expires_in } : metadata;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  const { port, close } = await listenLocally(server);
  opened.push(close);
  issuer.base = `http://127.0.0.1:${port}`;
  return issuer;
}

/** A server that wants the token of an issuer, and conversations that share one process’s tokens. */
async function openStage() {
  const [server, issuer] = [await startMcpServer('sessions', [SLOTS]), await startIssuer()];
  opened.push(() => server.close());
  server.oauth = { token: 't0ken', issuer: issuer.base };
  const clock = new ManualClock();
  const tokens = new McpTokens(clock);
  const open = (changes: object = {}) => {
    const planned = plannedServer(server.url, [SLOTS], {
      oauth: { ...CREDENTIALS, issuer: issuer.base },
      ...changes,
    });
    const conversation = openConversation([planned], { clock, tokens });
    opened.push(() => conversation.close());
    return {
      use: () =>
        conversation.runner.run(
          { callId: 'c1', toolName: 'desk_slots', input: '{}' },
          { signal: new AbortController().signal },
        ),
    };
  };
  return { server, issuer, clock, open };
}

/** The server and its issuer agree on another token from now on. */
function replaceToken(server: FakeMcpServer, issuer: { base: string; token: string }): void {
  issuer.token = 'an0ther';
  server.oauth = { token: issuer.token, issuer: issuer.base };
}

describe('OAuth of a tool server', () => {
  it('gets a token with the client credentials, and sends headers to the server only', async () => {
    const { server, issuer, open } = await openStage();
    const headers = [{ name: 'X-Guest', value: 'Ada' }];
    expect((await open({ headers }).use()).error).toBeNull();
    expect(issuer.asked).toHaveLength(1);
    const [asked] = issuer.asked;
    expect(asked?.authorization).toBe(`Basic ${Buffer.from('parley:hush').toString('base64')}`);
    expect(asked?.body).toContain('grant_type=client_credentials');
    expect(asked?.guest).toBeUndefined();
    expect(server.headers.at(-1)).toMatchObject({ authorization: 'Bearer t0ken', 'x-guest': 'Ada' });
  });

  it('sends no secret to another issuer that the server names', async () => {
    const { issuer, open } = await openStage();
    const oauth = { ...CREDENTIALS, issuer: 'https://login.example.com' };
    expect((await open({ oauth }).use()).status).toBe('failed');
    expect(issuer.asked).toEqual([]);
  });

  it('keeps the token from call to call for its life, and then asks for another', async () => {
    const { issuer, clock, open } = await openStage();
    for (let call = 0; call < 3; call++) expect((await open().use()).error).toBeNull();
    expect(issuer.asked).toHaveLength(1);
    await clock.advance(LIFE_SECONDS * 1_000);
    expect((await open().use()).error).toBeNull();
    expect(issuer.asked).toHaveLength(2);
  });

  it.each([0, -1, undefined])('uses a token whose life is given as %s', async (life) => {
    const { issuer, clock, open } = await openStage();
    issuer.expires_in = life;
    expect((await open().use()).error).toBeNull();
    await clock.advance(LIFE_SECONDS * 1_000);
    expect((await open().use()).error).toBeNull();
    expect(issuer.asked).toHaveLength(life === undefined ? 1 : 2);
  });

  it('asks once for calls that begin at the same time', async () => {
    const { issuer, open } = await openStage();
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => open().use()));
    expect(outcomes.map(({ error }) => error)).toEqual(Array(10).fill(null));
    expect(issuer.asked).toHaveLength(1);
  });

  it('renews a token that the server refuses before its end, also in the middle of a call', async () => {
    const { server, issuer, clock, open } = await openStage();
    const conversation = open();
    expect((await conversation.use()).error).toBeNull();
    await clock.advance(60_000);
    replaceToken(server, issuer);
    expect((await conversation.use()).error).toBeNull();
    expect((await open().use()).error).toBeNull();
    expect(issuer.asked).toHaveLength(2);
  });

  it('does not ask again for a server that refuses the token its issuer has just given', async () => {
    const { server, issuer, open } = await openStage();
    server.oauth = { token: 'never granted', issuer: issuer.base };
    for (let call = 0; call < 3; call++) expect((await open().use()).status).toBe('failed');
    expect(issuer.asked).toHaveLength(1);
  });

  it('asks once for calls of one conversation that the server refuses at the same time', async () => {
    const { server, issuer, clock, open } = await openStage();
    const conversation = open();
    expect((await conversation.use()).error).toBeNull();
    await clock.advance(60_000);
    replaceToken(server, issuer);
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => conversation.use()));
    expect(outcomes.map(({ error }) => error)).toEqual(Array(10).fill(null));
    expect(issuer.asked).toHaveLength(2);
  });

  it('uses no token of another account’s server, although address and credentials are the same', async () => {
    const { issuer, open } = await openStage();
    await open().use();
    expect((await open({ tool_server_id: 'of another account' }).use()).error).toBeNull();
    expect(issuer.asked).toHaveLength(2);
  });

  it('asks with other credentials for another token', async () => {
    const { issuer, open } = await openStage();
    await open().use();
    await open({ oauth: { ...CREDENTIALS, client_secret: 'new', issuer: issuer.base } }).use();
    expect(issuer.asked.map(({ authorization }) => authorization)).toEqual(
      ['hush', 'new'].map((secret) => `Basic ${Buffer.from(`parley:${secret}`).toString('base64')}`),
    );
  });

  it('refuses a token that is too long for a header', async () => {
    const { server, issuer, open } = await openStage();
    issuer.token = 'x'.repeat(20_000);
    expect((await open().use()).status).toBe('failed');
    expect(server.headers).toEqual([]);
  });
});
