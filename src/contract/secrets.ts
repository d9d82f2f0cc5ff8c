import { z } from 'zod';
import { formatOf, SECRET_FORMATS, secretRuleBroken } from '../domain/secret-forms.ts';
import { DEFAULT_OVERLAP_HOURS, MAX_OVERLAP_HOURS, MAX_SECRETS_IN_FORCE } from '../domain/secret-overlap.ts';

export const signingSecretSchema = z
  .strictObject({
    secretId: z.string().meta({ description: 'Unique identifier of the secret.' }),
    secret: z.string().meta({ description: 'The secret: `whsec_` and base64, as Standard Webhooks defines it.' }),
    importedText: z.string().nullable().meta({
      description: 'The text of a secret that was imported as text or hex; null for any other.',
    }),
    dateCreated: z.int().meta({ description: 'Creation time, in Unix seconds.' }),
    dateExpires: z.int().nullable().meta({
      description: 'When the secret is no longer used, in Unix seconds; null for the newest.',
    }),
  })
  .meta({ id: 'SigningSecret', description: 'A secret that requests are signed with.' });

export type SigningSecret = z.output<typeof signingSecretSchema>;

const examplePublicKey = {
  keyId: 'rEltOPXl-8jZfn0NbO5yMzHDi5e-WdjzkrFUUcp6oIE',
  publicKey: 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=',
  dateCreated: 1763168400,
  dateExpires: null,
};
const exampleKeySetPath = '/keys/ent_0199c2a6e0b17d3c8a54f1e2d3c4b5a6/jwks.json';

export const publicKeySchema = z
  .strictObject({
    keyId: z
      .string()
      .meta({ description: 'The JWK thumbprint of the key (RFC 7638), which is its `kid` in the key set.' }),
    publicKey: z.string().meta({ description: 'Verifies `v1a` signatures without a secret: `whpk_` and base64.' }),
    dateCreated: z.int().meta({ description: 'Creation time, in Unix seconds.' }),
    dateExpires: z.int().nullable().meta({
      description: 'When the key is no longer used, in Unix seconds; null for the newest.',
    }),
  })
  .meta({ id: 'PublicKey', description: 'The public half of an Ed25519 key that requests are signed with.' });

export type PublicKey = z.output<typeof publicKeySchema>;

const publicKeys = z.array(publicKeySchema).max(MAX_SECRETS_IN_FORCE).meta({
  description: 'The active public keys, newest first. They verify `v1a` signatures without a secret.',
});
const keySetPath = z.string().meta({
  description:
    'Path of the same keys on this server, as a JSON Web Key Set that receivers can read without credentials.',
});

export const publicKeyListSchema = z.strictObject({ totalResults: z.int(), publicKeys, keySetPath }).meta({
  id: 'PublicKeyList',
  description: 'The active public keys, newest first.',
  example: { totalResults: 1, publicKeys: [examplePublicKey], keySetPath: exampleKeySetPath },
});

export type PublicKeyList = z.output<typeof publicKeyListSchema>;

export const secretListSchema = z
  .strictObject({
    totalResults: z.int(),
    secrets: z.array(signingSecretSchema).max(MAX_SECRETS_IN_FORCE),
    publicKey: z.string().meta({ description: 'The newest of `publicKeys`: `whpk_` and base64.' }),
    publicKeys,
    keySetPath,
  })
  .meta({
    id: 'SecretList',
    description: 'The active signing secrets and public keys, newest first.',
    example: {
      totalResults: 1,
      secrets: [
        {
          secretId: 'sec_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
          secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
          importedText: null,
          dateCreated: 1763168400,
          dateExpires: null,
        },
      ],
      publicKey: examplePublicKey.publicKey,
      publicKeys: [examplePublicKey],
      keySetPath: exampleKeySetPath,
    },
  });

export type SecretList = z.output<typeof secretListSchema>;

export const keySetSchema = z
  .strictObject({
    keys: z
      .array(
        z.strictObject({
          kty: z.literal('OKP'),
          crv: z.literal('Ed25519'),
          x: z.string().meta({ description: 'The 32 bytes of the public key, in base64url.' }),
          kid: z.string().meta({ description: 'The thumbprint of the key (RFC 7638).' }),
          use: z.literal('sig'),
          alg: z.literal('EdDSA'),
        }),
      )
      .max(MAX_SECRETS_IN_FORCE),
  })
  .meta({
    id: 'KeySet',
    description: 'A JSON Web Key Set (RFC 7517) of Ed25519 public keys (RFC 8037).',
    example: {
      keys: [
        {
          kty: 'OKP',
          crv: 'Ed25519',
          x: '1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4',
          kid: examplePublicKey.keyId,
          use: 'sig',
          alg: 'EdDSA',
        },
      ],
    },
  });

const overlapRule = `must be a whole number of hours from 0 to ${MAX_OVERLAP_HOURS}`;

const overlapHours = z
  .int({ error: overlapRule })
  .min(0, { error: overlapRule })
  .max(MAX_OVERLAP_HOURS, { error: overlapRule })
  .default(DEFAULT_OVERLAP_HOURS)
  .meta({
    description: 'How long requests are also signed with the previous secrets or keys. 0 revokes them immediately.',
  });

export const rotationSchema = z
  .strictObject({ overlapHours }, { error: 'the body must be a JSON object' })
  .meta({ id: 'Rotation' });

const secretRule = 'must be a text';
const formatRule = `must be one of ${SECRET_FORMATS.join(', ')}`;

export const secretImportSchema = z
  .strictObject(
    {
      secret: z.string({ error: secretRule }).meta({
        description: 'The secret as your receivers hold it.',
        example: 'a secret of 16 characters or more',
      }),
      format: z
        .enum(SECRET_FORMATS, { error: formatRule })
        .optional()
        .meta({
          description:
            'What the secret is: `whsec` for `whsec_` and base64, `hex` for hex digits, `text` for any other text of 16 to ' +
            '256 bytes. If it is absent: `whsec` for a secret that begins with `whsec_`, or else `text`.',
        }),
      overlapHours,
    },
    { error: 'the body must be a JSON object' },
  )
  .superRefine(({ secret, format = formatOf(secret) }, context) => {
    const message = secretRuleBroken(secret, format);
    if (message !== null) context.addIssue({ code: 'custom', path: ['secret'], message });
  })
  .meta({ id: 'SecretImport' });
