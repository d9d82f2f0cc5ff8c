/** Why a request was not verified: the status to respond with, and a text that says how to fix it. */
export const VERIFICATION_FAULTS = {
  parsed_body: { status: 500, text: 'the body was parsed already; pass the raw text or bytes' },
  malformed_key: { status: 500, text: 'a key is neither whsec_ with 24 to 64 bytes nor whpk_ with 32 bytes in base64' },
  unsupported: { status: 500, text: 'this runtime cannot check Ed25519 signatures; verify with a whsec_ secret' },
  missing_header: { status: 400, text: 'a header is missing' },
  malformed_header: { status: 400, text: 'a header is malformed' },
  too_old: {
    status: 401,
    text: 'the timestamp is too old: the request is a replay, or the clock of this machine is fast',
  },
  too_new: { status: 401, text: 'the timestamp is in the future: the clock of this machine is slow' },
  no_common_scheme: { status: 401, text: 'the signature has a scheme that the given keys cannot check' },
  no_match: {
    status: 401,
    text: 'no signature matches: the secret is a different one, or the body is not the bytes that were signed',
  },
  not_an_event: { status: 400, text: 'the signature is valid, but the body is not a JSON object with an event' },
} as const;

export type VerificationFault = keyof typeof VERIFICATION_FAULTS;

/** The request was not verified. `reason` is for programs, the message for people; neither contains a secret. */
export class VerificationError extends Error {
  override readonly name = 'VerificationError';
  readonly reason: VerificationFault;
  /** The status to respond with. It is 500 where the receiver is at fault, so that the request is retried after a fix. */
  readonly status: 400 | 401 | 500;

  constructor(reason: VerificationFault, detail = '', options?: ErrorOptions) {
    const { status, text } = VERIFICATION_FAULTS[reason];
    super(detail === '' ? text : `${text} (${detail})`, options);
    this.reason = reason;
    this.status = status;
  }
}
