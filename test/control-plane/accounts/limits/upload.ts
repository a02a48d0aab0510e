/** An upload over its own connection, driven step by step by a test. */
import { connect, type Socket } from 'node:net';

/** The announcement of an upload: address, key and size. */
export interface Announcement {
  readonly port: number;
  readonly key: string;
  readonly path: string;
  /** Null means unknown. */
  readonly bytes: number | null;
  readonly type?: string;
}

/** An upload that announces a known or unknown size and sends none of its body by itself. */
export class Upload {
  readonly socket: Socket;
  text = '';

  constructor({ port, key, path, bytes, type = 'multipart/form-data; boundary=b' }: Announcement) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('data', (chunk) => {
      this.text += String(chunk);
    });
    this.socket.on('error', () => undefined);
    const length = bytes === null ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes}`;
    this.socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: ` +
        `${type}\r\n${length}\r\n\r\n`,
    );
  }

  sendChunk(bytes: number): void {
    this.sendText('x'.repeat(bytes));
  }

  sendText(text: string): void {
    this.socket.write(`${text.length.toString(16)}\r\n${text}\r\n`);
  }

  endChunks(): void {
    this.socket.write('0\r\n\r\n');
  }

  get status(): number {
    return Number(this.text.split(' ')[1] ?? 0);
  }
}
