import { expect } from 'bun:test';
import { PROBLEMS, type ProblemCode } from '../../src/contract/problems.ts';

export type ProblemBody = {
  type: string;
  title: string;
  status: number;
  detail: string;
  message: string;
  code: ProblemCode;
  requestId: string;
  errors?: { in: string; name: string; message: string }[];
  permission?: string;
};

/** Internals that must not leak: stack traces, SQL, file names, keys. */
const LEAK =
  /\bat .+:\d+|\b(select|insert into|update|delete from) .+\b(from|values|set|where)\b|\.ts\b|\/src\/|node_modules|pbk_/i;

/** Expects this problem in the documented shape, without other members. */
export async function expectProblem(response: Response, code: ProblemCode): Promise<ProblemBody> {
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: PROBLEMS[code].status });
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(text).not.toMatch(LEAK);
  const body = JSON.parse(text) as ProblemBody;
  expect(body).toEqual({
    type: `urn:paybell:problem:${code}`,
    title: PROBLEMS[code].title,
    status: PROBLEMS[code].status,
    detail: expect.stringMatching(/^[A-Z0-9].*[.?]$/s),
    message: body.detail,
    code,
    requestId: response.headers.get('x-request-id') ?? 'missing',
    ...(body.errors === undefined ? {} : { errors: expect.any(Array) }),
    ...(code === 'missing_permission' ? { permission: expect.stringMatching(/^[a-z]+:[a-z]+$/) } : {}),
  });
  for (const error of body.errors ?? []) {
    expect(error).toEqual({
      in: expect.stringMatching(/^(query|path|header|body)$/),
      name: expect.any(String),
      message: expect.any(String),
    });
  }
  return body;
}

/** The messages by the name of the input, for tables of invalid inputs. */
export function messagesByName({ errors = [] }: ProblemBody): Record<string, string> {
  return Object.fromEntries(errors.map(({ name, message }) => [name, message]));
}
