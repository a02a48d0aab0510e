/** Option tags of the extensions that are supported (RFC 3261 §19.2). */

/** In calls: session timers (RFC 4028) and reliable provisional responses (RFC 3262). */
export const EXTENSIONS: readonly string[] = ['timer', '100rel'];

/** In a REGISTER: the way back to a phone as well (RFC 3327, RFC 5626). */
export const REGISTER_EXTENSIONS: readonly string[] = [...EXTENSIONS, 'path', 'outbound'];
