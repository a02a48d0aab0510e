/** The SIP methods that applications and the embedded server accept within a call (RFC 3261 §20.5). */
export const ALLOW = 'INVITE, ACK, CANCEL, BYE, OPTIONS, INFO, UPDATE, PRACK, NOTIFY';
