/** Tells secrets by the names of their settings. */

/** Whether a setting is a secret, or the file of one. */
export function isSecretName(name: string): boolean {
  return /_(KEY|SECRET|TOKEN|PASSWORD)$/.test(name);
}
