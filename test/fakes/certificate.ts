/** A self-signed certificate for 127.0.0.1, made by openssl. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Certificate and key as text, and the file that contains both. */
export interface TestCertificate {
  readonly certificate: string;
  readonly key: string;
  readonly file: string;
  remove(): void;
}

export function makeCertificate(name = 'localhost'): TestCertificate {
  const directory = mkdtempSync(join(tmpdir(), 'parley-certificate-'));
  const [cert, key, file] = ['cert.pem', 'key.pem', 'both.pem'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  const about = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name},IP:127.0.0.1`, '-days', '2'];
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert];
  execFileSync('openssl', [...made, ...about], { stdio: 'ignore' });
  const [certificate, keyText] = [readFileSync(cert, 'utf8'), readFileSync(key, 'utf8')];
  writeFileSync(file, certificate + keyText);
  return {
    certificate,
    key: keyText,
    file,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}
