/**
 * Health check of a container: succeeds when the part that runs in it answers `/healthz`: a worker or
 * signalling that runs alone on its health port, anything else on the port of the API. An argument names the
 * part; by default it is the last argument of the container's first process.
 */
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';

const PORTS = { api: 8080, health: 9090 };
const { HOST, PORT, TLS_CERT, HEALTH_HOST, HEALTH_PORT } = process.env;
const first = () => readFileSync('/proc/1/cmdline', 'utf8').split('\0').filter(Boolean).at(-1);
const part = process.argv[2] ?? first();
const isAlone = part === 'worker' || part === 'signalling';
const isSecure = !isAlone && Boolean(TLS_CERT);
const host = (isAlone ? HEALTH_HOST : HOST) || '127.0.0.1';

(isSecure ? https : http)
  .get({
    host: host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host,
    port: (isAlone ? HEALTH_PORT : PORT) || (isAlone ? PORTS.health : PORTS.api),
    path: '/healthz',
    // The certificate names the public address.
    rejectUnauthorized: false,
  })
  .on('response', ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))
  .on('error', () => process.exit(1));
