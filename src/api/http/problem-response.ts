import { PROBLEMS, Problem, type ProblemCode } from '../../contract/problems.ts';
import type { ProblemBody } from './problem-schema.ts';
import { NO_SNIFF } from './responses.ts';
import { storeProblem } from './store-errors.ts';

export const PROBLEM_TYPE = 'application/problem+json';

function problemBody(problem: Problem, requestId: string): ProblemBody {
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

export function problemExample(code: ProblemCode): ProblemBody {
  const extra: Problem['extra'] = code === 'missing_permission' ? { permission: 'webhooks:write' } : {};
  return problemBody(new Problem(code, `${PROBLEMS[code].title}.`, extra), '0199c2a6-e0b1-7d3c-8a54-f1e2d3c4b5a6');
}
