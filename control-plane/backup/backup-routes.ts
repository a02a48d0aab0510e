/** A backup of the whole deployment, taken while it runs (docs/operations.md): one tar over HTTP, for the operator only, as the keys to everything are in it. */

import { fault } from '#config/errors.ts';
import type { Context } from '../context.ts';
import type { ApiServer } from '../server.ts';
import { packBackup } from './pack-backup.ts';

/** Registers the backup. */
export function registerBackupRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/admin/backup',
    {
      config: { access: 'operator' },
      schema: { tags: ['operator'], summary: 'The database, the recordings and the secrets as they are now, as application/x-tar' },
    },
    async (_request, reply) => {
      const { copyTo } = context.database;
      if (!copyTo)
        throw fault('conflict', {
          detail:
            'This deployment keeps its data in MongoDB (MONGODB_URL): back it up with mongodump, and keep a copy of DATA_DIR/credentials.json and of BLOBS_URL beside it',
        });
      const tar = await packBackup(context, copyTo);
      return reply.type('application/x-tar').send(tar);
    },
  );
}
