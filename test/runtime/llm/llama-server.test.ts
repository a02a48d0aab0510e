import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import type { LocalModels } from '#config/local-models.ts';
import { createLocalModel } from '#runtime/llm/local/local-model.ts';
import { searchLocalModels } from '#runtime/llm/local/search-models.ts';
import { collect } from '#test/collect.ts';
import { tinyGguf } from '#test/fakes/tiny-gguf.ts';
import { freeTcpPort } from '#test/free-port.ts';
import { describeWhereThere } from '#test/needs.ts';
import { chatRequest } from './chat-request.ts';

describeWhereThere(['llama-server'])('a real llama.cpp server', () => {
  let folder: string;
  let server: ReturnType<typeof spawn>;
  let models: LocalModels;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'parley-llama-'));
    const file = join(folder, 'tiny.gguf');
    writeFileSync(file, tinyGguf());
    const port = await freeTcpPort();
    server = spawn('llama-server', ['-m', file, '--host', '127.0.0.1', '--port', String(port)], {
      stdio: 'ignore',
    });
    const address = `http://127.0.0.1:${port}`;
    const isUp = () =>
      fetch(`${address}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    await vi.waitUntil(isUp, { timeout: 60_000 });
    models = await searchLocalModels({
      addresses: [address],
      file: join(folder, 'local-models.json'),
      clock: systemClock,
      logger: createLogger({ level: 'silent', name: 'test' }),
    });
  }, 90_000);
  afterAll(async () => {
    await models?.close();
    server?.kill();
    if (server?.exitCode === null) await once(server, 'exit');
    rmSync(folder, { recursive: true, force: true });
  });

  it('is found with its model and context, and tried', async () => {
    await expect.poll(() => models.offered()[0]?.tools ?? null, { timeout: 30_000 }).toBe('not_called');
    expect(models.offered()).toMatchObject([
      { id: 'local/tiny', context_tokens: 2_048, tokens_per_second: expect.any(Number) },
    ]);
  });

  it('answers an agent’s request', async () => {
    const [model] = models.offered();
    if (!model) throw new Error('no model');
    const local = createLocalModel({ model, clock: systemClock, stallMs: 10_000 });
    const messages = [
      { role: 'system' as const, content: 'You are a baker.' },
      { role: 'system' as const, content: 'It is Monday.' },
      { role: 'assistant' as const, content: 'Hello!' },
      { role: 'user' as const, content: 'Hi.' },
    ];
    const tools = [{ name: 'book', description: 'Books a table', arguments: [] }];
    const deltas = await collect(local.stream(chatRequest({ messages, tools, maxOutputTokens: 16 })));
    expect(deltas.at(-1)).toMatchObject({ type: 'finish', usage: { outputTokens: expect.any(Number) } });
  });
});
