import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';

export const MAX_CERTIFICATE_LENGTH = 32_768;
export const MAX_PRIVATE_KEY_LENGTH = 16_384;
export const MAX_CHAIN_LENGTH = 10;
const MAX_SUBJECT_LENGTH = 500;

/**
 * The input of a client: a chain of PEM certificates that begins with its own, and the private key of its own
 * certificate.
 */
export type GivenCertificate = { readonly certificate: string; readonly privateKey: string };

/** The public facts of a certificate. */
export type CertificateFacts = {
  readonly subject: string;
  /** SHA-256, in the form of `openssl x509 -fingerprint -sha256`. */
  readonly fingerprint: string;
  /** When the first certificate of the chain expires, in Unix seconds. */
  readonly dateExpires: number;
};

/** The client certificate for connections to an endpoint. */
export type ClientCertificate = GivenCertificate & {
  /** Equal for equal chains. */
  readonly id: string;
  readonly dateExpires: number;
};

export type CertificateError = { readonly field: keyof GivenCertificate; readonly message: string };

/** Returns the parts to store, without other content of the files, or an error. */
export function readCertificate(
  given: GivenCertificate,
  nowS: number,
): (GivenCertificate & CertificateFacts) | CertificateError {
  const chain = readChain(given.certificate);
  if (typeof chain === 'string') return { field: 'certificate', message: chain };
  const [own] = chain;
  const broken = brokenDates(chain, nowS);
  if (broken !== null) return { field: 'certificate', message: broken };
  const key = readKey(given.privateKey);
  if (typeof key === 'string') return { field: 'privateKey', message: key };
  if (!own.checkPrivateKey(key)) {
    const message = 'does not belong to the certificate: give the key that the certificate was requested with';
    return { field: 'privateKey', message };
  }
  return {
    certificate: chain.map((certificate) => certificate.toString().trim()).join('\n'),
    privateKey: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    subject: shownSubject(own),
    fingerprint: own.fingerprint256,
    dateExpires: Math.min(...chain.map(({ validTo }) => secondsOf(validTo))),
  };
}

export function clientCertificate(given: GivenCertificate, dateExpires: number): ClientCertificate {
  const { certificate, privateKey } = given;
  const id = createHash('sha256').update(certificate).digest('hex');
  return { certificate, privateKey, id, dateExpires };
}

type Chain = readonly [X509Certificate, ...X509Certificate[]];

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

function readChain(text: string): Chain | string {
  const blocks = text.match(PEM_CERTIFICATE) ?? [];
  if (blocks.length > MAX_CHAIN_LENGTH) return `must have at most ${MAX_CHAIN_LENGTH} certificates`;
  const [own, ...others] = blocks.map(parseCertificate);
  if (own === undefined) return 'must be certificates in PEM, which begin with -----BEGIN CERTIFICATE-----';
  const chain: [X509Certificate, ...X509Certificate[]] | null = own === null ? null : [own];
  for (const next of others) {
    const last = chain?.at(-1);
    if (next === null || last === undefined) break;
    if (!last.checkIssued(next)) return 'must have each certificate before its issuer, and your own certificate first';
    chain?.push(next);
  }
  if (chain?.length !== blocks.length) return 'has a certificate that is damaged or of an unknown kind';
  return chain;
}

function parseCertificate(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

function brokenDates(chain: Chain, nowS: number): string | null {
  for (const { validFrom, validTo } of chain) {
    if (secondsOf(validTo) <= nowS) return `has expired: a certificate in it was valid until ${isoDate(validTo)}`;
    if (secondsOf(validFrom) > nowS) return `is not valid yet: a certificate in it begins at ${isoDate(validFrom)}`;
  }
  return null;
}

function readKey(text: string): KeyObject | string {
  try {
    return createPrivateKey(text);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    return code === 'ERR_MISSING_PASSPHRASE'
      ? 'is encrypted with a passphrase: decrypt it first with "openssl pkey"'
      : 'must be a private key in PEM, which begins with -----BEGIN PRIVATE KEY----- or a similar line';
  }
}

/** The subject on one line, without characters that control a terminal or cannot be stored. */
function shownSubject({ subject }: X509Certificate): string {
  const line = subject
    .split('\n')
    .join(', ')
    .replace(/\p{Cc}/gu, '\ufffd');
  return [...line].slice(0, MAX_SUBJECT_LENGTH).join('');
}

function secondsOf(date: string): number {
  return Math.floor(Date.parse(date) / 1000);
}

function isoDate(date: string): string {
  return new Date(date).toISOString();
}
