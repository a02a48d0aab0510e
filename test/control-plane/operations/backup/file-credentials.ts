import { type Credentials, loadCredentials } from '#config/credentials.ts';
import { readSettings } from '#config/env.ts';

/** The credentials of a deployment without a master key; generates missing ones. */
export function fileCredentials(dataDir: string): Credentials {
  const { deploymentKey, ...found } = loadCredentials(readSettings({ DATA_DIR: dataDir }));
  if (!deploymentKey) throw new Error('the deployment has a master key');
  return { ...found, deploymentKey };
}
