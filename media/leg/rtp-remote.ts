/** The peer of an RTP leg: address, codec and keys. */

/** The peer of an RTP stream, as negotiated (RFC 3264). */
export interface RtpRemote {
  readonly address: string;
  readonly port: number;
  readonly codec: RtpCodec;
  /** Payload type of `codec` in both directions. */
  readonly payloadType: number;
  /** The most that the peer takes of `codec`, bit/s on average; absent if it does not say. */
  readonly maxBitRate?: number;
  /** Payload type of telephone-event (RFC 4733), or null if it was not negotiated. */
  readonly digitPayloadType: number | null;
  /** Clock rate of its durations, Hz; 8000 if absent. */
  readonly digitClockHz?: number;
  /** RTCP uses the media port (RFC 5761); otherwise the port above. */
  readonly isRtcpMuxed?: boolean;
  /** Both streams are encrypted (SRTP); absent if they are not. */
  readonly srtp?: SrtpKeys;
  /** Sends nothing there until something was received from there. */
  readonly isHeardFirst?: boolean;
  /** The address is that of the operator's media relay. */
  readonly isRelay?: boolean;
  /** False while the peer has put us on hold (sendonly/inactive). */
  readonly sending: boolean;
}

/** Codecs of RTP legs. */
export type RtpCodec = 'PCMU' | 'PCMA' | 'G722' | 'opus';

/** Supported suites of protected streams (RFC 4568 §6.2). */
export type SrtpSuite = 'AES_CM_128_HMAC_SHA1_80' | 'AES_CM_128_HMAC_SHA1_32';

/** Keys of a protected stream. */
export interface SrtpKeys {
  readonly suite: SrtpSuite;
  /** Our master key and salt, 30 bytes in base64. */
  readonly sendKey: string;
  /** The peer's. */
  readonly receiveKey: string;
  /** Length of the key identifier in each packet of the peer, bytes; absent if there is none. */
  readonly receiveMkiBytes?: number;
}
