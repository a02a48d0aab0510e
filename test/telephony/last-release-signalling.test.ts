/**
 * A worker of this release at signalling of the last one, which an upgrade replaces later: what that said
 * over two calls is played back to it.
 */
import { readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Signalling, SipDialog } from '#telephony/signalling.ts';
import { connectTestWorker } from '#test/fakes/signalling.ts';
import { FrameReader, frame } from '#test/protocol/last-release/frames.ts';
import type { RecordedFrame } from '#test/protocol/last-release/record-calls.ts';
import { OUR_SDP, PATIENCE } from './two-servers.ts';

const RECORDED = JSON.parse(
  readFileSync(join(import.meta.dirname, '../protocol/last-release/signalling-frames.json'), 'utf8'),
) as readonly RecordedFrame[];
/** Where the second call ends. */
const HANG_UP = RECORDED.findIndex(({ from, text }) => from === 'worker' && /\r\nBYE /.test(text));

describe('a worker at signalling of the last release', () => {
  let server: Server;
  let socket: Socket | null;
  /** What the worker has said and nobody has expected yet, but for routes and pings. */
  let said: string[];
  let worker: Signalling;
  let dialogs: SipDialog[];
  let ended: number;

  beforeEach(async () => {
    [socket, said, dialogs, ended] = [null, [], [], 0];
    server = createServer((accepted) => {
      socket = accepted;
      const reader = new FrameReader((text) => {
        const [id, command = ''] = text.split('|', 2);
        if (/^(route|ping)/.test(command)) accepted.write(frame(`1|response|${id}|OK`));
        else said.push(text);
      });
      accepted.on('error', () => undefined).on('data', (chunk) => reader.read(chunk));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const appPort = typeof address === 'object' && address ? address.port : 0;
    const playing = play(0, 2);
    worker = await connectTestWorker({ appPort });
    await playing;
    worker.onInvite((invite) => {
      invite.ring();
      void invite.answer(OUR_SDP).then((dialog) => {
        dialogs.push(dialog);
        dialog.listen({
          onEnded: () => (ended += 1),
          onOffer: () => OUR_SDP,
          makeOffer: () => OUR_SDP,
          onAnswer: () => undefined,
          onInfo: () => undefined,
        });
      });
    });
  });
  afterEach(() => {
    worker.close();
    socket?.destroy();
    server.close();
  });

  /** The ids of the worker’s frames, by those of the recorded worker’s. */
  const ids = new Map<string, string>();

  /** Plays these frames; the worker must say what the recorded one said. */
  async function play(first: number, end = RECORDED.length): Promise<void> {
    for (const { from, text } of RECORDED.slice(first, end)) {
      if (from === 'signalling') {
        const [id, kind, about = '', ...rest] = text.split('|');
        const isResponse = kind === 'response';
        socket?.write(frame([id, kind, isResponse ? (ids.get(about) ?? about) : about, ...rest].join('|')));
        continue;
      }
      await expect.poll(() => said.length, PATIENCE).toBeGreaterThan(0);
      const next = said.shift() ?? '';
      expect(meaningOf(next)).toEqual(meaningOf(text));
      ids.set(text.split('|', 1)[0] ?? '', next.split('|', 1)[0] ?? '');
    }
  }

  it('takes calls, learns that a caller hangs up, and hangs up on one', async () => {
    await play(2, HANG_UP);
    await expect.poll(() => [dialogs.length, ended], PATIENCE).toEqual([2, 1]);
    const hungUp = dialogs[1]?.hangUp();
    await play(HANG_UP);
    await hungUp;
    expect(said).toEqual([]);
  });

  it('takes a call along when it connects anew, without a header that its peer would see', async () => {
    await play(2, HANG_UP);
    await expect.poll(() => dialogs.length, PATIENCE).toBe(2);
    socket?.destroy();
    await expect.poll(() => said.length, PATIENCE).toBeGreaterThan(0);
    await play(0, 2);
    // It has no dialog of that name.
    await expect.poll(() => said.length, PATIENCE).toBe(1);
    socket?.write(frame(`1|response|${said.shift()?.split('|', 1)[0]}|NOK|unknown dialog`));
    await expect.poll(() => said.length, PATIENCE).toBe(1);
    expect(said[0]).toMatch(/\r\nINVITE /);
    expect(said[0]?.toLowerCase()).not.toContain('x-parley');
  });
});

/** What a frame of a worker asks for: its command with the call it is about, and what it sends. */
function meaningOf(text: string): readonly (string | undefined)[] {
  const [head = '', first] = text.split('\r\n', 2);
  const [, command, ...about] = head.split('|');
  // The secret and the tags are the test’s.
  return command === 'authenticate' ? [command] : [command, ...about, first];
}
