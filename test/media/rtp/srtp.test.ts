import { describe, expect, it } from 'vitest';
import type { SrtpKeys, SrtpSuite } from '#media/leg/rtp-remote.ts';
import { writeRtpHeader } from '#media/rtp/packet.ts';
import { newSrtpKey, SRTP_GROWTH_BYTES, SrtpReceiver, SrtpSender } from '#media/rtp/srtp.ts';

const hex = (text: string) => Buffer.from(text.replace(/\s/g, ''), 'hex');
/** Master key and salt of RFC 3711 appendix B.3. */
const KEY = hex('E1F97A0D3E018BE0D64FA32C06DE4139 0EC675AD498AFEEBB6960B3AABE6').toString('base64');

function packet(sequence: number, ssrc = 7, payload = 'a voice'): Buffer {
  const bytes = Buffer.alloc(12 + payload.length);
  writeRtpHeader(bytes, { marker: false, payloadType: 0, sequence, timestamp: sequence * 160, ssrc });
  bytes.write(payload, 12);
  return bytes;
}

function sealed(sender: SrtpSender, plain: Buffer): Buffer {
  const buffer = Buffer.concat([plain, Buffer.alloc(SRTP_GROWTH_BYTES)]);
  return buffer.subarray(0, sender.protect(buffer, plain.length));
}

/** Passes a copy, because opening decrypts in place. */
const open = (receiver: SrtpReceiver, bytes: Uint8Array) => receiver.open(Uint8Array.from(bytes));
const openReport = (receiver: SrtpReceiver, bytes: Uint8Array) => receiver.openReport(Uint8Array.from(bytes));

describe('SRTP (RFC 3711)', () => {
  const keys = (over: Partial<SrtpKeys> = {}): SrtpKeys => ({
    suite: 'AES_CM_128_HMAC_SHA1_80',
    sendKey: KEY,
    receiveKey: KEY,
    ...over,
  });

  it('protects a packet and a report with the keys of appendix B.3 as other implementations do', () => {
    const sender = new SrtpSender('AES_CM_128_HMAC_SHA1_80', KEY);
    const rtp = hex(`800f1234decafbadcafebabe${'ab'.repeat(16)}`);
    expect(sealed(sender, rtp).toString('hex')).toBe(
      '800f1234decafbadcafebabe4e55dc4ce79978d88ca4d215949d2402b78d6acc99ea179b8dbb',
    );
    const rtcp = hex(`81c8000bcafebabe${'ab'.repeat(16)}`);
    expect(Buffer.from(sender.protectReport(rtcp)).toString('hex')).toBe(
      '81c8000bcafebabe7128035be487b9bdbef89041f977a5a880000001993e08cd54d6c1230798',
    );
  });

  it.each<SrtpSuite>(['AES_CM_128_HMAC_SHA1_80', 'AES_CM_128_HMAC_SHA1_32'])(
    '%s: only the other side can read what one side protects',
    (suite) => {
      const sender = new SrtpSender(suite, KEY);
      const receiver = new SrtpReceiver(keys({ suite }));
      const otherReceiver = new SrtpReceiver(keys({ suite, receiveKey: newSrtpKey() }));
      const protectedPacket = sealed(sender, packet(1));
      expect(protectedPacket.length).toBe(packet(1).length + (suite.endsWith('80') ? 10 : 4));
      expect(protectedPacket.includes('voice')).toBe(false);
      expect(open(otherReceiver, protectedPacket)).toBeNull();
      expect(Buffer.from(open(receiver, protectedPacket) ?? [])).toEqual(packet(1));
      const report = Buffer.concat([hex('81c8000b00000007'), Buffer.from('0123456789abcdef')]);
      expect(openReport(otherReceiver, sender.protectReport(report))).toBeNull();
      expect(Buffer.from(openReport(receiver, sender.protectReport(report)) ?? [])).toEqual(report);
    },
  );

  it('a modified, replayed or far too old packet is dropped', () => {
    const sender = new SrtpSender('AES_CM_128_HMAC_SHA1_80', KEY);
    const receiver = new SrtpReceiver(keys());
    const packets = Array.from({ length: 100 }, (_, sequence) => sealed(sender, packet(sequence)));
    const changed = Buffer.from(packets[50] as Buffer);
    changed[13] = (changed[13] ?? 0) ^ 1;
    expect(open(receiver, changed)).toBeNull();
    expect(open(receiver, packets[50] as Buffer)).not.toBeNull();
    expect(open(receiver, packets[50] as Buffer)).toBeNull();
    expect(open(receiver, packets[40] as Buffer)).not.toBeNull();
    expect(open(receiver, packets[99] as Buffer)).not.toBeNull();
    expect(open(receiver, packets[20] as Buffer)).toBeNull();
    const report = sender.protectReport(hex('81c8000b00000007aabbccdd'));
    expect(openReport(receiver, report)).not.toBeNull();
    expect(openReport(receiver, report)).toBeNull();
  });

  it('continues when the sequence wraps, also when joining long after a wrap', () => {
    const sender = new SrtpSender('AES_CM_128_HMAC_SHA1_80', KEY);
    const receiver = new SrtpReceiver(keys());
    let latest: Buffer = Buffer.alloc(0);
    for (let n = 65_000; n < 3 * 65_536; n += 500) {
      latest = sealed(sender, packet(n % 65_536));
      expect(open(receiver, latest)).not.toBeNull();
    }
    const successor = new SrtpReceiver(keys());
    expect(open(successor, latest)).not.toBeNull();
    expect(open(successor, sealed(sender, packet(100)))).not.toBeNull();
  });

  it('each source with the same key has its own counters', () => {
    const sender = new SrtpSender('AES_CM_128_HMAC_SHA1_80', KEY);
    const receiver = new SrtpReceiver(keys());
    expect(open(receiver, sealed(sender, packet(60_000, 7)))).not.toBeNull();
    expect(open(receiver, sealed(sender, packet(5, 8)))).not.toBeNull();
    expect(open(receiver, sealed(sender, packet(6, 8)))).not.toBeNull();
  });

  it('a key identifier is skipped', () => {
    const sender = new SrtpSender('AES_CM_128_HMAC_SHA1_80', KEY);
    const plain = sealed(sender, packet(1));
    const withMki = Buffer.concat([plain.subarray(0, -10), Buffer.from([0, 0, 0, 1]), plain.subarray(-10)]);
    const opened = open(new SrtpReceiver(keys({ receiveMkiBytes: 4 })), withMki);
    expect(Buffer.from(opened ?? [])).toEqual(packet(1));
  });

  it('bytes of any length are dropped without throwing', () => {
    const receiver = new SrtpReceiver(keys());
    for (let length = 0; length < 60; length++) {
      expect(open(receiver, new Uint8Array(length).fill(0x9f))).toBeNull();
      expect(openReport(receiver, new Uint8Array(length).fill(0x80))).toBeNull();
    }
  });
});
