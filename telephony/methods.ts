/**
 * The SIP methods this side of a call takes (RFC 3261 §20.5), as the application and the embedded server tell
 * them.
 */
export const ALLOW = 'INVITE, ACK, CANCEL, BYE, OPTIONS, INFO, UPDATE, PRACK, NOTIFY';
