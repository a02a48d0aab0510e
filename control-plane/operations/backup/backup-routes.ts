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
import { archivedMonths, type SessionCollection } from '../../platform/store/session-archive.ts';
import { packBackup } from './pack-backup.ts';

const AT_ONCE = 500;

type Keyed = Pick<SessionDocument, '_id' | 'wrapped_key'>;

/**
 * One line per session, of calls and in writing: its id, and its key in base64; null if it was erased, as
 * opposed to a session this deployment never had.
 */
async function* keyLines({ models }: Context): AsyncGenerator<string> {
  const { collection: sessions } = models.sessions;
  for (const collection of [sessions, models.textSessions.collection])
    for await (const session of keysIn(collection)) yield lineOf(session);
  for (const { collection } of await archivedMonths({ models })) {
    let some: Keyed[] = [];
    for await (const session of keysIn(collection)) {
      some.push(session);
      if (some.length < AT_ONCE) continue;
      for (const each of await withoutHidden(sessions, some)) yield lineOf(each);
      some = [];
    }
    for (const each of await withoutHidden(sessions, some)) yield lineOf(each);
  }
}

async function* keysIn(collection: SessionCollection): AsyncGenerator<Keyed> {
  for await (const found of collection.find({}, { projection: { wrapped_key: 1 } }))
    yield found as unknown as Keyed;
}

/** Those of an archive that are not among the sessions, too. */
async function withoutHidden(sessions: SessionCollection, archived: readonly Keyed[]): Promise<Keyed[]> {
  const ids = archived.map(({ _id }) => _id);
  const hiding = await sessions.find({ _id: { $in: ids } } as never, { projection: { _id: 1 } }).toArray();
  const hidden = new Set(hiding.map(({ _id }) => String(_id)));
  return archived.filter(({ _id }) => !hidden.has(_id));
}

function lineOf({ _id, wrapped_key }: Keyed): string {
  const key = wrapped_key ? toBuffer(wrapped_key).toString('base64') : null;
  return `${JSON.stringify({ session_id: _id, wrapped_key: key })}\n`;
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
