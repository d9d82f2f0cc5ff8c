/** A JSON Web Key Set, as `/keys/{entityId}/jwks.json` publishes it. */
export type PublishedKeySet = {
  readonly keys: readonly { readonly kty?: string; readonly crv?: string; readonly x?: string }[];
};

/** The Ed25519 keys of a published key set, as `verify` takes them. Keys of other kinds are left out. */
export function publicKeysOf({ keys }: PublishedKeySet): string[] {
  return keys.flatMap(({ kty, crv, x }) =>
    kty === 'OKP' && crv === 'Ed25519' && x !== undefined ? [`whpk_${toBase64(x)}`] : [],
  );
}

function toBase64(base64url: string): string {
  const text = base64url.replaceAll('-', '+').replaceAll('_', '/');
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=');
}
