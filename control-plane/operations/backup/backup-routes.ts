/**
 * A backup of the whole deployment while it runs (docs/operations.md): one tar over HTTP, for the operator
 * only, because it contains all keys.
 */

import { Readable } from 'node:stream';
import { deploymentOf } from '#config/credentials.ts';
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { type SessionDocument, toBuffer } from '../../platform/store/models/session-model.ts';
import { packBackup } from './pack-backup.ts';

/**
 * One line per session, of calls and in writing: its id, and its key in base64; null if it was erased, as
 * opposed to a session this deployment never had.
 */
async function* keyLines({ models }: Context): AsyncGenerator<string> {
  type Keyed = Pick<SessionDocument, '_id' | 'wrapped_key'>;
  const calls = models.sessions.find({}, { wrapped_key: 1 }).lean<Keyed[]>();
  const written = models.textSessions.find({}, { wrapped_key: 1 }).lean<Keyed[]>();
  for (const all of [calls, written])
    for await (const { _id, wrapped_key } of all.cursor()) {
      const key = wrapped_key ? toBuffer(wrapped_key).toString('base64') : null;
      yield `${JSON.stringify({ session_id: _id, wrapped_key: key })}\n`;
    }
}

/** Registers the backup. */
export function registerBackupRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/admin/backup',
    {
      config: { access: 'operator' },
      schema: {
        tags: ['operator'],
      },
    },
    async (_request, reply) => {
      const { copyTo } = context.database;
      if (!copyTo)
        throw fault('conflict', {
          detail:
            'This deployment keeps its data in MongoDB (MONGODB_URL): back it up with mongodump --oplog, ' +
            'together with DATA_DIR/credentials.json and BLOBS_URL',
        });
      const tar = await packBackup(context, copyTo);
      return reply.type('application/x-tar').send(tar);
    },
  );

  app.post(
    '/admin/backup/session-keys',
    {
      config: { access: 'operator' },
      schema: {
        tags: ['operator'],
      },
    },
    (_request, reply) =>
      reply
        .type('application/x-ndjson')
        .header('parley-deployment', deploymentOf(context.credentials.deploymentKey))
        .send(Readable.from(keyLines(context))),
  );
}
