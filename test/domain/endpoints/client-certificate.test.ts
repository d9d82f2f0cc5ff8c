import { describe, expect, test } from 'bun:test';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import {
  clientCertificate,
  MAX_CHAIN_LENGTH,
  readCertificate,
} from '../../../src/domain/endpoints/client-certificate.ts';
import { makeAuthority, makeSelfSigned, pastValidity } from '../../delivery/http/certificates.ts';

const NOW_S = Math.floor(Date.now() / 1000);
const DAY_S = 86_400;
const authority = makeAuthority('Paybell Test');
const { cert, key } = authority.issue(['client.test']);
const other = authority.issue(['other.test']);
const read = (certificate: string, privateKey: string, nowS = NOW_S) =>
  readCertificate({ certificate, privateKey }, nowS);

describe('a client certificate', () => {
  test('is read with its chain out of files that say more, and shows its subject, fingerprint and expiry', () => {
    const chain = `subject=client\r\n${cert}issuer=ca\n\n${authority.cert}trailer ${authority.key}`;
    const found = read(chain, `Bag Attributes\n${key}`);
    expect(found).toEqual({
      certificate: `${cert.trim()}\n${authority.cert.trim()}`,
      privateKey: key,
      subject: 'CN=client.test',
      fingerprint: new X509Certificate(cert).fingerprint256,
      dateExpires: expect.any(Number),
    });
    expect(found).toMatchObject({ dateExpires: Math.floor(Date.parse(new X509Certificate(cert).validTo) / 1000) });
  });

  test('expires with the first certificate of its chain', () => {
    const short = authority.issue(['short.test'], {
      notBefore: new Date((NOW_S - DAY_S) * 1000),
      notAfter: new Date((NOW_S + 60) * 1000),
    });
    expect(read(`${short.cert}${authority.cert}`, short.key)).toMatchObject({ dateExpires: NOW_S + 60 });
    const field = 'certificate';
    expect(read(short.cert, short.key, NOW_S + 60)).toMatchObject({
      field,
      message: expect.stringMatching(/has expired.*valid until/),
    });
    expect(read(short.cert, short.key, NOW_S - 2 * DAY_S)).toMatchObject({
      field,
      message: expect.stringMatching(/not valid yet/),
    });
  });

  test('has a subject that a terminal and a database can take', () => {
    const odd = makeSelfSigned('a\u0000b\u001b[31m');
    expect(read(odd.cert, odd.key)).toMatchObject({ subject: expect.not.stringMatching(/\p{Cc}/u) });
  });

  const expired = authority.issue(['client.test'], pastValidity());
  const encrypted = createPrivateKey(key)
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' })
    .toString();
  const damaged = cert.replace(/[A-Za-z0-9+/]{40}\n/, `${'A'.repeat(40)}\n`);

  test.each([
    ['no certificate', 'nothing', key, 'certificate', /must be certificates in PEM/],
    ['a key in its place', key, key, 'certificate', /must be certificates in PEM/],
    ['a damaged one', damaged, key, 'certificate', /damaged/],
    ['a damaged one behind it', `${cert}${damaged}`, key, 'certificate', /damaged/],
    ['an expired one', expired.cert, expired.key, 'certificate', /has expired/],
    ['a chain in another order', `${authority.cert}${cert}`, authority.key, 'certificate', /before its issuer/],
    ['a chain that does not belong together', `${cert}${other.cert}`, key, 'certificate', /before its issuer/],
    ['too long a chain', cert.repeat(MAX_CHAIN_LENGTH + 1), key, 'certificate', /at most 10 certificates/],
    ['the key of another certificate', cert, other.key, 'privateKey', /does not belong to the certificate/],
    ['an encrypted key', cert, encrypted, 'privateKey', /encrypted with a passphrase/],
    ['a certificate in place of the key', cert, cert, 'privateKey', /must be a private key in PEM/],
    ['no key', cert, 'nothing', 'privateKey', /must be a private key in PEM/],
  ] as const)('is refused with %s', (_what, certificate, privateKey, field, message) => {
    const found = read(certificate, privateKey);
    expect(found).toMatchObject({ field, message: expect.stringMatching(message) });
    expect(JSON.stringify(found)).not.toContain('PRIVATE KEY-----\\n');
  });

  test('has the id of its chain, so that connections with another one are not shared', () => {
    const id = (text: string) => clientCertificate({ certificate: text, privateKey: key }, NOW_S).id;
    expect(id(cert)).toBe(id(cert));
    expect(id(`${cert}${authority.cert}`)).not.toBe(id(cert));
  });
});
