/** The doctor's check of SIP over TLS: the configured certificate, and the one that the port presents. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { readPem } from '#base/pem.ts';
import { type Settings, signallingServers } from '#config/env.ts';
import type { CheckResult } from './check-result.ts';

const SUBJECT = 'SIP over TLS';
const CONNECT_MS = 3_000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** A certificate that expires within this time is reported, because carriers refuse calls once it has. */
const EXPIRY_WARNING_MS = 14 * DAY_MS;

/**
 * Checks as of `nowMs` (wall clock); `canBind` tests whether the port is free while the product is stopped.
 * Returns null if the embedded signalling does not use TLS.
 */
export async function checkSipTls(
  settings: Settings,
  {
    host,
    isRunning,
    nowMs,
    canBind,
  }: {
    readonly host: string;
    readonly isRunning: boolean;
    readonly nowMs: number;
    readonly canBind: (host: string, port: number) => Promise<boolean>;
  },
): Promise<CheckResult | null> {
  const { SIP_TLS_CERT, SIP_TLS_KEY, SIP_TLS_PORT: port } = settings;
  if (SIP_TLS_CERT === undefined || SIP_TLS_KEY === undefined || signallingServers(settings).length > 0)
    return null;
  const certificate = readCertificate(SIP_TLS_CERT, SIP_TLS_KEY);
  if (typeof certificate === 'string')
    return {
      subject: SUBJECT,
      verdict: 'failed',
      result: certificate,
      fix: 'correct SIP_TLS_CERT and SIP_TLS_KEY',
    };
  const leftMs = certificate.validToDate.getTime() - nowMs;
  const expiryDate = certificate.validToDate.toISOString().slice(0, 10);
  if (leftMs <= 0)
    return {
      subject: SUBJECT,
      verdict: 'failed',
      result: `the certificate expired on ${expiryDate}`,
      fix: 'renew it, then restart the product',
    };
  if (port === 0)
    return {
      subject: SUBJECT,
      verdict: 'note',
      result: 'not checked: with SIP_TLS_PORT=0 every start picks another port',
    };
  const address = `${host} port ${port}`;
  if (!isRunning && !(await canBind(settings.SIP_HOST, port)))
    return {
      subject: SUBJECT,
      verdict: 'failed',
      result: `${address} is not available (TCP)`,
      fix: 'stop the program that uses it (ss -lntp), or set another SIP_TLS_PORT',
    };
  const presented = isRunning ? await presentedAt(host, port) : certificate.fingerprint256;
  if (presented === null)
    return {
      subject: SUBJECT,
      verdict: 'failed',
      result: `nothing answers on ${address}`,
      fix: 'see the log of the signalling process, and check SIP_TLS_PORT',
    };
  if (presented !== certificate.fingerprint256)
    return {
      subject: SUBJECT,
      verdict: 'failed',
      result: `${address} does not present the certificate of SIP_TLS_CERT`,
      fix: 'restart the product',
    };
  if (leftMs < EXPIRY_WARNING_MS)
    return {
      subject: SUBJECT,
      verdict: 'note',
      result: `the certificate expires on ${expiryDate}`,
      fix: 'renew it, then restart the product',
    };
  return {
    subject: SUBJECT,
    verdict: 'ok',
    result: isRunning
      ? `${address} presents the certificate, which is valid until ${expiryDate}`
      : `${address} is free; the certificate is valid until ${expiryDate}`,
  };
}

/** Returns the certificate, or a description of its problem. */
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

/**
 * Returns the fingerprint of the certificate that a server presents, without verifying its issuer; null if no
 * server answers.
 */
function presentedAt(host: string, port: number): Promise<string | null> {
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
