import { z } from 'zod';
import { PROBLEMS, Problem, type ProblemCode } from '../../contract/problems.ts';
import { OPERATOR_SCOPES } from '../../domain/keys/operator-keys.ts';
import { NO_SNIFF } from './responses.ts';
import { storeProblem } from './store-errors.ts';

export const PROBLEM_TYPE = 'application/problem+json';

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

function problemBody(problem: Problem, requestId: string): z.output<typeof problemSchema> {
  const { status, title } = PROBLEMS[problem.code];
  const { errors, permission } = problem.extra;
  return {
    type: `urn:paybell:problem:${problem.code}`,
    title,
    status,
    detail: problem.detail,
    message: problem.detail,
    code: problem.code,
    requestId,
    ...(errors === undefined ? {} : { errors: [...errors] }),
    ...(permission === undefined ? {} : { permission }),
  };
}

export function problemResponse(problem: Problem, requestId: string): Response {
  return new Response(JSON.stringify(problemBody(problem, requestId)), {
    status: problem.status,
    headers: { 'content-type': PROBLEM_TYPE, 'cache-control': 'no-store', ...NO_SNIFF, ...problem.extra.headers },
  });
}

/** Turns anything thrown into a public problem. Internal details go to the log and nowhere else. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return (
    storeProblem(error) ??
    new Problem('internal', 'The request could not be processed. The log has the details under this request id.')
  );
}

export function problemExample(code: ProblemCode): z.output<typeof problemSchema> {
  const extra: Problem['extra'] = code === 'missing_permission' ? { permission: 'webhooks:write' } : {};
  return problemBody(new Problem(code, `${PROBLEMS[code].title}.`, extra), '0199c2a6-e0b1-7d3c-8a54-f1e2d3c4b5a6');
}
