/**
 * The store of the scene, as `node store-process.ts <folder> <address> <port>`: the embedded database behind
 * a TCP port, with MongoDB's protocol. Ends orderly on SIGTERM.
 */
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { startEmbeddedDatabase } from '#control-plane/platform/store/embedded/embedded-database.ts';

const [folder = '', address = '', port = ''] = process.argv.slice(2);
const database = await startEmbeddedDatabase({
  directory: folder,
  onFatal: (error) => {
    throw error;
  },
});
const door = createServer((client) => {
  const inner = connect(join(folder, 'database.sock'));
  passOn(client, inner);
  passOn(inner, client);
});
door.listen(Number(port), address, () => console.log('ready'));
process.on('SIGTERM', async () => {
  await database.close();
  process.exit(0);
});

function passOn(from: Socket, to: Socket): void {
  from.on('error', () => undefined).on('close', () => to.destroy());
  from.pipe(to);
}
