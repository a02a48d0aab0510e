/**
 * Secrets in files: `NAME_FILE` names the file with the value of `NAME`, as Docker and Kubernetes mount
 * secrets.
 */
import { readFileSync } from 'node:fs';
import { readSettings, SETTING_NAMES, type Settings, SettingsError } from './env.ts';
import { isSecretName } from './secret-name.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Their values are already files. */
const CERTIFICATE_KEYS = new Set(['TLS_KEY', 'SIP_TLS_KEY']);

/** Settings that may come from a file: secrets, and addresses that contain one. */
export const FILE_SETTINGS: readonly string[] = [
  ...SETTING_NAMES.filter((name) => isSecretName(name) && !CERTIFICATE_KEYS.has(name)),
  'ICE_SERVERS',
  'MASTER_KEY_OLD',
  'MONGODB_URL',
  'REDIS_URL',
  'AWS_SECRET_ACCESS_KEY',
];

/**
 * The environment with each `NAME_FILE` replaced by `NAME`, without the line break at the end of the file.
 * Throws `SettingsError` if a file cannot be read or is empty, or if both names are set.
 */
export function readSecretFiles(
  environment: Environment,
  read: (file: string) => string = (file) => readFileSync(file, 'utf8'),
): Record<string, string | undefined> {
  const resolved = { ...environment };
  const problems: string[] = [];
  for (const name of FILE_SETTINGS) {
    const fileName = `${name}_FILE`;
    const file = environment[fileName];
    delete resolved[fileName];
    if (file === undefined || file === '') continue;
    if (environment[name]) problems.push(`${fileName}: must not be set together with ${name}`);
    else {
      const { value, problem } = valueIn(file, read);
      if (problem === null) resolved[name] = value;
      else problems.push(`${fileName}: ${problem}`);
    }
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return resolved;
}

/** The settings of an environment, with secrets from files. Throws `SettingsError`. */
export function readSettingsAndFiles(environment: Environment): Settings {
  return readSettings(readSecretFiles(environment));
}

function valueIn(
  file: string,
  read: (file: string) => string,
): { readonly value: string; readonly problem: string | null } {
  try {
    const value = read(file).replace(/\r?\n$/, '');
    return { value, problem: value === '' ? `${file} is empty` : null };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { value: '', problem: `${file} cannot be read (${code ?? (error as Error).message})` };
  }
}
