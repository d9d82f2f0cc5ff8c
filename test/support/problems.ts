import { expect } from 'bun:test';
import { PROBLEMS, type ProblemCode } from '../../src/contract/problems.ts';

export type ProblemBody = {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ProblemCode;
  requestId: string;
  errors?: { in: string; name: string; message: string }[];
};

/** Nothing of the inside: stacks, SQL, files, keys. */
const LEAK =
  /\bat .+:\d+|\b(select|insert into|update|delete from) .+\b(from|values|set|where)\b|\.ts\b|\/src\/|node_modules|pbk_/i;

/** The answer is this problem, in the documented shape and with nothing beside it. */
export async function expectProblem(answer: Response, code: ProblemCode): Promise<ProblemBody> {
  const text = await answer.text();
  expect({ status: answer.status, text }).toMatchObject({ status: PROBLEMS[code].status });
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(text).not.toMatch(LEAK);
  const body = JSON.parse(text) as ProblemBody;
  expect(body).toEqual({
    type: `urn:paybell:problem:${code}`,
    title: PROBLEMS[code].title,
    status: PROBLEMS[code].status,
    detail: expect.stringMatching(/^[A-Z0-9].*\.$/s),
    code,
    requestId: answer.headers.get('x-request-id') ?? 'missing',
    ...(body.errors === undefined ? {} : { errors: expect.any(Array) }),
  });
  for (const fault of body.errors ?? []) {
    expect(fault).toEqual({
      in: expect.stringMatching(/^(query|path|header|body)$/),
      name: expect.any(String),
      message: expect.any(String),
    });
  }
  return body;
}

/** The faults by name, for tables of bad inputs. */
export function faultsByName({ errors = [] }: ProblemBody): Record<string, string> {
  return Object.fromEntries(errors.map(({ name, message }) => [name, message]));
}
