import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** Certificates minted for a test run: none to check in, none to expire, no tool to install. */
export interface Certificate {
  cert: string;
  key: string;
}

export interface Authority extends Certificate {
  issue(names: readonly string[], validity?: Validity): Certificate;
}

interface Validity {
  notBefore: Date;
  notAfter: Date;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const ECDSA_WITH_SHA256 = '2a8648ce3d040302';
const COMMON_NAME = '550403';
const BASIC_CONSTRAINTS = '551d13';
const SUBJECT_ALT_NAME = '551d11';

let serialNumber = 1;

export function makeAuthority(commonName: string): Authority {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const isAuthority = extension(BASIC_CONSTRAINTS, sequence(der(0x01, Buffer.of(0xff))));
  const subject = { commonName, publicKey: pair.publicKey };
  return {
    cert: mint(subject, { commonName, privateKey: pair.privateKey }, currentValidity(), isAuthority),
    key: pem(pair.privateKey),
    issue(names, validity = currentValidity()) {
      const leaf = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const altNames = extension(SUBJECT_ALT_NAME, sequence(...names.map(altName)));
      const issuer = { commonName, privateKey: pair.privateKey };
      const leafSubject = { commonName: names[0] ?? 'nameless', publicKey: leaf.publicKey };
      return { cert: mint(leafSubject, issuer, validity, altNames), key: pem(leaf.privateKey) };
    },
  };
}

/** An address stands there as its bytes, a name as its text. */
function altName(name: string): Buffer {
  return isIPv4(name) ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name));
}

export function makeSelfSigned(name: string): Certificate {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const altNames = extension(SUBJECT_ALT_NAME, sequence(der(0x82, Buffer.from(name))));
  const cert = mint(
    { commonName: name, publicKey: pair.publicKey },
    { commonName: name, privateKey: pair.privateKey },
    currentValidity(),
    altNames,
  );
  return { cert, key: pem(pair.privateKey) };
}

export function pastValidity(): Validity {
  return { notBefore: new Date(Date.now() - 20 * DAY_MS), notAfter: new Date(Date.now() - 10 * DAY_MS) };
}

function currentValidity(): Validity {
  return { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
}

/** An X.509 version 3 certificate (RFC 5280) with the one extension that the test needs. */
function mint(
  subject: { commonName: string; publicKey: KeyObject },
  issuer: { commonName: string; privateKey: KeyObject },
  validity: Validity,
  extensionDer: Buffer,
): string {
  const algorithm = sequence(objectId(ECDSA_WITH_SHA256));
  const toBeSigned = sequence(
    der(0xa0, integer(2)),
    integer(serialNumber++),
    algorithm,
    distinguishedName(issuer.commonName),
    sequence(generalizedTime(validity.notBefore), generalizedTime(validity.notAfter)),
    distinguishedName(subject.commonName),
    subject.publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, sequence(extensionDer)),
  );
  const signature = sign('sha256', toBeSigned, issuer.privateKey);
  const whole = sequence(toBeSigned, algorithm, der(0x03, Buffer.concat([Buffer.of(0), signature])));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function pem(key: KeyObject): string {
  return key.export({ format: 'pem', type: 'pkcs8' }).toString();
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const lengthBytes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...lengthBytes), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

/** Below 128 only, so that no sign bit needs padding. */
function integer(value: number): Buffer {
  return der(0x02, Buffer.of(value));
}

function objectId(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(objectId(id), der(0x04, value));
}

function distinguishedName(commonName: string): Buffer {
  return sequence(der(0x31, sequence(objectId(COMMON_NAME), der(0x0c, Buffer.from(commonName)))));
}

function generalizedTime(date: Date): Buffer {
  return der(0x18, Buffer.from(`${date.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`));
}
