const KEY_BYTES = 32;

/** Whether a text is a public key as Telnyx shows it: 32 bytes in base64. */
export function isTelnyxKey(text: string): boolean {
  return Buffer.from(text, 'base64').length === KEY_BYTES;
}
