import { z } from 'zod';
import { DEFAULT_OVERLAP_HOURS, MAX_OVERLAP_HOURS } from '../domain/secret-overlap.ts';

/** A receiver has to try each of them, so there are never many. */
export const MAX_SECRETS_IN_FORCE = 5;

export const signingSecretSchema = z
  .strictObject({
    secretId: z.string().meta({ description: 'Unique identifier of the secret.' }),
    secret: z.string().meta({ description: 'The secret: `whsec_` and base64, as Standard Webhooks defines it.' }),
    dateCreated: z.int().meta({ description: 'Creation time, in Unix seconds.' }),
    dateExpires: z.int().nullable().meta({
      description: 'When the secret is no longer used, in Unix seconds; null for the newest.',
    }),
  })
  .meta({ id: 'SigningSecret', description: 'A secret that requests are signed with.' });

export type SigningSecret = z.output<typeof signingSecretSchema>;

export const secretListSchema = z
  .strictObject({
    totalResults: z.int(),
    secrets: z.array(signingSecretSchema).max(MAX_SECRETS_IN_FORCE),
    publicKey: z.string().meta({ description: 'Verifies `v1a` signatures without a secret: `whpk_` and base64.' }),
  })
  .meta({
    id: 'SecretList',
    description: 'The active signing secrets, newest first.',
    example: {
      totalResults: 1,
      secrets: [
        {
          secretId: 'sec_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
          secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
          dateCreated: 1763168400,
          dateExpires: null,
        },
      ],
      publicKey: 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=',
    },
  });

export type SecretList = z.output<typeof secretListSchema>;

const overlapRule = `must be a whole number of hours from 0 to ${MAX_OVERLAP_HOURS}`;

export const rotationSchema = z
  .strictObject(
    {
      overlapHours: z
        .int({ error: overlapRule })
        .min(0, { error: overlapRule })
        .max(MAX_OVERLAP_HOURS, { error: overlapRule })
        .default(DEFAULT_OVERLAP_HOURS)
        .meta({
          description: 'How long requests are also signed with the previous secrets. 0 revokes them immediately.',
        }),
    },
    { error: 'the body must be a JSON object' },
  )
  .meta({ id: 'Rotation' });
