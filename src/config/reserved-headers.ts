/** The names that Paybell sends, and those of HTTP: as a signature, they would break the request or be misread. */
const RESERVED_PREFIX = /^(?:webhook|paybell|content|accept|access-control|proxy|sec|if|x-forwarded)-/;
const RESERVED_NAMES = new Set(
  (
    'accept authorization cache-control connection cookie date expect forwarded from host keep-alive max-forwards ' +
    'origin pragma range referer te traceparent tracestate trailer transfer-encoding upgrade user-agent via'
  ).split(' '),
);
export const isReservedHeader = (name: string) => RESERVED_PREFIX.test(name) || RESERVED_NAMES.has(name);
