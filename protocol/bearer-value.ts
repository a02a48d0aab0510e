/** The value of an `authorization_bearer` header, which the API sends exactly as stored. */

/**
 * Adds the scheme (RFC 6750, section 2.1) to a bare credential. A value that has it is unchanged, and so is
 * one that starts with a placeholder, which may bring it.
 */
export function bearerValue(value: string): string {
  return value === '' || /^(?:bearer |\{\{)/i.test(value) ? value : `Bearer ${value}`;
}
