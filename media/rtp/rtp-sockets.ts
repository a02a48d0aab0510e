/** The two UDP sockets of an RTP leg: media on an even port, RTCP on the odd one above (RFC 3550 §11). */
import { createSocket, type Socket } from 'node:dgram';
import { fault } from '#config/errors.ts';
import type { PortPool } from './port-pool.ts';

const RECEIVE_BUFFER_BYTES = 1 << 18;

/** Both sockets and the media port. */
export interface RtpSockets {
  readonly media: Socket;
  readonly reports: Socket;
  readonly port: number;
}

/** Binds the first free port pair of the pool; throws `Fault('no_media_port')`. */
export async function bindRtpSockets(address: string, ports: PortPool): Promise<RtpSockets> {
  let lastError: unknown;
  for (let attempts = ports.freePorts; attempts > 0; attempts--) {
    const port = ports.acquire();
    if (port === null) break;
    try {
      return { ...(await bindPair(address, port)), port };
    } catch (error) {
      lastError = error;
      ports.release(port);
    }
  }
  throw fault('no_media_port', {}, { cause: lastError });
}

async function bindPair(
  address: string,
  port: number,
): Promise<{ readonly media: Socket; readonly reports: Socket }> {
  const media = await bind(address, port);
  try {
    return { media, reports: await bind(address, port + 1) };
  } catch (error) {
    media.close();
    throw error;
  }
}

function bind(address: string, port: number): Promise<Socket> {
  const family = address.includes(':') ? 6 : 4;
  // Addresses from SDP are literals: nothing to resolve, and a media thread must never wait for DNS.
  const lookup = (
    host: string,
    _: unknown,
    callback: (error: null, address: string, family: number) => void,
  ) => callback(null, host, family);
  const socket = createSocket({
    type: family === 6 ? 'udp6' : 'udp4',
    recvBufferSize: RECEIVE_BUFFER_BYTES,
    lookup: lookup as never,
  });
  return new Promise((resolve, reject) => {
    socket.once('error', (error) => {
      socket.close();
      reject(error);
    });
    socket.bind({ address, port, exclusive: true }, () => {
      socket.removeAllListeners('error');
      resolve(socket);
    });
  });
}
