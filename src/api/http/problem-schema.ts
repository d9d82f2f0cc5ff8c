import { z } from 'zod';
import { PROBLEMS } from '../../contract/problems.ts';
import { OPERATOR_SCOPES } from '../../domain/keys/operator-keys.ts';

/** Used only for the OpenAPI document. Responses use only its type, so that a start does not build the schema. */
export const problemSchema = z
  .strictObject({
    type: z.string().meta({ description: 'A URN that identifies the type of the problem.' }),
    title: z.string().meta({ description: 'The type of the problem, for people.' }),
    status: z.int().meta({ description: 'The HTTP status code.' }),
    detail: z.string().meta({ description: 'What is wrong with this request and how to fix it.' }),
    message: z.string().meta({ description: 'The same as `detail`, for clients that read this name.' }),
    code: z.enum(Object.keys(PROBLEMS)).meta({ description: 'The type of the problem, for programs. Stable.' }),
    requestId: z.string().meta({
      description:
        'Identifies the request in the logs. Also in the `x-request-id` header. Include it when you ask for help.',
    }),
    errors: z
      .array(
        z.strictObject({
          in: z.enum(['query', 'path', 'header', 'body']),
          name: z.string(),
          message: z.string(),
        }),
      )
      .optional()
      .meta({ description: 'Every invalid input, with how to fix it. Present when inputs are invalid or missing.' }),
    permission: z
      .enum(OPERATOR_SCOPES)
      .optional()
      .meta({ description: 'The permission that the key needs. Present with the code `missing_permission`.' }),
  })
  .meta({ id: 'Problem', description: 'An error, in the format of RFC 9457.' });

export type ProblemBody = z.output<typeof problemSchema>;
