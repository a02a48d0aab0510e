import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import mongoose from 'mongoose';

/** The driver's connection; the driver does not export its class. */
interface DriverConnection {
  readonly socket: Socket;
  /** Why it is closed. */
  readonly error: Error | null;
  writeCommand(...command: unknown[]): Promise<void>;
}

const { Connection } = createRequire(createRequire(import.meta.url).resolve('mongoose'))(
  'mongodb/lib/cmap/connection.js',
) as { readonly Connection: { readonly prototype: DriverConnection } };

const { writeCommand } = Connection.prototype;

/**
 * Lets a command of the MongoDB driver fail if its connection is closed before the command is written.
 *
 * A destroyed socket drops the bytes written to it and never drains, and the driver waits for "drain" alone.
 * If many connections close at once, as when MongoDB stops, such a command waits forever. If it is the
 * monitor's check, no later command finds the server. Seen in mongodb 7.8.0 and 7.9.0.
 */
export function endClosedWrites(): void {
  if (Connection.prototype.writeCommand !== writeCommand) return;
  Connection.prototype.writeCommand = function (...command) {
    return new Promise((resolve, reject) => {
      const { socket } = this;
      // The driver has just stored its own reason, with the labels by which it repeats commands.
      const onClose = () => reject(this.error ?? new mongoose.mongo.MongoNetworkError('connection closed'));
      socket.once('close', onClose);
      writeCommand
        .apply(this, command)
        .finally(() => socket.off('close', onClose))
        .then(resolve, reject);
    });
  };
}
