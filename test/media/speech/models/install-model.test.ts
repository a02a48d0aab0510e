import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { downloadFile } from '#media/speech/models/download-file.ts';
import { installModel } from '#media/speech/models/install-model.ts';
import { findInstalledModels, readSpeed } from '#media/speech/models/installed-models.ts';
import { ModelError } from '#media/speech/models/model-error.ts';
import { addressOf, type SpeechModel } from '#media/speech/models/model-table.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import {
  type Answer,
  breaksOffAfter,
  type ModelMirror,
  modelOf,
  stallsAfter,
  startModelMirror,
} from '#test/fakes/model-mirror.ts';
import { tinyRecogniser } from '#test/fakes/tiny-models.ts';

// Models are loaded, and a loaded machine is slow.
vi.setConfig({ testTimeout: 120_000 });

const ENCODER = 'encoder.int8.onnx';
const CONTENTS = tinyRecogniser('opening hours');
/** Whatever follows the model in its file does not matter to the library, and makes it long. */
const BIG = {
  ...CONTENTS,
  'notes.bin': Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7919) % 251)),
};
const MODEL = modelOf(BIG, { id: 'tiny-en' });
const ALL_BYTES = MODEL.files.reduce((sum, { bytes }) => sum + bytes, 0);
const NOTES = 'notes.bin';
/** The long file is the last. */
const BEFORE_NOTES = ALL_BYTES - BIG[NOTES].length;

const mirrors: ModelMirror[] = [];
afterEach(async () => {
  for (const mirror of mirrors.splice(0)) await mirror.close();
});

/** A machine without models and a mirror that answers the first requests for the long file like this. */
async function machine(...answers: Answer[]) {
  const mirror = await startModelMirror([{ model: MODEL, contents: BIG }]);
  mirrors.push(mirror);
  mirror.answers.set(NOTES, answers);
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-install-'));
  const progress: number[] = [];
  const received = new Map<number, () => void>();
  const install = (model: SpeechModel = MODEL, over: Partial<Parameters<typeof installModel>[1]> = {}) =>
    installModel(model, {
      dataDir,
      baseUrl: mirror.url,
      clock: systemClock,
      signal: new AbortController().signal,
      onBytes: (bytes) => {
        progress.push(bytes);
        for (const [wanted, tell] of received) if (bytes >= wanted) tell();
      },
      onChecking: () => undefined,
      retryAfterMs: 1,
      ...over,
    });
  const untilReceived = (bytes: number) => new Promise<void>((resolve) => received.set(bytes, resolve));
  const found = () => findInstalledModels(dataDir, [MODEL]).recognisers.map(({ id }) => id);
  const ranges = () => mirror.requests.filter(({ name }) => name === NOTES);
  const directory = join(dataDir, 'models', MODEL.id);
  const aside = join(dataDir, 'models', '.partial', MODEL.id);
  return { mirror, dataDir, install, progress, untilReceived, found, ranges, directory, aside };
}

describe('a model that is installed', () => {
  it('is complete, measured, found by the engines, and not downloaded again', async () => {
    const { install, directory, dataDir, mirror, progress, found } = await machine();
    expect(found()).toEqual([]);
    await install();
    for (const [name, content] of Object.entries(BIG))
      expect(readFileSync(join(directory, name)).equals(content), name).toBe(true);
    expect(found()).toEqual([MODEL.id]);
    expect(readSpeed(dataDir, MODEL.id)).toBeGreaterThan(0);
    expect(progress.at(-1)).toBe(ALL_BYTES);
    expect(progress).toEqual([...progress].sort((a, b) => a - b));
    const asked = mirror.requests.length;
    await install();
    expect(mirror.requests).toHaveLength(asked);
  });

  it('resumes within one attempt when the connection breaks, if the file is still the same', async () => {
    const at: (() => Promise<void>)[] = [];
    const { install, ranges, directory, untilReceived } = await machine(
      breaksOffAfter(100_000, () => at[0]!()),
      breaksOffAfter(50_000, () => at[1]!()),
    );
    at.push(
      () => untilReceived(BEFORE_NOTES + 100_000),
      () => untilReceived(BEFORE_NOTES + 150_000),
    );
    await install();
    expect(readFileSync(join(directory, NOTES)).equals(BIG[NOTES])).toBe(true);
    expect(ranges().map(({ range }) => range)).toEqual([undefined, 'bytes=100000-', 'bytes=150000-']);
    expect(ranges()[1]?.ifRange).toMatch(/^"[0-9a-f]{16}"$/);
  });

  it.each<[string, Answer]>([
    ['without ranges', (content, _request, response) => void response.end(content)],
    [
      'that answers another range',
      (content, _request, response) =>
        void response
          .writeHead(206, { 'content-range': `bytes 7-${content.length - 1}/${content.length}` })
          .end(content.subarray(7)),
    ],
    ['that refuses the range', (_content, _request, response) => void response.writeHead(416).end()],
  ])('starts anew at a server %s', async (_, answer) => {
    const { install, directory, aside } = await machine(answer);
    mkdirSync(aside, { recursive: true });
    writeFileSync(join(aside, NOTES), BIG[NOTES].subarray(0, 123_456));
    await install();
    expect(readFileSync(join(directory, NOTES)).equals(BIG[NOTES])).toBe(true);
  });

  it('starts anew when the file at the server is another one than before', async () => {
    const { install, directory, aside, ranges } = await machine();
    mkdirSync(aside, { recursive: true });
    writeFileSync(join(aside, NOTES), Buffer.alloc(123_456, 1));
    writeFileSync(join(aside, `${NOTES}.etag`), '"of-another"');
    await install();
    expect(ranges()).toEqual([{ name: NOTES, range: 'bytes=123456-', ifRange: '"of-another"' }]);
    expect(readFileSync(join(directory, NOTES)).equals(BIG[NOTES])).toBe(true);
  });

  it('contains no file that an earlier version left and the table does not name', async () => {
    const { install, directory, aside } = await machine();
    mkdirSync(join(aside, 'folder'), { recursive: true });
    writeFileSync(join(aside, 'encoder-old.int8.onnx'), 'unverified');
    await install();
    expect(readdirSync(directory).sort()).toEqual([...Object.keys(BIG), 'speed.json'].sort());
  });

  it('resumes when nothing arrives for half a minute', async () => {
    const clock = new ManualClock();
    const { install, ranges, directory, untilReceived } = await machine(stallsAfter(100_000));
    const received = untilReceived(BEFORE_NOTES + 100_000);
    // Only the download waits by this clock: without time passing it never ends.
    const installing = install(MODEL, { clock });
    await received;
    await clock.advance(30_000);
    await vi.waitFor(() => expect(ranges()).toHaveLength(2), { timeout: 60_000 });
    await installing;
    expect(ranges()[1]?.range).toBe('bytes=100000-');
    expect(existsSync(directory)).toBe(true);
  });

  it.each([
    ['of the same size', (content: Buffer) => Buffer.alloc(content.length, 1), /SHA-256 differs/],
    ['that is longer', (content: Buffer) => Buffer.concat([content, content]), /is longer than/],
  ])('is refused when a file %s differs, and a later download succeeds', async (_, other, message) => {
    const { install, found, aside } = await machine(
      (content, _request, response) => void response.end(other(content)),
    );
    await expect(install()).rejects.toMatchObject({ failure: 'corrupt', message });
    expect(found()).toEqual([]);
    expect(readdirSync(aside)).not.toContain(NOTES);
    await install();
    expect(found()).toEqual([MODEL.id]);
  });

  it('is refused when it cannot be loaded, and no call ever sees it', async () => {
    const broken = { ...CONTENTS, [ENCODER]: Buffer.from('no model') };
    const model = modelOf(broken, { id: 'broken' });
    const mirror = await startModelMirror([{ model, contents: broken }]);
    mirrors.push(mirror);
    const { install, dataDir } = await machine();
    await expect(install(model, { baseUrl: mirror.url })).rejects.toMatchObject({ failure: 'unloadable' });
    expect(findInstalledModels(dataDir, [model]).recognisers).toEqual([]);
  });

  it('is refused when it is too slow to follow a caller', async () => {
    const { install, found } = await machine();
    const slow = { ...systemClock, now: () => 1e6 * systemClock.now() };
    await expect(install(MODEL, { clock: slow })).rejects.toMatchObject({
      failure: 'too_slow',
      message: expect.stringMatching(/^tiny-en takes \d+(\.\d+)? s for a second of speech on this machine/),
    });
    expect(found()).toEqual([]);
  });

  it('is retried when the server is busy, but not when it lacks the file', async () => {
    const busy: Answer = (_content, _request, response) => void response.writeHead(503).end();
    const { install, ranges, found } = await machine(busy, busy);
    await install();
    expect(ranges()).toHaveLength(3);
    expect(found()).toEqual([MODEL.id]);
    const { install: again, mirror } = await machine();
    await expect(again({ ...MODEL, path: 'tests/elsewhere' })).rejects.toMatchObject({
      failure: 'refused',
      message: expect.stringMatching(/HTTP 404.*or set MODELS_URL to a mirror/),
    });
    expect(mirror.requests).toEqual([]);
  });

  it('without a network, the error says which files to put where, and that is enough', async () => {
    const { install, directory, dataDir } = await machine();
    const failed = await install(MODEL, { baseUrl: 'http://127.0.0.1:9' }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ failure: 'offline' });
    const { message } = failed as Error;
    expect(message).toMatch(
      /^127\.0\.0\.1:9 cannot be reached \([^)]+\)\. Download .*tokens\.txt.* on another machine/,
    );
    expect(message).toContain(
      `${directory} (copy to a folder whose name starts with a dot, then rename it), or`,
    );
    const hidden = join(dataDir, 'models', '.new');
    mkdirSync(hidden);
    for (const [name, content] of Object.entries(BIG)) writeFileSync(join(hidden, name), content);
    expect(findInstalledModels(dataDir, []).recognisers).toEqual([]);
    renameSync(hidden, directory);
    expect(findInstalledModels(dataDir, [MODEL]).recognisers).toHaveLength(1);
    // Verifies and measures what is there.
    await install(MODEL, { baseUrl: 'http://127.0.0.1:9' });
    expect(readSpeed(dataDir, MODEL.id)).toBeGreaterThan(0);
  });

  it('is out of use and downloaded if a file that was copied by hand is a wrong one', async () => {
    const { install, directory, found } = await machine();
    await install();
    writeFileSync(join(directory, NOTES), Buffer.alloc(BIG[NOTES].length));
    await expect(install(MODEL, { baseUrl: 'http://127.0.0.1:9' })).rejects.toMatchObject({
      failure: 'offline',
    });
    expect(found()).toEqual([]);
    await install();
    expect(found()).toEqual([MODEL.id]);
    expect(readFileSync(join(directory, NOTES)).equals(BIG[NOTES])).toBe(true);
  });

  it('is refused without space for it on the disk', async () => {
    const { install, mirror } = await machine();
    const [first, ...rest] = MODEL.files;
    const huge = { ...MODEL, files: [{ ...first!, bytes: 2 ** 52 }, ...rest] };
    await expect(install(huge)).rejects.toMatchObject({ failure: 'no_space' });
    expect(mirror.requests).toEqual([]);
  });

  it('is refused at once, and not called offline, when the disk becomes full', async () => {
    const { install, aside, ranges } = await machine((content, _request, response) => {
      const last = content.length - 1;
      response.writeHead(206, { 'content-range': `bytes 0-${last}/${content.length}` }).end(content);
    });
    mkdirSync(aside, { recursive: true });
    symlinkSync('/dev/full', join(aside, NOTES));
    await expect(install()).rejects.toMatchObject({
      failure: 'no_space',
      message: expect.stringMatching(/disk is full \(ENOSPC\)\. Make space/),
    });
    expect(ranges()).toHaveLength(1);
  });

  it('stops before the disk is full when other programs write to it, too', async () => {
    const content = { 'long.bin': Buffer.alloc(12 * 2 ** 20, 5) };
    const model = modelOf(content, { id: 'long' });
    const mirror = await startModelMirror([{ model, contents: content }]);
    mirrors.push(mirror);
    const [file] = model.files;
    const path = join(mkdtempSync(join(tmpdir(), 'parley-file-')), 'long.bin');
    let checks = 0;
    const downloading = downloadFile(file!, {
      url: addressOf(mirror.url, model, file!),
      path,
      onBytes: () => undefined,
      needSpace: async () => {
        if (++checks === 2) throw new ModelError('no_space', 'no space is left');
      },
      signal: new AbortController().signal,
      clock: systemClock,
      retryAfterMs: 1,
    });
    await expect(downloading).rejects.toMatchObject({ failure: 'no_space' });
    expect(mirror.requests).toHaveLength(1);
    expect(statSync(path).size).toBeGreaterThan(4 * 2 ** 20);
    expect(statSync(path).size).toBeLessThan(file!.bytes);
  });

  it('is downloaded by one program at a time', async () => {
    const { install, untilReceived } = await machine(stallsAfter(1_000));
    const stop = new AbortController();
    const received = untilReceived(BEFORE_NOTES + 1_000);
    const first = install(MODEL, { signal: stop.signal }).catch((error: unknown) => error);
    await received;
    await expect(install()).rejects.toMatchObject({ failure: 'busy' });
    stop.abort(new Error('enough'));
    expect(await first).toMatchObject({ message: 'enough' });
    await install();
  });
});
