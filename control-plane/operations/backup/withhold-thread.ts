/** Entry of a backup's thread: removes the keys of sessions from the copy of the database. */
import { workerData } from 'node:worker_threads';
import { createDataKeys } from '../../platform/secrets/secret-box.ts';
import { withholdKeys } from './withheld-keys.ts';

const { file, deploymentKey } = workerData as { file: string; deploymentKey: Uint8Array };
withholdKeys(file, createDataKeys(deploymentKey));
