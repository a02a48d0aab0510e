/** The value of an `authorization_bearer` header, which the API sends exactly as stored. */

/**
 * Adds the scheme (RFC 6750, section 2.1) to a bare credential. A value with white space is unchanged: it
 * names a scheme. So is one that starts with a placeholder, which may bring one.
 */
export function bearerValue(value: string): string {
  return value === '' || value.startsWith('{{') || /\s/.test(value) ? value : `Bearer ${value}`;
}
