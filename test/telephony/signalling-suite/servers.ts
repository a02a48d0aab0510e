/**
 * The servers that telephony/ runs on. The tests of this folder run on each of them: always on the embedded
 * one, and on a real drachtio-server if installed (`drachtio` on the PATH, or DRACHTIO_SERVER).
 * docs/drachtio.md lists the differences.
 */
import { type describe, expect, it } from 'vitest';
import type { AdmissionAnswer, AdmissionRequest } from '#protocol/sip-admission.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { DRACHTIO_PROGRAM, startDrachtioServerAlone } from '#test/fakes/drachtio-server.ts';
import { connectTestWorker, SECRET, startTestSignalling } from '#test/fakes/signalling.ts';
import { describeNeeds, describeWhereThere } from '#test/needs.ts';

/** The server's admission check for a new INVITE. */
export type Admit = (question: AdmissionRequest) => Promise<AdmissionAnswer>;

/** A server for SIP over UDP and TCP on the loopback. */
export interface SuiteServer {
  readonly sipPort: number;
  /** Port for application connections. */
  readonly appPort: number;
  /** Number of dialogs it keeps; null if it does not report this. */
  dialogs(): number | null;
  /** Resolves once a connected worker is given calls. */
  serving(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a server; `ports` are those of a stopped server, which it replaces without its state. */
export type StartServer = (
  admit?: Admit,
  ports?: { readonly sipPort: number; readonly appPort: number },
) => Promise<SuiteServer>;

const toFirstWorker: Admit = async () => ({ action: 'route', data: { tag: 'worker-1' } });

const startEmbedded: StartServer = async (admit = toFirstWorker, ports = { sipPort: 0, appPort: 0 }) => {
  const server = await startTestSignalling({ ...ports, admit });
  return {
    sipPort: server.sipPort,
    appPort: server.appPort,
    dialogs: () => server.metrics().dialogs,
    serving: async () => undefined,
    close: () => server.close(),
  };
};

const startDrachtio: StartServer = async (admit = toFirstWorker, ports) => {
  const server = await startDrachtioServerAlone({ secret: SECRET, ...(ports ? { ports } : {}) }, admit);
  return { ...server, dialogs: () => null };
};

/** `it` for features that only the embedded server has; skipped for drachtio-server. */
export type ItBeyond = (title: string, test: () => Promise<void>) => void;

/** Runs `body` for each server; `programs` are the further programs it needs. */
export function describeServers(
  programs: readonly string[],
  title: string,
  body: (start: StartServer, beyond: ItBeyond) => void,
): void {
  const on = (
    server: string,
    each: typeof describe | typeof describe.skip,
    [start, beyond]: readonly [StartServer, ItBeyond],
  ) => each(`${title}, on ${server}`, () => body(start, beyond));
  on('the embedded server', describeNeeds(programs), [startEmbedded, it]);
  on('drachtio-server', describeWhereThere([...programs, DRACHTIO_PROGRAM]), [
    startDrachtio,
    () => undefined,
  ]);
}

/** Connects a worker to a server, through the relay at `port` if any. */
export async function connectWorker(
  server: SuiteServer,
  { port = server.appPort, tag = 'worker-1' }: { readonly port?: number; readonly tag?: string } = {},
): Promise<Signalling> {
  const worker = await connectTestWorker({ appPort: port }, tag);
  await server.serving();
  return worker;
}

/** Expects this many dialogs on a server that reports them. */
export async function expectDialogs(server: SuiteServer, count: number): Promise<void> {
  await expect.poll(() => server.dialogs() ?? count, { timeout: 10_000 }).toBe(count);
}
