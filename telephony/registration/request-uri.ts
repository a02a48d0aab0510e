/** The URI by which the holder of a Contact is called. Pure. */

/**
 * The Request-URI of a valid Contact URI: without the method parameter and the headers, which it must not
 * have (RFC 3261 §19.1.1). Signalling might add them to the request, such as a Route of the holder's choice.
 */
export function requestUriOf(contact: string): string {
  // A user part may contain `;` and `?`: what follows the last `@` is the place.
  const start = contact.lastIndexOf('@') + 1;
  const [place = '', ...parameters] = (contact.slice(start).split('?', 1)[0] ?? '').split(';');
  const kept = parameters.filter((parameter) => !/^(?:method(?:=|$)|$)/i.test(parameter));
  return contact.slice(0, start) + [place, ...kept].join(';');
}
