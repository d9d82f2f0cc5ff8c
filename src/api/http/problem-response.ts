import { z } from 'zod';
import { PROBLEMS, Problem, type ProblemCode } from '../../contract/problems.ts';
import { storeProblem } from './store-errors.ts';

export const PROBLEM_TYPE = 'application/problem+json';

export const problemSchema = z
  .strictObject({
    type: z.string().meta({ description: 'A URN that names the kind of problem.' }),
    title: z.string().meta({ description: 'The kind of problem, for people.' }),
    status: z.int().meta({ description: 'The HTTP status, repeated.' }),
    detail: z.string().meta({ description: 'What happened here and how to mend it.' }),
    code: z.enum(Object.keys(PROBLEMS)).meta({ description: 'The kind of problem, for programs; stable.' }),
    requestId: z.string().meta({ description: 'Also in the x-request-id header; name it when you ask for help.' }),
    errors: z
      .array(
        z.strictObject({
          in: z.enum(['query', 'path', 'header', 'body']),
          name: z.string(),
          message: z.string(),
        }),
      )
      .optional()
      .meta({ description: 'Every input that was at fault.' }),
  })
  .meta({ id: 'Problem', description: 'An error, as RFC 9457 has it.' });

export function problemBody(problem: Problem, requestId: string): z.output<typeof problemSchema> {
  const { status, title } = PROBLEMS[problem.code];
  const { errors } = problem.extra;
  return {
    type: `urn:paybell:problem:${problem.code}`,
    title,
    status,
    detail: problem.detail,
    code: problem.code,
    requestId,
    ...(errors === undefined ? {} : { errors: [...errors] }),
  };
}

export function problemResponse(problem: Problem, requestId: string): Response {
  return new Response(JSON.stringify(problemBody(problem, requestId)), {
    status: problem.status,
    headers: { 'content-type': PROBLEM_TYPE, 'cache-control': 'no-store', ...problem.extra.headers },
  });
}

/** Whatever was thrown becomes a public problem; what it was inside goes to the log and nowhere else. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return (
    storeProblem(error) ??
    new Problem('internal', 'The request could not be processed. It has been logged under this request id.')
  );
}

export function problemExample(code: ProblemCode): z.output<typeof problemSchema> {
  return problemBody(new Problem(code, `${PROBLEMS[code].title}.`), '0199c2a6-e0b1-7d3c-8a54-f1e2d3c4b5a6');
}
