/** The doctor's check of SIP over TLS: the configured certificate, and who answers on its port. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { readPem } from '#base/pem.ts';
import type { Settings } from '#config/env.ts';
import type { Finding } from './check-result.ts';

const WHAT = 'SIP over TLS';
const CONNECT_MS = 3_000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Carriers refuse calls once a certificate has expired. */
const SOON_MS = 14 * DAY_MS;

/**
 * Result as of `nowMs`; `canBind` tries a port while the product is stopped. Null if the embedded signalling
 * does not use TLS.
 */
export async function checkSipTls(
  settings: Settings,
  of: {
    readonly host: string;
    readonly isRunning: boolean;
    readonly nowMs: number;
    canBind(host: string, port: number): Promise<boolean>;
  },
): Promise<Finding | null> {
  const { SIP_TLS_CERT, SIP_TLS_KEY, SIP_TLS_PORT: port, DRACHTIO_HOST } = settings;
  if (SIP_TLS_CERT === undefined || SIP_TLS_KEY === undefined || DRACHTIO_HOST !== undefined) return null;
  const certificate = readCertificate(SIP_TLS_CERT, SIP_TLS_KEY);
  if (typeof certificate === 'string')
    return {
      what: WHAT,
      verdict: 'failed',
      found: certificate,
      advice: 'correct SIP_TLS_CERT and SIP_TLS_KEY',
    };
  const leftMs = certificate.validToDate.getTime() - of.nowMs;
  const until = certificate.validToDate.toISOString().slice(0, 10);
  if (leftMs <= 0)
    return {
      what: WHAT,
      verdict: 'failed',
      found: `the certificate expired on ${until}`,
      advice: 'renew it, and start again',
    };
  if (port === 0)
    return {
      what: WHAT,
      verdict: 'note',
      found: 'SIP_TLS_PORT is 0: every start picks another port, which is not checked',
    };
  const where = `${of.host} port ${port}`;
  if (!of.isRunning && !(await of.canBind(settings.SIP_HOST, port)))
    return {
      what: WHAT,
      verdict: 'failed',
      found: `${where} is not available (TCP)`,
      advice: 'stop what uses it (ss -lntp), or set another SIP_TLS_PORT',
    };
  const shown = of.isRunning ? await shownAt(of.host, port) : certificate.fingerprint256;
  if (shown === null)
    return {
      what: WHAT,
      verdict: 'failed',
      found: `nothing answers on ${where}`,
      advice: 'see the log of the signalling, or set SIP_TLS_PORT to its port',
    };
  if (shown !== certificate.fingerprint256)
    return {
      what: WHAT,
      verdict: 'failed',
      found: `${where} presents another certificate than SIP_TLS_CERT`,
      advice: 'start the product again',
    };
  if (leftMs < SOON_MS)
    return {
      what: WHAT,
      verdict: 'note',
      found: `the certificate expires on ${until}`,
      advice: 'renew it, and start again',
    };
  return {
    what: WHAT,
    verdict: 'ok',
    found:
      `${where} ${of.isRunning ? 'presents' : 'is free for'} the certificate, which is valid until ` +
      `${until}`,
  };
}

/** The certificate, or the problem with it. */
function readCertificate(certificate: string, key: string): X509Certificate | string {
  try {
    const parsed = new X509Certificate(readPem('SIP_TLS_CERT', certificate));
    return parsed.checkPrivateKey(createPrivateKey(readPem('SIP_TLS_KEY', key)))
      ? parsed
      : 'SIP_TLS_KEY is not the key of SIP_TLS_CERT';
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    return message.startsWith('SIP_TLS_') ? message : 'SIP_TLS_CERT or SIP_TLS_KEY cannot be read as PEM';
  }
}

/** Fingerprint of the certificate that a server presents, whoever issued it; null if no server answers. */
function shownAt(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, rejectUnauthorized: false, timeout: CONNECT_MS });
    const end = (fingerprint: string | null) => {
      socket.destroy();
      resolve(fingerprint);
    };
    socket.once('secureConnect', () => end(socket.getPeerCertificate().fingerprint256));
    socket.once('error', () => end(null));
    socket.once('timeout', () => end(null));
  });
}
