/** Connection-level commands: handshake, liveness, sessions. */
import type { Clock } from '#base/clock.ts';
import { type Document, MAX_DOCUMENT_BYTES } from './bson-values.ts';
import type { Command } from './command-fields.ts';
import { MAX_MESSAGE_BYTES } from './wire.ts';

/**
 * The server presents itself as a replica set with one member; otherwise drivers would not retry writes or
 * use sessions.
 */
const MEMBER = 'embedded:27017';
/** Wire version of MongoDB 7.0. */
const WIRE_VERSION = 21;

/** Session commands by lower-case name. */
export const SESSION_COMMANDS: ReadonlyMap<string, (clock: Clock, command: Command) => Document> = new Map([
  ['hello', hello],
  ['ismaster', hello],
  ['ping', () => ({})],
  ['buildinfo', () => ({ version: '7.0.0', versionArray: [7, 0, 0, 0], gitVersion: 'embedded' })],
  ['endsessions', () => ({})],
]);

let connections = 0;

function hello(clock: Clock): Document {
  connections += 1;
  return {
    helloOk: true,
    isWritablePrimary: true,
    ismaster: true,
    secondary: false,
    setName: 'embedded',
    setVersion: 1,
    hosts: [MEMBER],
    primary: MEMBER,
    me: MEMBER,
    maxBsonObjectSize: MAX_DOCUMENT_BYTES,
    maxMessageSizeBytes: MAX_MESSAGE_BYTES,
    maxWriteBatchSize: 100_000,
    localTime: new Date(clock.wallTime()),
    logicalSessionTimeoutMinutes: 30,
    connectionId: connections,
    minWireVersion: 0,
    maxWireVersion: WIRE_VERSION,
    readOnly: false,
  };
}
