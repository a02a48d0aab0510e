/** A packet capture by tcpdump: the only source of the times the caller reports. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CapturedDatagram, readPcap } from './pcap.ts';

const START_MS = 5_000;
/**
 * Kernel buffer of the capture, KiB: several seconds of two hundred calls, so that no packets are lost if the
 * reader does not run for a while.
 */
const BUFFER_KIB = 65_536;
/** Time for the kernel to deliver the last packets. */
const SETTLE_MS = 100;

/** A running capture. */
export interface Capture {
  /**
   * Ends it and returns the packets. Throws if the kernel dropped any, because their gaps would be attributed
   * to the product.
   */
  stop(): Promise<CapturedDatagram[]>;
}

/** Says what is missing if a capture cannot be made. */
export class CaptureError extends Error {
  override readonly name = 'CaptureError';
}

/**
 * Captures UDP of the ports from `first` to `last` on one interface. Resolves once packets are captured;
 * throws `CaptureError`.
 */
export async function startCapture(
  ports: { readonly first: number; readonly last: number },
  networkInterface = 'lo',
): Promise<Capture> {
  const folder = mkdtempSync(join(tmpdir(), 'caller-capture-'));
  const file = join(folder, 'packets.pcap');
  const filter = `udp portrange ${ports.first}-${ports.last}`;
  // Reads from this process's own folder: no change of user (-Z). Written in blocks, because a write per
  // packet would disturb what is measured.
  const child = spawn(
    'tcpdump',
    ['-i', networkInterface, '-n', '-s', '0', '-B', String(BUFFER_KIB), '-Z', 'root', '-w', file, filter],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  const said: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => said.push(text));
  try {
    await listening(child, said);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    async stop() {
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
      if (child.exitCode === null) {
        child.kill('SIGINT');
        await once(child, 'exit');
      }
      try {
        const dropped = Number(/(\d+) packets? dropped by kernel/.exec(said.join(''))?.[1] ?? 0);
        if (dropped > 0)
          throw new CaptureError(`tcpdump lost ${dropped} packets; the figures would be wrong`);
        return readPcap(readFileSync(file));
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}

function listening(child: ChildProcess, said: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      clearTimeout(deadline);
      child.off('exit', onExit);
      child.stderr?.off('data', onText);
    };
    const fail = (message: string) => {
      settle();
      child.kill('SIGKILL');
      reject(new CaptureError(message));
    };
    const onExit = () => fail(`tcpdump lacks permission to capture here: ${said.join('').trim()}`);
    const onText = () => {
      if (!said.join('').includes('listening on')) return;
      settle();
      resolve();
    };
    const deadline = setTimeout(
      () => fail(`tcpdump did not start within ${START_MS} ms: ${said.join('').trim()}`),
      START_MS,
    );
    child.on('exit', onExit);
    child.stderr?.on('data', onText);
    child.on('error', (error) =>
      fail(
        (error as NodeJS.ErrnoException).code === 'ENOENT'
          ? 'tcpdump is not installed; every time is read from a packet capture'
          : error.message,
      ),
    );
  });
}
