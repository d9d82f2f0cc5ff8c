/** The headers that responses of all operations have. They are defined once and referenced from each response. */
export const HEADER_COMPONENTS = {
  RequestId: {
    description: 'Identifies the request in the logs. Include it when you ask for help.',
    required: true,
    schema: { type: 'string' as const, format: 'uuid' },
  },
  RateLimit: {
    description:
      'Remaining quota of the key’s rate limit (`r`), and in how many seconds it is full again (`t`). Absent without a limit.',
    schema: { type: 'string' as const },
    example: '"default";r=199;t=1',
  },
  RateLimitPolicy: {
    description:
      'The rate limit of the key: the quota (`q`), and in how many seconds it fills up (`w`). Absent without a limit.',
    schema: { type: 'string' as const },
    example: '"default";q=200;w=2',
  },
  RetryAfter: {
    description: 'Seconds to wait before the next attempt.',
    schema: { type: 'integer' as const, minimum: 0 },
    example: 2,
  },
  Allow: {
    description: 'The methods that this path accepts.',
    required: true,
    schema: { type: 'string' as const },
    example: 'GET, HEAD, POST',
  },
};

type Name = keyof typeof HEADER_COMPONENTS;

/** Statuses that are sent before the request is counted against a limit. */
const NEVER_COUNTED: readonly number[] = [401, 403, 405, 414];

/** The headers of a response with this status. `isLimited`: the operation counts against the rate limit of a key. */
export function commonHeaders(status: number, isLimited: boolean): Record<string, { $ref: string }> {
  const isCounted = isLimited && !NEVER_COUNTED.includes(status);
  return {
    'X-Request-Id': refer('RequestId'),
    ...(isCounted ? { RateLimit: refer('RateLimit'), 'RateLimit-Policy': refer('RateLimitPolicy') } : {}),
    ...(status === 429 || status === 503 ? { 'Retry-After': refer('RetryAfter') } : {}),
    ...(status === 405 ? { Allow: refer('Allow') } : {}),
  };
}

function refer(name: Name): { $ref: string } {
  return { $ref: `#/components/headers/${name}` };
}
