/** The headers that answers carry whatever the operation, described once and referred to from each answer. */
export const HEADER_COMPONENTS = {
  RequestId: {
    description: 'Names this request in the service’s log; give it when you ask for help.',
    required: true,
    schema: { type: 'string' as const, format: 'uuid' },
  },
  RateLimit: {
    description: 'What is left of the key’s limit, and in how many seconds all of it is back. Absent without a limit.',
    schema: { type: 'string' as const },
    example: '"default";r=199;t=1',
  },
  RateLimitPolicy: {
    description: 'The limit itself: how many at most, and in how many seconds they fill up. Absent without a limit.',
    schema: { type: 'string' as const },
    example: '"default";q=200;w=2',
  },
  RetryAfter: {
    description: 'Seconds to wait before the next try.',
    schema: { type: 'integer' as const, minimum: 0 },
    example: 2,
  },
  Allow: {
    description: 'The methods that this path takes.',
    required: true,
    schema: { type: 'string' as const },
    example: 'GET, HEAD, POST',
  },
};

type Name = keyof typeof HEADER_COMPONENTS;

/** Refused before the key is known or counted. */
const NEVER_MEASURED: readonly number[] = [401, 403, 405, 414];

/** The headers of an answer with this status; the operator's key falls under no limit. */
export function commonHeaders(status: number, isOperator: boolean): Record<string, { $ref: string }> {
  const isMeasured = !isOperator && !NEVER_MEASURED.includes(status);
  return {
    'X-Request-Id': refer('RequestId'),
    ...(isMeasured ? { RateLimit: refer('RateLimit'), 'RateLimit-Policy': refer('RateLimitPolicy') } : {}),
    ...(status === 429 || status === 503 ? { 'Retry-After': refer('RetryAfter') } : {}),
    ...(status === 405 ? { Allow: refer('Allow') } : {}),
  };
}

function refer(name: Name): { $ref: string } {
  return { $ref: `#/components/headers/${name}` };
}
