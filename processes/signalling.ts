/** Composes the embedded signalling of one process: the SIP server, with admission by the control plane. */
import { systemClock } from '#base/clock.ts';
import { collectStartGarbage } from '#base/garbage.ts';
import { createLogger } from '#base/log.ts';
import { readPem } from '#base/pem.ts';
import { sessionPriority, setSessionPriority } from '#base/platform.ts';
import { PROCESS_PRIORITIES } from '#base/thread-priority.ts';
import type { Settings } from '#config/env.ts';
import { startEmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { SipTls } from '#telephony/embedded/transport.ts';
import { createHttpAdmission, createHttpWorkerReports } from '#telephony/http-admission.ts';
import { type ManagedProcess, runProcess } from './child-process.ts';
import { giveWayDuringFloods } from './flood-priority.ts';
import { describeHealth, openHealthPort } from './health-server.ts';
import { explainListenError } from './ports.ts';
import { ControlPlaneContact, healthOfSignalling } from './signalling-health.ts';

/** Runs the embedded signalling as a process; the supervisor passes the address of the control plane. */
export async function runSignallingProcess(settings: Settings): Promise<void> {
  const { CONTROL_PLANE_URL, WORKER_TOKEN } = settings;
  if (CONTROL_PLANE_URL === undefined || WORKER_TOKEN === undefined)
    throw new Error('CONTROL_PLANE_URL, WORKER_TOKEN: must be set for the signalling');
  const logger = createLogger({ level: settings.LOG_LEVEL, format: settings.LOG_FORMAT, name: 'signalling' });
  await runProcess(logger, async (noteActivity): Promise<ManagedProcess> => {
    const contact = new ControlPlaneContact();
    const health = await openHealthPort(settings, systemClock, logger);
    // Before it listens: calls would wait.
    collectStartGarbage();
    const server = await startEmbeddedSignalling({
      sipHost: settings.SIP_HOST,
      sipPort: settings.SIP_PORT,
      publicIp: settings.SIP_PUBLIC_IP,
      tls: sipTls(settings),
      appHost: settings.DRACHTIO_HOST ?? '127.0.0.1',
      appPort: settings.DRACHTIO_PORT,
      secret: settings.DRACHTIO_SECRET,
      clock: systemClock,
      logger,
      noteActivity,
      admit: contact.counted(createHttpAdmission(CONTROL_PLANE_URL, WORKER_TOKEN)),
      reportWorkers: contact.counted(createHttpWorkerReports(CONTROL_PLANE_URL, WORKER_TOKEN)),
    }).catch((error: unknown) => {
      throw explainListenError(error, {
        setting: 'SIP_HOST, SIP_PORT, SIP_TLS_PORT',
        host: settings.SIP_HOST,
        port: settings.SIP_PORT,
      });
    });
    if (health) {
      const { Meters } = await import('#base/meters.ts');
      health.serve(healthOfSignalling(server, contact, new Meters().addProcess()));
    }
    const unwanted = () => server.metrics().flooded + server.metrics().malformed;
    const stopGivingWay = giveWayDuringFloods(systemClock, unwanted, {
      usual: PROCESS_PRIORITIES.signalling,
      read: () => sessionPriority(process.pid),
      set: (priority) => setSessionPriority(process.pid, priority),
    });
    // While draining, admission refuses new calls; running ones still need their BYE.
    return {
      facts: { outlivesDrain: true, sipPort: server.sipPort },
      lines: [
        `Signalling   ${settings.SIP_HOST} port ${server.sipPort}, UDP and ` +
          `TCP${server.tlsPort === null ? '' : `; port ${server.tlsPort}, TLS`}`,
        ...describeHealth(health),
      ],
      isAtRest: () => server.metrics().dialogs === 0,
      drain: async () => undefined,
      async close() {
        stopGivingWay();
        await health?.close();
        await server.close();
      },
    };
  });
}

/** TLS for SIP; null without a certificate. */
function sipTls({ SIP_TLS_PORT, SIP_TLS_CERT, SIP_TLS_KEY, SIP_TLS_CA }: Settings): SipTls | null {
  if (SIP_TLS_CERT === undefined || SIP_TLS_KEY === undefined) return null;
  return {
    port: SIP_TLS_PORT,
    certificate: readPem('SIP_TLS_CERT', SIP_TLS_CERT),
    key: readPem('SIP_TLS_KEY', SIP_TLS_KEY),
    authorities: SIP_TLS_CA === undefined ? null : readPem('SIP_TLS_CA', SIP_TLS_CA),
  };
}
