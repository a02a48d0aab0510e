/**
 * Node's HTTP for modules that are loaded at the start. An import of `node:http` reads all exports of that
 * module, and with its WebSocket classes loads Node's own undici, which takes a tenth of a second.
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export const { createServer, STATUS_CODES } = require('node:http') as typeof import('node:http');
